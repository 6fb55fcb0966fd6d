"""Outages of ours: each moves the remaining times of every open question, once for each question.

The outage is one row (``core.store.outages``). One transaction moves a question's times and notes the outage's number:
a crash between two questions forgets none and moves none twice. Code that changes a question moves it first
(:func:`locked`), so that none ends by a time that is about to move. The rest move in batches, so that a start does not
wait for a hundred thousand of them.

Source: API.md §3, "After an outage of ours"; docs/decisions/0007-an-outage-moves-the-times.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple

import structlog

from core.database.database import Database, Tx
from core.domain.intent import Intent
from core.domain.suspension import Suspension
from core.domain.vocabulary import Rescheduled
from core.engine.transitions import Transitions
from core.ports import Clock
from core.store import intents, outages
from core.store.outages import MissedOutages
from core.store.suspensions import EVER
from core.store.tables import PageCursor

log = structlog.get_logger(__name__)

AT_ONCE = 40
"""Questions that one transaction moves: an answer never waits for more."""

_HELD = 0.2
"""Seconds until those are tried again that somebody else has locked."""


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


class Remaining(NamedTuple):
    """While questions are behind: what was due before ``due_from`` was due by its old times, and waits for its turn.
    ``due_at_once`` was due, too, and keeps its times."""

    due_from: datetime
    due_at_once: Sequence[str]


@dataclass(slots=True)
class OutageCatchUp:
    """Moves what an outage left behind, some at a time. Any number of processes may do so at once."""

    database: Database
    transitions: Transitions
    clock: Clock
    _done: int = 0
    """The newest outage that every question has heard of, as far as this process has seen."""
    _reached: PageCursor | None = None
    """How far it has come in the order in which questions were asked."""

    async def some(self) -> Remaining | None:
        """Move a batch, and rest for as long as that took, so that clients get their turns. Those come first that will
        be due soonest, and then those that were asked first. ``None`` if no question is behind."""
        last = await self.database.read(outages.newest)
        if last is None or last.id == self._done:
            return None
        due_from = last.due_from or EVER
        batch = await self._find(due_from)
        if not batch:
            self._done = last.id
            return None
        loop = asyncio.get_running_loop()
        started = loop.time()
        moved = await self.database.write(partial(self._move, suspension_ids=batch))
        await asyncio.sleep(loop.time() - started if moved else _HELD)
        return Remaining(due_from, [one.suspension.id for one in moved if _is_due(one, due_from)])

    async def _find(self, due_from: datetime) -> Sequence[str]:
        """Whose turn it is; nobody if none is behind."""
        overdue = await self.database.read(lambda conn: outages.overdue(conn, due_from, AT_ONCE))
        if overdue:
            return overdue
        found = await self.database.read(lambda conn: outages.behind(conn, self._reached, AT_ONCE))
        if not found and self._reached is not None:  # somebody else may have held one: once more
            found = await self.database.read(lambda conn: outages.behind(conn, None, AT_ONCE))
        self._reached = found[-1] if found else None
        return [suspension_id for _, suspension_id in found]

    def _move(self, tx: Tx, suspension_ids: Sequence[str]) -> list[MissedOutages]:
        """Those that were behind; whoever else has them locked left out."""
        held = intents.lock_free_of_suspensions(tx, suspension_ids)
        found = [one for one in outages.all_behind(tx.conn, suspension_ids) if one.suspension.ask.intent_id in held]
        if not found:
            return []
        moving = [
            (one.suspension, _signals(one), held[one.suspension.ask.intent_id])
            for one in found
            if not one.suspension.ask.keeps_its_times
        ]
        self.transitions.reschedule(tx, moving, self.clock.now())
        outages.all_heard(tx, [one.suspension.id for one in found], max(one.outages[-1].id for one in found))
        if moving:
            tx.after_commit(lambda: log.info("suspensions.rescheduled", count=len(moving)))
        return found


def _is_due(one: MissedOutages, before: datetime) -> bool:
    """Whether it keeps its times, and was due ``before`` then."""
    look_at = one.suspension.look_at
    return one.suspension.ask.keeps_its_times and look_at is not None and look_at < before


def _signals(one: MissedOutages) -> list[Rescheduled]:
    asked_at = one.suspension.ask.suspended_at
    return [Rescheduled(outage.since(asked_at)) for outage in one.outages]
