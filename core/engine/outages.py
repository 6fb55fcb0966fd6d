"""Outages of ours: the remaining times of every open question move by them, once for each question.

The outage is one row (``core.store.outages``). A question hears of it in one transaction, which moves its times and
notes the outage's number: a crash between two questions forgets none and moves none twice. Whoever has to do with a
question moves it first (:func:`locked`), so that none ends by a time that is about to move. The rest move in batches,
so that a start does not wait for a hundred thousand of them.

Source: API.md §3, "After an outage of ours"; docs/decisions/0007-an-outage-moves-the-times.md.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa
import structlog

from core.database.database import Database, Tx
from core.domain.intent import Dependent, Intent
from core.domain.suspension import Suspension
from core.domain.vocabulary import Rescheduled
from core.engine.transitions import Transitions
from core.ports import Clock
from core.store import intents, outages
from core.store.outages import Behind, Place
from core.store.suspensions import EVER

log = structlog.get_logger(__name__)

AT_ONCE = 40
"""Questions that one transaction moves: an answer never waits for more."""

_BESIDE_FEW = 16
"""So many beside a client or two: each of their transactions waits for a whole one of these."""

_CROWD = 4
"""If so many others begin while one transaction is under way, they wait for each other anyway."""

_FOUND_TOGETHER = 10
"""The questions of so many transactions are looked for in one read."""

_TURN = 0.2
"""Seconds that questions move for before somebody looks at what else is due."""

_REST = 1.0
"""So many times as long as a transaction took: half of the time is the most that moving takes beside clients."""

_LONGEST_REST = 0.02
"""In seconds."""
_SHORT_REST = 0.004
"""In seconds, beside a crowd: there most of a transaction's time is a wait for its turn."""

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


