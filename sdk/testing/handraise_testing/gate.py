"""The gate in front of the application: who is being served, who waits for an answer, and who is about to say more.

Everybody waits once no request is under way but a ``wait`` on an open question (or an event stream). A connection that
stands idle may be that of an agent that is still thinking. It has :data:`PAUSE` to go on in, and as long as this
process computes. With one agent on the SDK there is none: its ``wait`` goes over the connection that it asked on.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from core.errors import envelope

PAUSE = 0.05
"""Seconds in which whoever has an idle connection may still say something."""

COMPUTED = 0.1
"""The share of a pause for which this process may have computed, if nobody in it is taken to be thinking."""

LATE = 1.25
"""A pause that took so many times as long was on a machine that let nobody think."""

LONGEST_PAUSE = 1.0
"""Seconds after which the clock goes on all the same."""

_WAIT = re.compile(r"/(?:api/)?v1/suspensions/(?P<id>[^/]+)/wait")
_STREAM = re.compile(r"/(?:api/)?v1/(?:.+/subscribe|events/stream)")


@dataclass(eq=False, slots=True)
class _Request:
    waits_for: str | None
    is_stream: bool


class Gate:
    """An ASGI application before ``app``. ``changed`` is called whenever somebody comes or goes.

    Once the test has :attr:`failed`, every request is answered 409 ``test_failed`` with the reason, so that no agent
    waits any longer.
    """

    def __init__(self, app: ASGIApp, is_open: Callable[[str], bool], changed: Callable[[], None]) -> None:
        self.failed: str | None = None
        self._app = app
        self._is_open = is_open
        self._changed = changed
        self._requests: set[_Request] = set()
        self._connections: set[_Connection] = set()
        self._over = asyncio.Event()
        self._quiet = False
        self._last = time.monotonic()
        self._pause: tuple[float, float] | None = None
        """When the pause that is under way began, and for how long this process had computed then."""

    @property
    def protocol(self) -> type[asyncio.Protocol]:
        """What uvicorn makes each connection with."""
        return cast("type[asyncio.Protocol]", partial(_Connection, self))

    def fail(self, reason: str) -> None:
        """The first reason stands."""
        if self.failed is None:
            self.failed = reason
            self._over.set()

    # --- Who waits ----------------------------------------------------------------------------------------------------

    @property
    def waited_for(self) -> frozenset[str]:
        """The open questions whose end somebody waits for."""
        ids = (one.waits_for for one in self._requests if one.waits_for is not None)
        return frozenset(found for found in ids if self._is_open(found))

    @property
    def somebody_waits(self) -> bool:
        return bool(self.waited_for) or any(one.is_stream for one in self._requests)

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way, or about to be, that will be answered by itself."""
        if sum(one.is_serving for one in self._connections) > len(self._requests):
            return True  # it has been read, and comes here in the loop's next round
        return not all(one.is_stream or (one.waits_for and self._is_open(one.waits_for)) for one in self._requests)

    def pause(self, unwaited: bool) -> float:
        """Seconds for which somebody may still be about to say something; ``unwaited`` if there is an open question
        whose agent does not wait."""
        listening = unwaited or any(one.is_stream for one in self._requests)
        if self._quiet or not (listening or any(not one.is_serving for one in self._connections)):
            return 0.0
        now, computed = time.monotonic(), time.process_time()
        if self._pause is not None and (span := now - self._pause[0]) >= PAUSE:
            undisturbed = span < PAUSE * LATE and computed - self._pause[1] < span * COMPUTED
            if undisturbed or now - self._last > LONGEST_PAUSE:
                self._quiet = True
                return 0.0
            self._pause = None
        if self._pause is None:
            self._pause = (now, computed)
        return PAUSE - (now - self._pause[0])

    def _heard(self) -> None:
        """Somebody has said something: whoever it is has a pause to go on in."""
        self._quiet, self._pause, self._last = False, None, time.monotonic()

    def came(self, connection: _Connection) -> None:
        self._connections.add(connection)
        self._heard()

    def went(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        self._changed()

    # --- Serving ------------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self.failed is not None:
            await _refuse(send, self.failed)
            return
        wait = _WAIT.fullmatch(scope["path"])
        request = _Request(wait["id"] if wait else None, bool(_STREAM.fullmatch(scope["path"])))
        self._requests.add(request)
        self._heard()
        self._changed()
        try:
            if wait:
                await self._while_it_counts(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        finally:
            self._requests.discard(request)
            self._heard()
            self._changed()

    async def _while_it_counts(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a ``wait`` until it is answered, its agent has gone, or the test has failed."""
        served = asyncio.ensure_future(self._app(scope, receive, send))
        over = asyncio.ensure_future(self._over.wait())
        gone = asyncio.ensure_future(_until_gone(receive))
        tasks = {served, over, gone}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if served in done:
            served.result()
        elif over in done:
            await _refuse(send, self.failed or "")


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, reason: str) -> None:
    body = json.dumps(envelope("test_failed", reason)).encode()
    start: Message = {
        "type": "http.response.start",
        "status": 409,
        "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})


class _Connection(HttpToolsProtocol):
    """Uvicorn's, which tells the gate that it is there."""

    def __init__(self, gate: Gate, **given: Any) -> None:
        super().__init__(**given)
        self._gate = gate

    @property
    def is_serving(self) -> bool:
        """Whether a request has come by it and is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._gate.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._gate.went(self)
