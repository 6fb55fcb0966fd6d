"""One HTTP connection: uvicorn's, with the limits that uvicorn and httptools do not have.

:class:`Connections` looks at it once a second, so that a request costs no timer.
Source: docs/decisions/0037; RFC 9112 §9.5 (time-outs), §9.6 (why the last words are followed by reading on);
RFC 6585 §5 (431).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import httptools
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from bot.front.admission import (
    FREE,
    LARGEST_ANNOUNCED,
    LARGEST_HEAD,
    MOST_FIELDS,
    MOST_PIECES,
    MOST_PIPELINED,
    READ,
    SMALLEST_PIECE,
    STALLED_SECONDS,
    Phase,
    is_overdue,
)
from bot.front.connections import ROUND_SECONDS, Connections, Exchange, exchange_of
from bot.front.headers import FIELDS
from bot.observability.telemetry import HttpRefusal
from core.errors import envelope

_AT_ONCE = 16 * 1024
"""Bytes that the parser is given before it is looked at what came of them."""
_MOST_UNREAD = 16 * 1024 * 1024
"""How much of a body that nobody wants may pass by, so that its sender gets to read our reply."""

_PIECE = 64 * 1024
"""Bytes of a reply that are written at once. The next are written when these have left: whoever does not read holds no
more than that, and no copy of a reply that is the same for all."""
_JOINED = 16 * 1024
"""Bytes that are copied behind a head, at most."""

_WORDS: dict[HttpRefusal, tuple[int, str, str]] = {
    HttpRefusal.CROWDED: (503, "busy", "Too many connections are open: try again in a moment."),
    HttpRefusal.HEAD_TOO_LARGE: (431, "too_large", f"The head of a request may have {LARGEST_HEAD // 1024} KiB."),
    HttpRefusal.TOO_SLOW: (408, "too_slow", "The request took too long to arrive."),
    HttpRefusal.NO_ROOM: (503, "busy", "Too much is being received: try again in a moment."),
    HttpRefusal.MALFORMED: (400, "invalid_request", "This is not a request of HTTP/1.1."),
}


def _reply(refusal: HttpRefusal) -> bytes:
    status, code, message = _WORDS[refusal]
    body = json.dumps(envelope(code, message), separators=(",", ":")).encode()
    again = b"retry-after: 2\r\n" if status == 503 else b""
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n" % len(body)
    safe = b"".join(b"%b: %b\r\n" % field for field in FIELDS)
    return STATUS_LINE[status] + head + safe + again + b"\r\n" + body


_REPLIES = {refusal: _reply(refusal) for refusal in _WORDS}


class _Flow(FlowControl):
    """Uvicorn's, which an application that wants more of a body can't make read on in a round that has had enough."""

    held_up = False

    def resume_reading(self) -> None:
        if not self.held_up:
            super().resume_reading()


class _Joined:
    """The transport of a connection, which sends the head of a reply together with the first of its body: one write in
    place of two, and one thing to wake up for in place of two."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self.holds = False
        """Whether what is written now is a head."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self.holds:
            self._head += data
        elif len(data) <= _JOINED:
            head, self._head = self._head, b""
            self._transport.write(head + data if head else data)
        else:
            self.let_go()
            self._transport.write(data)

    def let_go(self) -> None:
        """Nothing comes behind the head. Whoever has gone is told nothing: uvloop's transports raise then."""
        head, self._head = self._head, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)

    def forget(self) -> None:
        """Nobody is there to read it."""
        self._head = b""

    def close(self) -> None:
        self.let_go()
        self._transport.close()


