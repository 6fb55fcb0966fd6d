"""Whether what a channel has accepted has really arrived, where the channel's door is told of that.

A channel that only takes things in (PagerDuty's 202) says what its door will see (``Delivered.awaits``). The door
says so (:func:`note`); what nobody has seen :data:`PATIENCE` after it was accepted is told to the operators, once.

Both sides are kept among the ids that were seen: ``CHANNEL.awaited`` and ``CHANNEL.arrived``.

Source: facts on channels §F ("202"); docs/decisions/0023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog

from core import alerts
from core.ports import Clock
from core.store import awaited, keeping
from core.store.database import Database, Tx
from core.transitions import Transitions

log = structlog.get_logger(__name__)

PATIENCE = timedelta(minutes=5)
EVERY = timedelta(minutes=1)


def expect(tx: Tx, channel: str, what: str, now: datetime) -> None:
    """From now on ``what`` is waited for at the door of ``channel``; nothing where it has come before."""
    if not keeping.was_seen(tx.conn, _arrived(channel), what):
        keeping.note_seen(tx, _awaited(channel), what, now)


def note(tx: Tx, channel: str, what: str, now: datetime) -> None:
    """The door of ``channel`` has seen it."""
    keeping.note_seen(tx, _arrived(channel), what, now)


async def noted(database: Database, channel: str, what: str, now: datetime) -> None:
    """As :func:`note`, where nothing else is written: it costs a commit the first time alone."""
    if not await database.read(lambda conn: keeping.was_seen(conn, _arrived(channel), what)):
        await database.write(lambda tx: note(tx, channel, what, now))


@dataclass(slots=True)
class Arrivals:
    """``channels`` are those whose doors are told. One process that looks is enough; two do no harm."""

    database: Database
    transitions: Transitions
    clock: Clock
    channels: Sequence[str]
    _next: datetime | None = None
    _due: datetime | None = None

    async def look(self) -> datetime | None:
        """Say aloud what should have come by now; returns when to look again, ``None`` where nothing is waited for."""
        now = self.clock.now()
        if self._next is not None and now < self._next:
            return self._due
        self._next = now + EVERY
        for channel in self.channels:
            overdue = await self.database.read(partial(awaited.before, channel=_awaited(channel), at=now - PATIENCE))
            if overdue:
                await self.database.write(partial(self._tell, channel=channel, keys=overdue, now=now))
        oldest = [await self.database.read(partial(awaited.oldest, channel=_awaited(one))) for one in self.channels]
        waits = [at for at in oldest if at is not None]
        self._due = max(min(waits) + PATIENCE, self._next) if waits else None
        return self._due

    def _tell(self, tx: Tx, channel: str, keys: Sequence[str], now: datetime) -> None:
        for key in keys:
            if awaited.forget(tx, _awaited(channel), key) and not keeping.was_seen(tx.conn, _arrived(channel), key):
                log.warning("channel.never_arrived", channel=channel, ref=key)
                alerts.never_arrived(self.transitions, tx, channel, key, now)


def _awaited(channel: str) -> str:
    return f"{channel}.awaited"


def _arrived(channel: str) -> str:
    return f"{channel}.arrived"
