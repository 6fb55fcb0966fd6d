"""Long-lived connections: which process has one, when it is retried, and which alert goes out while there is none.

There are fixed places for such a connection over all processes (``core.database.locks``). A process without a place
stands by.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from structlog.typing import FilteringBoundLogger

from core.database.locks import LockSlot, LockSlots
from core.errors import HandraiseError
from core.work.health import Health

Tell = Callable[[str], Awaitable[None]]
"""Tells the operators that nothing reaches us this way, by a stable reason."""


class ConnectionState(StrEnum):
    CONNECTED = "connected"
    CONNECTING = "connecting"
    STANDBY = "standby"
    """Other processes have all the connections there may be; this one takes over."""


@dataclass(frozen=True, slots=True)
class Timing:
    """``longest_pause``: the longest pause between two tries. ``places``: how often a place is looked for or
    checked. ``told_after``: the time without any connection after which an alert goes out."""

    longest_pause: timedelta = timedelta(seconds=60)
    places: timedelta = timedelta(seconds=5)
    told_after: timedelta = timedelta(seconds=60)


def pauses(longest: timedelta) -> Iterator[float]:
    """Seconds before each further try: 1, 2, 4 and so on, then ``longest`` for ever."""
    pause = 1.0
    while True:
        yield min(pause, longest.total_seconds())
        pause = min(2 * pause, longest.total_seconds())


@dataclass(slots=True)
class Downtime:
    """Since when there is no connection. Each reason is logged once, as ``event``; a lasting one alerts the
    operators."""

    log: FilteringBoundLogger
    event: str
    tell: Tell
    told_after: timedelta
    logged: str | None = None
    """The reason that is in the log already."""
    _since: float = field(default_factory=time.monotonic)

    def starts_now(self) -> None:
        """Count the downtime, if any, from now."""
        self._since = time.monotonic()

    def is_over(self) -> None:
        self.logged = None
        self.starts_now()

    async def failed(self, reason: str, *, lasting: bool, connected: bool = False) -> None:
        """``lasting``: it will not pass by itself. ``connected``: another connection works."""
        if reason != self.logged:
            self.logged = reason
            self.log.warning(self.event, reason=reason)
        if connected:
            self.starts_now()
        elif lasting or time.monotonic() - self._since >= self.told_after.total_seconds():
            with contextlib.suppress(HandraiseError):  # the database is away: the next failure tells it
                await self.tell(reason)


@dataclass(slots=True, eq=False)
class ConnectionKeeper:
    """``hold`` keeps a connection while its place is ours, and returns the seconds before its next turn. A bug of
    ours is logged as ``bug``; ``after_bug`` returns the seconds then. ``name`` is its name in :class:`Health`."""

    name: str
    places: LockSlots
    timing: Timing
    health: Health | None
    hold: Callable[[ConnectionKeeper, LockSlot], Awaitable[float]]
    log: FilteringBoundLogger
    bug: str
    after_bug: Callable[[], float]
    stands_by: Callable[[], None] = lambda: None
    state: ConnectionState = ConnectionState.CONNECTING
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self.name)

    async def stop(self, patience: timedelta = timedelta(), abandon: Callable[[], None] = lambda: None) -> None:
        """Begin no further turn; after ``patience``, end the current one and call ``abandon`` for its blocking call."""
        self._stopping.set()
        if self._task is not None and not (await asyncio.wait({self._task}, timeout=patience.total_seconds()))[0]:
            self._task.cancel()
            abandon()
            await asyncio.wait({self._task}, timeout=2.0)
        self._task = None
        if self.health is not None:
            self.health.ends(self.name)

    def begins(self, following: float = 0.0) -> None:
        """A round begins; the next one comes after ``following`` seconds."""
        if self.health is not None:
            self.health.begins(self.name, timedelta(seconds=following))

    async def rest(self, seconds: float) -> None:
        """Sleep between two rounds; cut short by :meth:`stop`."""
        self.begins(seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _run(self) -> None:
        while not self._stopping.is_set():
            self.begins()
            try:
                pause = await self._turn()
            except Exception as error:  # noqa: BLE001 (a bug of ours ends no connection for good)
                self.log.error(self.bug, error=type(error).__name__)
                pause = self.after_bug()
            await self.rest(pause)

    async def _turn(self) -> float:
        place = await self.places.take()
        self.state = ConnectionState.STANDBY if place is None else ConnectionState.CONNECTING
        if place is None:
            self.stands_by()
            return self.timing.places.total_seconds()
        try:
            return await self.hold(self, place)
        finally:
            await asyncio.shield(self.places.give_back(place))  # another process may reach what we can't