class HttpConnection(HttpToolsProtocol):
    """One connection. Its ``phase`` is that of the request that comes in last."""

    def __init__(self, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self.all = connections
        self._application = cast("ASGIApp", self.app)
        self.app = self._run
        self._phase = Phase.HEAD
        self._since = connections.now()
        self._running: RequestResponseCycle | None = None
        self._refused: HttpRefusal | None = None
        self._stalled_since: float | None = None
        self._unsent = 0
        self._begin_message()

    def _begin_message(self) -> None:
        self._exchange = Exchange(self.all, self)
        self._head = self._fields = 0
        self._incomplete = 0
        """Bytes of a head, or of trailers, whose end has not come."""
        self._received = self._pieces = 0
        self._unread = 0

    @property
    def is_stranger(self) -> bool:
        return self.all.crowd.is_stranger(self)

    # --- Coming and going ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._joined = _Joined(transport)
        self.transport = cast("asyncio.Transport", self._joined)
        self.flow = self._flow = _Flow(transport)
        if not self.all.welcome(self, self.client[0] if self.client else ""):
            self._end(HttpRefusal.CROWDED)
            transport.write(_REPLIES[HttpRefusal.CROWDED])
            transport.close()  # it may not stay to read that

    def connection_lost(self, exc: Exception | None) -> None:
        self._joined.forget()
        super().connection_lost(exc)
        self._leave_unanswered()
        self.all.left(self)
        for cycle, _ in self.pipeline:  # no application will ever see these
            _let_go(cast("Scope", cycle.scope))
        if self._phase is Phase.HEAD:
            self._exchange.let_go()

    def give_way(self) -> None:
        """Somebody else comes."""
        self._abort(HttpRefusal.GAVE_WAY)

    def read_on(self) -> None:
        self._flow.held_up = False
        self.flow.resume_reading()

    def shutdown(self) -> None:
        """The service stops: requests that have come, and what known clients are sending, are finished."""
        if self._phase is Phase.LEAVING or (self._phase is Phase.BODY and self.is_stranger):
            self._leave_unanswered()
            self.transport.abort()
        else:
            super().shutdown()

    def look(self, now: float) -> None:
        """Once a second: end it if its client takes too long."""
        if self._phase is Phase.BODY and self.flow.read_paused:
            self._since += ROUND_SECONDS  # it is we who don't read
        if self._stalled_since is not None and now - self._stalled_since > STALLED_SECONDS and self.is_stranger:
            self._stalled_since = now
            if not self._goes_on_leaving(READ):
                self._abort(HttpRefusal.TOO_SLOW)
        elif is_overdue(self._phase, now - self._since, self._received, self.all.limits):
            self._too_late()

    def _too_late(self) -> None:
        if self._phase is Phase.IDLE:
            self._leave()
            self.transport.close()
        elif self._phase is not Phase.LEAVING:
            self._refuse(HttpRefusal.TOO_SLOW)
        elif self._goes_on_leaving(FREE):
            self._since = self.all.now()
        else:
            self.transport.abort()

    def _goes_on_leaving(self, least: int) -> bool:
        """Whether so much of what was written has left since this was asked last."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        return self._unsent <= before - least

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._since = self.all.now()
        if phase is Phase.SERVING:
            self.all.crowd.works(self)
        else:
            self.all.crowd.waits(self)

    def _leave(self) -> None:
        self._enter(Phase.LEAVING)
        self._unsent = self.transport.get_write_buffer_size()

    def _refuse(self, why: HttpRefusal) -> None:
        """Say why, if nothing was said yet, and hang up. What still comes is read for a while: a connection that is
        closed with something unread is reset, and what we said is lost."""
        cycle = self.cycle
        unanswered = cycle is not None and not cycle.response_complete
        pipelined = self._phase is Phase.HEAD or self._running is not cycle
        if self.transport.is_closing() or (unanswered and (pipelined or cycle.response_started)):
            self._abort(why)
            return
        self._leave_unanswered()
        self._end(why)
        if self._phase is Phase.HEAD and self._incomplete == 0 and why is HttpRefusal.TOO_SLOW:
            self.transport.abort()  # it has never said a word
            return
        self.flow.resume_reading()
        self.transport.write(_REPLIES[why])
        self.transport.write_eof()
        self._leave()

    def _abort(self, why: HttpRefusal) -> None:
        self._end(why)
        self._leave_unanswered()
        self.transport.abort()

    def _leave_unanswered(self) -> None:
        """Tell whoever works on a request that its client has gone: writing to a transport that is closed raises."""
        for cycle in (self._running, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        if self.is_stranger:
            self.all.serve(partial(self._begin, cycle, app))
        else:
            super()._start_asgi_task(cycle, app)

    def _begin(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if cycle.disconnected:  # it has gone meanwhile
            _let_go(cast("Scope", cycle.scope))
        else:
            super()._start_asgi_task(cycle, app)

    def _end(self, why: HttpRefusal) -> None:
        self._refused = why
        self.parser = cast("httptools.HttpRequestParser", None)  # which keeps what it has of a head
        self._exchange.let_go()
        self.all.count(why)

    # --- What comes in ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._refused is not None:
            self._pass_by(len(data))
            return
        view = memoryview(data)
        for start in range(0, len(data), _AT_ONCE):
            if self._refused is None:
                self._feed(view[start : start + _AT_ONCE])

    def _feed(self, data: memoryview) -> None:
        phase, pieces = self._phase, self._pieces
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # not offered: the request is served, and nothing that comes behind it
            self.cycle.keep_alive = False
            self.flow.pause_reading()
        except httptools.HttpParserError as error:
            stopped = error.__context__
            self._refuse(stopped.why if isinstance(stopped, _Stop) else HttpRefusal.MALFORMED)
        else:
            if self._phase is Phase.HEAD or (self._phase is phase is Phase.BODY and pieces == self._pieces):
                self._wait_for_end(len(data))

    def _pass_by(self, size: int) -> None:
        self._unread += size
        if self._unread <= _MOST_UNREAD:
            self._go_easy(size)
        elif self._refused is None and not self.cycle.response_complete:
            self.cycle.more_body = False  # whoever waits for the end of it says so, and hangs up
            self.cycle.message_event.set()
            self.flow.pause_reading()
        else:
            self.transport.abort()

    def _go_easy(self, size: int) -> None:
        """Somebody has sent so much in bulk: the others have their turn."""
        if self.all.has_read_enough(self, size):
            self.flow.pause_reading()
            self._flow.held_up = True

    def _wait_for_end(self, size: int) -> None:
        self._incomplete += size
        if self._incomplete > LARGEST_HEAD:
            self._refuse(HttpRefusal.HEAD_TOO_LARGE)
        elif self._incomplete > FREE and not self._exchange.hold(size):
            self._refuse(HttpRefusal.NO_ROOM)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begin_message()
        self._enter(Phase.HEAD)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        self._count(len(name) + len(value) + 4)
        if self._phase is Phase.HEAD:  # a trailer changes nothing: it comes behind what was decided
            super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > LARGEST_HEAD or self._fields > MOST_FIELDS:
            raise _Stop(HttpRefusal.HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            raise _Stop(HttpRefusal.MALFORMED)
        self._exchange.let_go()
        self._look_for_key()
        announced = self._field(b"content-length")
        if len(announced) > 4:  # five digits and more
            counted = min(int(announced[:9]), LARGEST_ANNOUNCED) - FREE
            if counted > 0 and not self.all.bodies.has_room(counted, stranger=self.is_stranger):
                raise _Stop(HttpRefusal.NO_ROOM)
        self._exchange.put_into(cast("Scope", self.scope))
        super().on_headers_complete()
        self._head = self._fields = self._incomplete = 0
        self._enter(Phase.BODY)

    def _look_for_key(self) -> None:
        """A newcomer with a key neither waits among the strangers nor shares the little that they have: its key is
        looked at before its request has its turn. What it may do is decided there, as ever."""
        if self.is_stranger and (given := self._field(b"x-api-key")) and self.all.knows(given.decode("latin-1")):
            self.all.crowd.vouch(self)

    def _field(self, wanted: bytes) -> bytes:
        return next((value for name, value in self.headers if name == wanted), b"")

    def on_body(self, body: bytes) -> None:
        size = len(body)
        self._received += size
        self._pieces += 1
        if self._pieces > MOST_PIECES and self._received < self._pieces * SMALLEST_PIECE:
            raise _Stop(HttpRefusal.MALFORMED)
        if self._exchange.unwanted or self.cycle.response_complete:
            self._exchange.passed += size
            self._pass_by(size)
            return
        counted = min(size, self._received - FREE)
        if counted > 0:
            if not self._exchange.hold(counted):
                raise _Stop(HttpRefusal.NO_ROOM)
            if self.is_stranger:
                self._go_easy(counted)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._enter(Phase.IDLE if self.cycle.response_complete else Phase.SERVING)

    # --- What goes out ------------------------------------------------------------------------------------------------

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        joined, flow = self._joined, self._flow

        async def told(message: Message) -> None:
            if message["type"] != "http.response.start":
                for piece in _pieces(message):
                    await send(piece)
                return
            while flow.write_paused:
                await flow.drain()  # here, and not in ``send``: while a head is held, nothing may be waited for
            joined.holds = True
            try:
                await send(message)
            finally:
                joined.holds = False

        try:
            await self._application(scope, receive, told)
        finally:
            _let_go(scope)
            if self._running is not None and self._running.scope is scope:
                self._running.body = bytearray()  # of what came before it was said that nobody wants it
            joined.let_go()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unset_keepalive_if_required()  # see look
        if self.transport.is_closing():
            self._leave()
        elif self._phase is Phase.SERVING and self.cycle.response_complete:
            self._enter(Phase.IDLE)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled_since = self.all.now()
        self._unsent = self.transport.get_write_buffer_size()
        self.all.crowd.waits(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalled_since = None
        if self._phase is Phase.SERVING:
            self.all.crowd.works(self)


def protocol_for(connections: Connections) -> type[asyncio.Protocol]:
    """What uvicorn is given to make each connection with."""
    return cast("type[asyncio.Protocol]", partial(HttpConnection, connections))


def _pieces(message: Message) -> Iterator[Message]:
    """A part of a reply's body in pieces, none of them a copy."""
    body = message.get("body", b"")
    if len(body) <= _PIECE:
        yield message
        return
    whole = memoryview(body)
    for start in range(0, len(body), _PIECE):
        more = start + _PIECE < len(body) or message.get("more_body", False)
        yield {**message, "body": whole[start : start + _PIECE], "more_body": more}


class _Stop(Exception):
    """Raised within a callback of the parser: nothing more is parsed."""

    def __init__(self, why: HttpRefusal) -> None:
        self.why = why


def _let_go(scope: Scope) -> None:
    exchange = exchange_of(scope)
    if exchange is not None:
        exchange.let_go()
