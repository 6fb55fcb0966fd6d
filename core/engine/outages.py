"""Outages of ours: the remaining times of every open question move by them, once for each question.

The outage is one row (``core.store.outages``). A question hears of it in one transaction, which moves its times and
notes the outage's number: a crash between two questions forgets none and moves none twice. Whoever has to do with a
question moves it first (:func:`locked`), so that none ends by a time that is about to move. The rest move in batches,
so that a start does not wait for a hundred thousand of them.

Source: API.md §3, "After an outage of ours"; docs/decisions/0007-an-outage-moves-the-times.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from core.domain.intent import Intent
from core.domain.suspension import Suspension
from core.domain.vocabulary import Rescheduled
from core.engine.transitions import Transitions
from core.ports import Clock
from core.store import intents, outages
from core.store.database import Database, Tx
from core.store.outages import Place

log = structlog.get_logger(__name__)

AT_ONCE = 200
"""Questions that one look moves at most: answers never wait for all of them."""


def locked(
    tx: Tx, suspension_id: str, transitions: Transitions, now: datetime
) -> tuple[Intent | None, Suspension | None]:
    """The intent, locked, and its suspension with every outage so far in its times."""
    intent = intents.lock_by_suspension(tx, suspension_id)
    return (None, None) if intent is None else caught_up(tx, intent, suspension_id, transitions, now)


def caught_up(
    tx: Tx, intent: Intent, suspension_id: str, transitions: Transitions, now: datetime
) -> tuple[Intent, Suspension | None]:
    """As :func:`locked`, where the intent is locked in this transaction already."""
    suspension, unheard = outages.read(tx.conn, suspension_id)
    for outage in unheard:
        assert suspension is not None  # noqa: S101 (it has something to hear)
        if not suspension.ask.keeps_its_times:
            by = outage.since(suspension.ask.suspended_at)
            suspension = transitions.move(tx, suspension, Rescheduled(by), intent, now).suspension
            intent = intents.lock_by_suspension(tx, suspension_id) or intent  # its log has grown
        outages.heard(tx, suspension_id, outage)
    return intent, suspension


@dataclass(slots=True)
class CatchingUp:
    """Moves what an outage left behind, some at a time. Any number of processes may do so at once."""

    database: Database
    transitions: Transitions
    clock: Clock
    _done: int = 0
    """The newest outage that every question has heard of, as far as this process has seen."""
    _reached: Place | None = field(default=None)

    async def some(self) -> bool:
        """Move a bounded number of questions; whether there are more."""
        newest = await self.database.read(outages.newest)
        if newest == self._done:
            return False
        found = await self.database.read(lambda conn: outages.behind(conn, self._reached, AT_ONCE))
        if not found:
            self._done, self._reached = newest, None
            return False
        await asyncio.gather(*(self.database.write(self._move(suspension_id)) for _, suspension_id in found))
        self._reached = found[-1]
        log.info("suspensions.rescheduled", count=len(found))
        return True

    def _move(self, suspension_id: str) -> Callable[[Tx], None]:
        def job(tx: Tx) -> None:
            locked(tx, suspension_id, self.transitions, self.clock.now())

        return job
