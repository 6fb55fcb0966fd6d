"""Sockets of Socket Mode: how many there are, how they are reopened, and the alert if that fails.

One process keeps two, so that one works while the other is reopened. All processes together keep at most eight of the
ten that Slack allows, which leaves room for those that finish.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode; facts on channels §A3; docs/decisions/0015.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.inbound.connection import ConnectionKeeper, ConnectionState, Downtime, Tell, Timing, pauses
from channels.slack.errors import CAUGHT, failure_of
from channels.slack.socket import CLOSED, SILENT, NotOpened, Socket, Take
from core.database.locks import LockSlot, LockSlots
from core.ports import Deferred, RefusalCause, Refused
from core.work.health import Health

log = structlog.get_logger(__name__)

SOCKETS = 0x48616E647300  # "Hands": the name of the places
MOST_SOCKETS = 8
SOCKETS_OF_ONE = 2
_NAMES = [f"slack_socket_{number}" for number in range(1, SOCKETS_OF_ONE + 1)]


@dataclass(frozen=True, slots=True)
class SocketTiming(Timing):
    """``ping``: the interval of pings. ``oldest``: the age at which a socket is replaced, whatever its state.
    ``settled``: the age at which a socket counts as good. ``linger``: how long a replaced one still listens."""

    ping: timedelta = timedelta(seconds=10)
    oldest: timedelta = timedelta(hours=1)
    settled: timedelta = timedelta(seconds=10)
    linger: timedelta = timedelta(seconds=2)


class SlackSockets:
    """``web`` has the app-level token, ``take`` handles an envelope."""

    def __init__(
        self,
        web: AsyncWebClient,
        take: Take,
        places: LockSlots,
        tell: Tell,
        now: Callable[[], datetime],
        timing: SocketTiming | None = None,
        health: Health | None = None,
    ) -> None:
        self._web = web
        self._take = take
        self._places = places
        self._now = now
        self._timing = timing = timing or SocketTiming()
        bug = log, "slack.socket_failed", timing.settled.total_seconds
        self._keepers = [ConnectionKeeper(name, places, timing, health, self._fill, *bug) for name in _NAMES]
        self._finishing: set[asyncio.Task[None]] = set()
        self._live: set[Socket] = set()
        self._downtime = Downtime(log, "slack.socket_not_opened", tell, timing.told_after)

    @property
    def standing(self) -> ConnectionState:
        """The state of Slack's way in, in this process."""
        if self._works:
            return ConnectionState.CONNECTED
        stands_by = all(keeper.state is ConnectionState.STANDBY for keeper in self._keepers)
        return ConnectionState.STANDBY if stands_by else ConnectionState.CONNECTING

    @property
    def _works(self) -> bool:
        """Whether any socket delivers clicks, even one that is to be replaced and can't be yet."""
        return any(socket.works for socket in self._live)

    def start(self) -> None:
        """Returns at once: the service also works without Slack."""
        self._downtime.starts_now()
        for keeper in self._keepers:
            keeper.start()

    async def close(self) -> None:
        """Delivered envelopes are finished and acknowledged; nothing more is taken."""
        await asyncio.gather(*(keeper.stop() for keeper in self._keepers))
        await asyncio.gather(*self._finishing, return_exceptions=True)

    async def _fill(self, keeper: ConnectionKeeper, place: LockSlot) -> float:
        """Socket after socket, as long as the place is ours. A working one ends after the next has begun."""
        socket: Socket | None = None
        pauses = self._pauses()
        try:
            while await self._places.holds(place):
                fresh = await self._open()
                if isinstance(fresh, Socket):
                    if socket is not None:
                        self._let_finish(socket, self._timing.linger)
                    socket = fresh
                    opened_at = time.monotonic()
                    dead = await self._watch(keeper, socket, place)
                    if dead:
                        self._let_finish(socket)
                        socket = None
                    if time.monotonic() - opened_at > self._timing.settled.total_seconds():
                        pauses = self._pauses()
                    pause = next(pauses)
                else:
                    pause = max(next(pauses), fresh.total_seconds())
                await keeper.rest(pause)
        finally:
            if socket is not None:
                self._let_finish(socket)
        return 0.0

    def _pauses(self) -> Iterator[float]:
        """Seconds before the next socket is opened: the first at once."""
        return itertools.chain([0.0], pauses(self._timing.longest_pause))

    async def _open(self) -> Socket | timedelta:
        """An open socket, or the least wait before the next try."""
        try:
            said = await self._web.apps_connections_open(app_token=self._web.token or "")
            socket = Socket(self._web, str(said.get("url", "")), self._take, self._timing.ping, self._timing.oldest)
        except CAUGHT as error:
            failure = failure_of(error, self._now())
            lasting = isinstance(failure, Refused) and failure.fault is RefusalCause.SETUP
            await self._downtime.failed(failure.reason, lasting=lasting, connected=self._works)
            until = failure.until if isinstance(failure, Deferred) else None
            return until - self._now() if until is not None else timedelta()
        try:
            await socket.open()
        except NotOpened as failed:
            await socket.close()
            await self._downtime.failed(failed.reason, lasting=False, connected=self._works)
            return timedelta()
        except BaseException:
            await socket.close()
            raise
        if self._downtime.logged is not None or not self._works:
            log.info("slack.socket_opened")
        self._downtime.is_over()
        return socket

    async def _watch(self, keeper: ConnectionKeeper, socket: Socket, place: LockSlot) -> bool:
        """Wait until it has to be replaced, or the place is lost; returns whether it is dead already."""
        self._live.add(socket)
        over = asyncio.ensure_future(socket.over())
        try:
            while not over.done():
                keeper.begins()
                await asyncio.wait({over}, timeout=self._timing.places.total_seconds())
                if not over.done() and not await self._places.holds(place):
                    log.warning("slack.socket_place_lost")
                    return False
        finally:
            over.cancel()
        why = over.result()
        log.info("slack.socket_over", reason=why)
        return why in {CLOSED, SILENT}

    def _let_finish(self, socket: Socket, linger: timedelta = timedelta()) -> None:
        """``linger``: envelopes that Slack has sent by now may still be on their way."""
        self._live.discard(socket)
        if not self._works:
            self._downtime.starts_now()
        task = asyncio.create_task(socket.finish(linger))
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
