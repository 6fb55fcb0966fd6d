"""Confirmation: whether an accepted message has really arrived, and whether an ended question is still shown on a
channel.

A channel that only accepts (PagerDuty's 202) names the sign of arrival (``Delivered.awaits``). Its inbound adapter
reports the arrival, and the place (:func:`noted`). If no report comes within :data:`PATIENCE`, the operators are
alerted, once.

Once a night, ended questions that may still be shown are withdrawn again, since a withdrawal can be lost or undone. A
channel that can list its open alerts is asked; on others everything that ended since the night before is withdrawn once
more, which is harmless. Of several processes, the first to note the night writes the withdrawals.

Source: facts on channels §F ("202", "resolve lost"); docs/decisions/0023.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import sqlalchemy as sa
import structlog

from core.database.call_deadlines import LONG
from core.database.database import Database, Tx
from core.delivery import alerts
from core.delivery.lost_withdrawals import again
from core.domain.suspension import Suspension
from core.engine.transitions import Transitions
from core.errors import DatabaseUnavailable
from core.ports import Channel, Clock, Sweepable
from core.store import markers, outbox, suspensions
from core.store.markers import Marker

log = structlog.get_logger(__name__)

PATIENCE = timedelta(minutes=5)
EVERY = timedelta(minutes=1)


async def noted(database: Database, channel: str, ref: str, place: str, now: datetime) -> None:
    """The door of ``channel`` has seen the question ``ref`` at ``place``, and nothing else is written: it costs a
    commit the first time alone."""
    if place not in await database.read(lambda conn: markers.places_of(conn, channel, ref)):
        await database.write(lambda tx: note(tx, channel, ref, place, now))


def note(tx: Tx, channel: str, ref: str, place: str, now: datetime) -> None:
    """As :func:`noted`, where something else is written too."""
    markers.note_arrived(tx, channel, ref, now)
    markers.note_place(tx, channel, ref, place, now)


@dataclass(slots=True)
class Confirmations:
    """``channels`` are those whose doors are told. One process that looks is enough; two do no harm."""

    database: Database
    transitions: Transitions
    clock: Clock
    channels: Sequence[str]
    _next: datetime | None = None
    _due: datetime | None = None

    async def look(self) -> datetime | None:
        """Say aloud what should have come by now; returns when to look again, ``None`` if nothing is waited for."""
        now = self.clock.now()
        if self._next is not None and now < self._next:
            return self._due
        self._next = now + EVERY
        for channel in self.channels:
            overdue = await self.database.read(partial(markers.awaited_since, channel=channel, at=now - PATIENCE))
            if overdue:
                await self.database.write(partial(self._tell, channel=channel, keys=overdue, now=now))
        oldest = [await self.database.read(partial(markers.oldest_awaited, channel=one)) for one in self.channels]
        waits = [at for at in oldest if at is not None]
        self._due = max(min(waits) + PATIENCE, self._next) if waits else None
        return self._due

    def _tell(self, tx: Tx, channel: str, keys: Sequence[str], now: datetime) -> None:
        for key in keys:
            if markers.give_up(tx, channel, key):
                log.warning("channel.never_arrived", channel=channel, ref=key)
                alerts.never_arrived(self.transitions, tx, channel, key, now)


AT = timedelta(hours=3)
"""Of the day, in UTC."""
AGAIN = timedelta(minutes=15)
"""After a sweep that the database could not take."""
LOOKS_BACK = timedelta(hours=26)
"""A night, and what an outage of ours may have moved."""


@dataclass(slots=True)
class ConfirmationSweep:
    database: Database
    transitions: Transitions
    channels: Mapping[str, Channel]
    clock: Clock
    _next: datetime | None = None
    _broom: asyncio.Task[None] | None = None

    def look(self) -> datetime | None:
        """Begin to sweep, if the hour has come: nobody's attempt waits for it. Returns when it comes next, ``None``
        if there is nothing to sweep."""
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
                swept = await self.database.write(partial(self._write, name=name, left=left, now=now), within=LONG)
            except DatabaseUnavailable:
                log.warning("channel.not_swept", channel=name, reason="database_unavailable")
                self._next = now + AGAIN
                continue
            if swept is not None:
                log.info("channel.swept", channel=name, asked=left is not None, withdrawn=swept)

    def _write(self, tx: Tx, name: str, left: Collection[str] | None, now: datetime) -> int | None:
        """How many are withdrawn again; ``None`` if another process has done this night."""
        if not markers.first_time(tx, Marker.SWEPT, f"{name} {now:%Y-%m-%d}", now):
            return None
        ended = _left(tx.conn, left) if left is not None else _lately(tx.conn, name, now)
        rows = [row for question in ended for row in again(self.transitions, tx, question, name, now)]
        self.transitions.dispatch(tx, rows)
        return len(rows)


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
