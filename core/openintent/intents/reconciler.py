"""The reconciler: follows up moves and links that an older version made (rolling upgrades).

An older process knows no links: it moves an intent and leaves those around it, or makes one and adds no edge. Each row
has the status up to which its consequences are done (``intents.settled``), which an older process does not write. A
difference is work left undone. It looks every half minute; a look that finds nothing is two reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.intent import EdgeKind, Intent, IntentLink, IntentStatus
from core.openintent.domain.propagation import settled
from core.openintent.intents.writing import IntentLog
from core.openintent.store import intent_edges
from core.ports import Clock
from core.store import intents

EVERY = timedelta(seconds=30)
_AT_ONCE = 100


class FindIntents(Protocol):
    def __call__(self, conn: sa.Connection, *, behind: str, limit: int) -> Sequence[str]:
        """The next ids behind ``behind``."""
        ...


class MendIntent(Protocol):
    def __call__(self, tx: Tx, *, intent_id: str) -> None: ...


class Reconciler:
    """Follows up undone work. Any number of processes may do so at once."""

    def __init__(self, database: Database, log: IntentLog, clock: Clock) -> None:
        self._database = database
        self._log = log
        self._clock = clock
        self._looked_at: datetime | None = None

    async def look(self) -> None:
        """Follow up undone work, if it is time. Work engines call this every few seconds, so nothing is scheduled."""
        now = self._clock.now()
        if self._looked_at is None or abs(now - self._looked_at) >= EVERY:  # it may have been set back
            await self._all(intents.unlinked, self._link)
            await self._all(intents.unsettled, self._settle)
            self._looked_at = now

    async def _all(self, find: FindIntents, mend: MendIntent) -> None:
        behind = ""
        while found := await self._database.read(partial(find, behind=behind, limit=_AT_ONCE)):
            for intent_id in found:
                await self._database.write(partial(mend, intent_id=intent_id))
            behind = found[-1]

    def _link(self, tx: Tx, *, intent_id: str) -> None:
        """An intent that was made with a parent or dependencies, and without edges."""
        seen = intents.get(tx.conn, intent_id)
        if seen is None:
            return
        named = [*seen.depends_on, *([seen.parent_id] if seen.parent_id else [])]
        there = intents.lock_in_order(tx, [intent_id, *named])
        intent = there[intent_id]
        if intent.parent_id and not intent.links & IntentLink.PARENT:
            known = [intent.parent_id] if intent.parent_id in there else []
            intent_edges.put(tx, intent.parent_id, [intent_id] if known else [], EdgeKind.CHILD)
            intents.link(tx, known, IntentLink.CHILDREN)
            intents.link(tx, [intent_id], IntentLink.PARENT)
        if intent.depends_on and not intent.links & IntentLink.DEPENDENCIES:
            known = [one for one in intent.depends_on if one in there]
            intent_edges.put(tx, intent_id, known)
            intents.link(tx, known, IntentLink.DEPENDENTS)
            intents.link(tx, [intent_id], IntentLink.DEPENDENCIES)
            self._hold(tx, intent)

    def _hold(self, tx: Tx, intent: Intent) -> None:
        """Block an active intent if a dependency is suspended just now: that suspension did not know of it."""
        after = settled(IntentStatus.BLOCKED, intent, intent_edges.unmet(tx.conn, intent.id))
        if after.event is not None:
            now = self._clock.now()
            moved = replace(after.intent, version=intent.version + 1, updated_at=now)
            self._log.write(tx, moved, now, after.event)

    def _settle(self, tx: Tx, intent_id: str) -> None:
        """An intent whose move has moved no other."""
        intent = intents.lock(tx, intent_id)
        before = intents.settled(tx.conn, intent_id)
        if intent is None or before is None or before is intent.status:
            return
        now = self._clock.now()
        after = self._log.consequences.follow(tx, before, intent, now, intent.suspension_id)
        if after.status is not intent.status:
            after = replace(after, version=after.version + 1, updated_at=now)
        intents.advance(tx, after)
        self._log.hub.announce_intents(tx, intent_id)
