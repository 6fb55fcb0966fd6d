"""Slack's way in by Socket Mode: so many sockets, each looked after, opened anew and told about when that can't be.

One process keeps two, so that there is one while the other is opened anew; all processes together keep at most eight of
the ten that Slack allows, which leaves room for those that finish.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode; facts on channels §A3; docs/decisions/0015.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.pauses import pauses
from channels.slack.errors import CAUGHT, failure_of
from channels.slack.socket import CLOSED, SILENT, NotOpened, Socket, Take
from core.errors import HandraiseError
from core.ports import Deferred, Fault, Refused
from core.store.places import Place, Places

log = structlog.get_logger(__name__)

SOCKETS = 0x48616E647300  # "Hands": the name of the places
MOST_SOCKETS = 8
SOCKETS_OF_ONE = 2

Tell = Callable[[str], Awaitable[None]]
"""Tells the operators that Slack can't reach us, by a stable reason."""


class Standing(StrEnum):
    """How Slack's way in stands in this process."""

    CONNECTED = "connected"
    CONNECTING = "connecting"
    STANDBY = "standby"
    """Other processes have all the sockets there may be; this one takes over."""


@dataclass(frozen=True, slots=True)
class Pace:
    """``ping``: how often a socket is asked whether it lives. ``oldest``: after so long it is opened anew whatever it
    says. ``settled``: one that lived so long was a good one. ``places``: how often a place is looked for, or looked
    after. ``told_after``: so long without any socket is told. ``linger``: so long one that was replaced still
    listens.
    """

    ping: timedelta = timedelta(seconds=10)
    oldest: timedelta = timedelta(hours=1)
    settled: timedelta = timedelta(seconds=10)
    longest_pause: timedelta = timedelta(seconds=60)
    places: timedelta = timedelta(seconds=5)
    told_after: timedelta = timedelta(seconds=60)
    linger: timedelta = timedelta(seconds=2)


class SlackSockets:
    """``web`` has the app-level token, ``take`` does what an envelope says."""

    def __init__(
        self,
        web: AsyncWebClient,
        take: Take,
        places: Places,
        tell: Tell,
        now: Callable[[], datetime],
        pace: Pace | None = None,
    ) -> None:
        self._web = web
        self._take = take
        self._places = places
        self._tell = tell
        self._now = now
        self._pace = pace or Pace()
        self._keepers: list[asyncio.Task[None]] = []
        self._finishing: set[asyncio.Task[None]] = set()
        self._live: set[Socket] = set()
        self._held = 0
        self._without_since = time.monotonic()
        self._said: str | None = None
        """The reason that is in the log already."""

    @property
    def standing(self) -> Standing:
        if self._works:
            return Standing.CONNECTED
        return Standing.CONNECTING if self._held or not self._keepers else Standing.STANDBY

    @property
    def _works(self) -> bool:
        """Whether any socket brings us clicks, were it one that is to be replaced and can't be yet."""
        return any(socket.works for socket in self._live)

    def start(self) -> None:
        """Returns at once: the service is there while Slack is not."""
        self._without_since = time.monotonic()
        self._keepers = [asyncio.create_task(self._keep(), name="slack-socket") for _ in range(SOCKETS_OF_ONE)]

    async def close(self) -> None:
        """What has been delivered is finished and acknowledged; nothing more is taken."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*self._finishing, return_exceptions=True)
        self._keepers = []

    async def _keep(self) -> None:
        """One place, and the socket in it, for ever."""
        while True:
            place = await self._places.take()
            if place is None:
                await asyncio.sleep(self._pace.places.total_seconds())
                continue
            self._held += 1
            try:
                await self._fill(place)
            except Exception as error:  # noqa: BLE001 (a bug of ours ends no socket for good)
                log.error("slack.socket_failed", error=type(error).__name__)
                await asyncio.sleep(self._pace.settled.total_seconds())
            finally:
                self._held -= 1
                await asyncio.shield(self._places.give_back(place))

    async def _fill(self, place: Place) -> None:
        """Socket after socket, as long as the place is ours. One that still answers ends after the next has begun."""
        socket: Socket | None = None
        pauses = self._pauses()
        try:
            while await self._places.holds(place):
                fresh = await self._open()
                if isinstance(fresh, Socket):
                    if socket is not None:
                        self._let_finish(socket, self._pace.linger)
                    socket = fresh
                    opened_at = time.monotonic()
                    dead = await self._watch(socket, place)
                    if dead:
                        self._let_finish(socket)
                        socket = None
                    if time.monotonic() - opened_at > self._pace.settled.total_seconds():
                        pauses = self._pauses()
                    await asyncio.sleep(next(pauses))
                else:
                    await asyncio.sleep(max(next(pauses), fresh.total_seconds()))
        finally:
            if socket is not None:
                self._let_finish(socket)

    def _pauses(self) -> Iterator[float]:
        """Seconds before the next socket is opened: the first at once."""
        longest = self._pace.longest_pause.total_seconds()
        return itertools.chain([0.0], pauses(longest))

    async def _open(self) -> Socket | timedelta:
        """A socket that Slack has greeted, or how long to wait at least before the next try."""
        try:
            said = await self._web.apps_connections_open(app_token=self._web.token or "")
            socket = Socket(self._web, str(said.get("url", "")), self._take, self._pace.ping, self._pace.oldest)
        except CAUGHT as error:
            failure = failure_of(error, self._now())
            lasting = isinstance(failure, Refused) and failure.fault is Fault.SETUP
            await self._failed(failure.reason, lasting)
            until = failure.until if isinstance(failure, Deferred) else None
            return until - self._now() if until is not None else timedelta()
        try:
            await socket.open()
        except NotOpened as failed:
            await socket.close()
            await self._failed(failed.reason, lasting=False)
            return timedelta()
        except BaseException:
            await socket.close()
            raise
        if self._said is not None or not self._works:
            log.info("slack.socket_opened")
        self._said = None
        return socket

    async def _watch(self, socket: Socket, place: Place) -> bool:
        """Until it has to be replaced, or the place is lost; returns whether it is dead already."""
        self._live.add(socket)
        over = asyncio.ensure_future(socket.over())
        try:
            while not over.done():
                await asyncio.wait({over}, timeout=self._pace.places.total_seconds())
                if not over.done() and not await self._places.holds(place):
                    log.warning("slack.socket_place_lost")
                    return False
        finally:
            over.cancel()
        why = over.result()
        log.info("slack.socket_over", reason=why)
        return why in {CLOSED, SILENT}

    def _let_finish(self, socket: Socket, linger: timedelta = timedelta()) -> None:
        """``linger``: what Slack has sent it by now may still be on its way."""
        self._live.discard(socket)
        if not self._works:
            self._without_since = time.monotonic()
        task = asyncio.create_task(socket.finish(linger))
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)

    async def _failed(self, reason: str, lasting: bool) -> None:
        """Said once for each reason; the operators hear of what lasts, or has lasted."""
        if reason != self._said:
            self._said = reason
            log.warning("slack.socket_not_opened", reason=reason)
        if self._works:
            self._without_since = time.monotonic()
            return
        without = time.monotonic() - self._without_since
        if not (lasting or without >= self._pace.told_after.total_seconds()):
            return
        with contextlib.suppress(HandraiseError):  # the database is away: the next failure tells it
            await self._tell(reason)