@dataclass(slots=True)
class CatchingUp:
    """Moves what an outage left behind, some at a time. Any number of processes may do so at once."""

    database: Database
    transitions: Transitions
    clock: Clock
    _done: int = 0
    """The newest outage that every question has heard of, as far as this process has seen."""
    _newest: int = 0
    _found: deque[str] = field(default_factory=deque)
    """Whose turn it is next."""
    _reached: Place | None = field(default=None)
    """The last of those, in the order in which they were asked."""
    _all_held: bool = False
    """Somebody else held all that the last transaction was to move."""
    _written: int = 0
    """How many transactions anybody had begun when the last one ended."""
    _beside_few: bool = False
    """Others wrote when the last transaction was under way or before it, and were no crowd."""

    _is_behind: bool = False
    """Whether some may still have an outage to hear of."""
    due_from: datetime = EVER
    """While some are behind: what is due before that is due by its old times. It waits for :meth:`some`."""
    due_at_once: Sequence[str] = ()
    """What :meth:`some` has found due by old times that do not move."""

    async def some(self) -> bool:
        """Move questions until one of them is due, or :data:`_TURN` is over; whether there may be more. Those come
        first that will be due soonest, and then those that were asked first."""
        last = await self.database.read(outages.newest)
        self.due_at_once = ()
        if last is None or last.id == self._done:
            self._is_behind, self.due_from = False, EVER
            return False
        if last.id != self._newest:
            self._found.clear()  # others may be due sooner now
        self._newest, self._is_behind, self.due_from = last.id, True, last.due_from or EVER
        loop = asyncio.get_running_loop()
        until = loop.time() + _TURN
        while self._found or await self._find():
            most = min(AT_ONCE, _BESIDE_FEW) if self._beside_few else AT_ONCE
            part = [self._found.popleft() for _ in range(min(most, len(self._found)))]
            if await self._among_others(part) or loop.time() >= until:
                break
        return self._is_behind

    async def _find(self) -> bool:
        """Whether there are any whose turn it is. If not, none is behind, or the next round starts with the oldest."""
        most = AT_ONCE * _FOUND_TOGETHER
        overdue = () if self._all_held else await self.database.read(partial(self._overdue, most=most))
        if overdue:
            self._found.extend(overdue)
            return True
        found = await self.database.read(lambda conn: outages.behind(conn, self._reached, most))
        if not found and self._reached is None:
            self._done, self._is_behind, self.due_from = self._newest, False, EVER
        self._found.extend(suspension_id for _, suspension_id in found)
        self._reached = found[-1] if len(found) == most else None  # somebody else may have held one: once more
        return bool(found)

    def _overdue(self, conn: sa.Connection, most: int) -> Sequence[str]:
        return outages.overdue(conn, self.due_from, most)

    async def _among_others(self, suspension_ids: Sequence[str]) -> bool:
        """Move, and then rest if anybody else writes meanwhile: so that clients get their turns. Whether one of them is
        due."""
        loop = asyncio.get_running_loop()
        started, before = loop.time(), self.database.written
        moved = await self.database.write(partial(self._move, suspension_ids=suspension_ids))
        took, others = loop.time() - started, self.database.written - self._written - 1
        is_crowded = self.database.written - before - 1 >= _CROWD
        self._beside_few = others > 0 and not is_crowded
        self._written, self._all_held = self.database.written, not moved.number
        self.due_at_once = moved.due_at_once
        if moved.due_at_once or (moved.soonest is not None and moved.soonest <= self.clock.now()):
            return True
        if not moved.number:
            await asyncio.sleep(_HELD)
        elif others:
            await asyncio.sleep(min(_REST * took, _SHORT_REST if is_crowded else _LONGEST_REST))
        return False

    async def those(self, suspension_ids: Sequence[str]) -> bool:
        """Move those of these questions that are behind; whether any of them was. To be called after :meth:`some`."""
        if not self._is_behind:
            return False
        parts = [suspension_ids[start : start + AT_ONCE] for start in range(0, len(suspension_ids), AT_ONCE)]
        moved = [await self.database.write(partial(self._move, suspension_ids=part)) for part in parts]
        return any(one.number for one in moved)

    def _move(self, tx: Tx, suspension_ids: Sequence[str]) -> _Moved:
        """Those that are behind; whoever else has them locked left out."""
        now = self.clock.now()
        found = self._behind(tx, suspension_ids)
        if not found:
            return _Moved(0, None, [])
        moving = [
            (one.suspension, _signals(one), intent) for one, intent in found if not one.suspension.ask.keeps_its_times
        ]
        soonest = self.transitions.reschedule(tx, moving, now)
        outages.all_heard(tx, [one.suspension.id for one, _ in found], max(one.outages[-1].id for one, _ in found))
        if moving:
            tx.after_commit(lambda: log.info("suspensions.rescheduled", count=len(moving)))
        due_at_once = [one.suspension.id for one, _ in found if _is_due(one, self.due_from)]
        return _Moved(len(found), soonest, due_at_once)

    def _behind(self, tx: Tx, suspension_ids: Sequence[str]) -> list[tuple[Behind, Dependent]]:
        held = intents.lock_free_of_suspensions(tx, suspension_ids)
        behind = outages.all_behind(tx.conn, suspension_ids)
        return [(one, held[intent_id]) for one in behind if (intent_id := one.suspension.ask.intent_id) in held]


class _Moved(NamedTuple):
    """How many were behind, when the clock has to look at the first of them, and what was due by old times that do not
    move."""

    number: int
    soonest: datetime | None
    due_at_once: Sequence[str]


def _is_due(behind: Behind, before: datetime) -> bool:
    """Whether it keeps its times, and was due ``before`` then."""
    look_at = behind.suspension.look_at
    return behind.suspension.ask.keeps_its_times and look_at is not None and look_at < before


def _signals(behind: Behind) -> list[Rescheduled]:
    asked_at = behind.suspension.ask.suspended_at
    return [Rescheduled(outage.since(asked_at)) for outage in behind.outages]
