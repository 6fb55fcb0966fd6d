"""Once a night: what an ended question may have left open on a channel is ended there again.

A withdrawal is tried for days, and still one may be lost: accepted by the other side and never carried out, or undone
by somebody there. Where the channel can say what it still shows, that is withdrawn; elsewhere whatever has ended since
the night before is withdrawn once more, which does nothing where nothing is left.

    ask the channel ──▶ one transaction: the night is noted, and the withdrawals are written ──▶ the relay sends them

Of several processes that ask, the one that notes the night first writes.

Source: facts on channels §F ("resolve lost"); docs/decisions/0023.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import sqlalchemy as sa
import structlog

from core.domain.suspension import Suspension
from core.errors import DatabaseUnavailable
from core.ports import Channel, Clock, Sweepable
from core.store import keeping, outbox, suspensions
from core.store.database import Database, Tx
from core.store.outbox import Row, RowKind
from core.transitions import Transitions

log = structlog.get_logger(__name__)

AT = timedelta(hours=3)
"""Of the day, in UTC."""
AGAIN = timedelta(minutes=15)
"""After a sweep that the database could not take."""
LOOKS_BACK = timedelta(hours=26)
"""A night, and what an outage of ours may have moved."""


@dataclass(slots=True)
class Sweeping:
    database: Database
    transitions: Transitions
    channels: Mapping[str, Channel]
    clock: Clock
    _next: datetime | None = None
    _broom: asyncio.Task[None] | None = None

    def look(self) -> datetime | None:
        """Begin to sweep, if the hour has come: nobody's attempt waits for it. Returns when it comes next, ``None``
        where there is nothing to sweep."""
        sweepable = {name: one for name, one in self.channels.items() if isinstance(one, Sweepable)}
        if not sweepable:
            return None
        now = self.clock.now()
        if self._next is not None and now >= self._next and (self._broom is None or self._broom.done()):
            self._broom = asyncio.create_task(self._sweep_all(sweepable, now), name="sweeping")
        if self._next is None or now >= self._next:
            self._next = next_night(now)
        return self._next

    async def finished(self) -> None:
        """Wait for a sweep that is under way."""
        if self._broom is not None:
            await self._broom

    async def stop(self) -> None:
        """Give up a sweep that is under way; what it has written stays."""
        if self._broom is not None:
            self._broom.cancel()
            await asyncio.gather(self._broom, return_exceptions=True)

    async def _sweep_all(self, sweepable: Mapping[str, Sweepable], now: datetime) -> None:
        for name, channel in sweepable.items():
            try:
                left = await channel.left_open()
                swept = await self.database.write(partial(self._write, name=name, left=left, now=now))
            except DatabaseUnavailable:
                log.warning("channel.not_swept", channel=name, reason="database_unavailable")
                self._next = now + AGAIN
                continue
            if swept is not None:
                log.info("channel.swept", channel=name, asked=left is not None, withdrawn=swept)

    def _write(self, tx: Tx, name: str, left: Collection[str] | None, now: datetime) -> int | None:
        """How many are withdrawn again; ``None`` where another process has done this night."""
        if keeping.note_seen(tx, "swept", f"{name} {now:%Y-%m-%d}", now):
            return None
        ended = _left(tx.conn, left) if left is not None else _lately(tx.conn, name, now)
        rows = [row for question in ended for row in self._withdrawals(tx, question, name, now)]
        self.transitions.dispatch(tx, rows)
        return len(rows)

    def _withdrawals(self, tx: Tx, question: Suspension, name: str, now: datetime) -> list[Row]:
        """In doubt from the start: what an earlier withdrawal has said there is not said again."""
        notices = [
            row
            for row in outbox.of_suspension(tx.conn, question.id)
            if row.kind is RowKind.NOTIFY and row.channel == name and row.receipt
        ]
        return [replace(row, ambiguous=True) for row in self.transitions.withdrawals(question, notices, now)]


def next_night(now: datetime) -> datetime:
    """The next :data:`AT` after ``now``."""
    tonight = now.replace(hour=0, minute=0, second=0, microsecond=0) + AT
    return tonight if tonight > now else tonight + timedelta(days=1)


def _left(conn: sa.Connection, refs: Collection[str]) -> list[Suspension]:
    found = (suspensions.by_ref(conn, ref) for ref in sorted(refs))
    return [question for question in found if question is not None and not question.is_open]


def _lately(conn: sa.Connection, name: str, now: datetime) -> list[Suspension]:
    """What has ended within :data:`LOOKS_BACK` and was withdrawn on the channel then."""
    ids = outbox.withdrawn_since(conn, name, now - LOOKS_BACK)
    found = (suspensions.get(conn, suspension_id) for suspension_id in ids)
    return [one for one in found if one is not None and one.ended is not None and one.ended.at >= now - LOOKS_BACK]
