"""One connection of Slack's Socket Mode, from Slack's ``hello`` to its end: slack_sdk's client, opened once.

The SDK's client reconnects by itself, and has hung in that for hours. Here one object is one connection. Its holder
asks :meth:`Socket.over` whether to replace it, opens another one, and lets this one :meth:`finish <Socket.finish>`:
Slack accepts an acknowledgement only on the connection that the envelope came by.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode; facts on channels §A3.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

Take = Callable[[SocketModeRequest], Awaitable[BoltResponse]]
"""Handles an envelope. Only a 200 is acknowledged."""

MUTE = logging.getLogger("handraise.slack_socket")
MUTE.setLevel(logging.CRITICAL + 1)
"""The SDK writes out whole envelopes, and errors with whatever is in them; what has to be known we log ourselves."""

FINISH_WITHIN = timedelta(seconds=3)
"""Slack waits no longer for an acknowledgement."""
_CLOSE_WITHIN = 1.0
_LOOK_EVERY = 0.2

CLOSED, SILENT, AGED, NO_HELLO = "closed", "silent", "aged", "no_hello"
"""Why a socket is over, beside the reasons that Slack gives in its ``disconnect``."""


class NotOpened(Exception):
    """``reason`` is a stable code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Socket(SocketModeClient):
    """``url`` is what ``apps.connections.open`` gave. A socket that is silent for two ``ping`` intervals is dead.

    A socket can be connected and get nothing, and no ping shows it (bolt-python#1529): so none becomes older than
    ``oldest``.
    """

    def __init__(self, web: AsyncWebClient, url: str, take: Take, ping: timedelta, oldest: timedelta) -> None:
        super().__init__(
            app_token=web.token or "",
            logger=MUTE,
            web_client=web,
            auto_reconnect_enabled=False,
            ping_interval=ping.total_seconds(),
        )
        if url.startswith("ws://"):
            self.proxy = None  # a sandbox on loopback, which no proxy of the environment could reach
        self.wss_uri = url
        self._take = take
        self._oldest = oldest.total_seconds()
        self._opened_at = self._heard_at = time.time()
        self._greeted = asyncio.Event()
        self._over = asyncio.Event()
        self._why: str | None = None
        self._under_way: set[asyncio.Task[Any]] = set()
        self.on_message_listeners.append(self._hear)
        self.socket_mode_request_listeners.append(self._answer)

    async def open(self) -> None:
        """Returns once Slack has said hello; raises :class:`NotOpened` if it has not within the time of two pings."""
        try:
            async with asyncio.timeout(2 * self.ping_interval):
                await self.connect()  # type: ignore[no-untyped-call]
                await _first(self._greeted, self._over)
        except TimeoutError:
            raise NotOpened(NO_HELLO) from None
        if self._why is not None:
            raise NotOpened(self._why)

    async def over(self) -> str:
        """Wait until the socket has to be replaced; returns why."""
        while (why := await self._trouble()) is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _LOOK_EVERY)
        return why

    @property
    def works(self) -> bool:
        """Whether it still delivers: a socket that is to be replaced does, until it is closed."""
        heard_at = max(self._heard_at, self.last_ping_pong_time or 0.0)
        is_open = self.current_session is not None and not self.current_session.closed
        return is_open and not self.closed and time.time() - heard_at <= 2 * self.ping_interval

    async def finish(self, linger: timedelta = timedelta()) -> None:
        """Wait for ``linger``, then (for a limited time) for all that was delivered to be acknowledged, and close."""
        await asyncio.sleep(linger.total_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINISH_WITHIN.total_seconds()):
                while self._under_way:
                    await asyncio.wait(self._under_way)
        await self.close()

    async def close(self) -> None:
        """Does not wait for Slack, which does not always answer a close."""
        self.closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_WITHIN):
                await self.disconnect()  # type: ignore[no-untyped-call]
        await super().close()  # type: ignore[no-untyped-call]
        loops = (self.message_processor, self.current_session_monitor, self.message_receiver)
        await asyncio.gather(*(loop for loop in loops if loop is not None), return_exceptions=True)

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Overridden because the SDK would reconnect at a ``disconnect``."""
        match message.get("type"):
            case "hello":
                self._greeted.set()
            case "disconnect":
                self._why = str(message.get("reason", "disconnect"))[:40]
                self._over.set()
            case _:
                await super().run_message_listeners(message, raw_message)

    async def _trouble(self) -> str | None:
        now = time.time()
        heard_at = max(self._heard_at, self.last_ping_pong_time or 0.0)
        if self._why is not None:
            return self._why
        if self.current_session is None or self.current_session.closed:
            return CLOSED
        # A socket that sends nothing aiohttp closes by itself; not one whose other side pings and hears nothing.
        if now - heard_at > 2 * self.ping_interval or not await self.is_connected():
            return SILENT
        return AGED if now - self._opened_at > self._oldest else None

    async def _hear(self, _message: aiohttp.WSMessage) -> None:
        self._heard_at = time.time()

    async def _answer(self, _client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        task = cast(asyncio.Task[Any], asyncio.current_task())
        self._under_way.add(task)
        try:
            said = await self._take(request)
            # If the connection is gone meanwhile, the answer still counts, and the person sees Slack's warning.
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                await send_async_response(self, request, said, time.time())
        finally:
            self._under_way.discard(task)


async def _first(*events: asyncio.Event) -> None:
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
