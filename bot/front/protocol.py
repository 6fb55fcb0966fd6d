"""One HTTP connection: uvicorn's, with the limits that uvicorn and httptools do not have.

It counts in the callbacks of httptools' parser and in those of :class:`asyncio.Protocol`; what becomes of a request is
seen by :func:`watched`, which stands around the application. :class:`Connections` looks at it once a second, so that a
request costs no timer.

Source: docs/decisions/0037; httptools' README (callbacks of the parser); RFC 9112 §9.5 (time-outs), §9.6 (why the last
words are followed by reading on); RFC 6585 §5 (431).
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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
from bot.front.connections import ROUND_SECONDS, Connections, Exchange
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
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    again = b"retry-after: 2\r\n" if status == 503 else b""
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n" % len(body)
    safe = b"".join(b"%b: %b\r\n" % field for field in FIELDS)
    return line + head + safe + again + b"\r\n" + body


_REPLIES = {refusal: _reply(refusal) for refusal in _WORDS}


class _Wire(asyncio.Transport):
    """A transport as uvicorn sees it. Whoever has gone or was refused hears nothing more of the application. What
    uvicorn itself says of bytes that are no HTTP, in the middle of a reply perhaps, is not sent."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self.is_parsing = self.is_mute = self.is_given_up = False

    def write(self, data: Any) -> None:
        if not (self.is_parsing or self.is_mute or self._transport.is_closing()):
            self._transport.write(data)

    def close(self) -> None:
        if self.is_parsing:
            self.is_given_up = True
        elif not self.is_mute:
            self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        if self._transport.is_reading():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not (self._transport.is_reading() or self._transport.is_closing()):
            self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)


class HttpConnection(HttpToolsProtocol):
    """One connection. Its ``phase`` is that of the request that comes in last."""

    def __init__(self, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self.all = connections
        self._phase = Phase.HEAD
        self._since = connections.now()
        self._unanswered: deque[Exchange] = deque()
        self._refused: HttpRefusal | None = None
        self._lost = asyncio.Event()
        self._stalled_since: float | None = None
        self._unsent = 0
        self._begin_message()

    def _begin_message(self) -> None:
        self._exchange = Exchange(self.all, self)
        self._head = self._fields = 0
        self._incomplete = 0
        """Bytes of a head, or of trailers, whose end has not come."""
        self._key = self._length = b""
        self._received = self._pieces = 0
        self._unread = 0

    @property
    def is_stranger(self) -> bool:
        return self.all.crowd.is_stranger(self)

    # --- Coming and going ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport, self._wire = transport, _Wire(transport)
        super().connection_made(self._wire)
        peer = transport.get_extra_info("peername")
        if not self.all.welcome(self, str(peer[0]) if peer else ""):
            self._end(HttpRefusal.CROWDED)
            transport.write(_REPLIES[HttpRefusal.CROWDED])
            transport.close()  # it may not stay to read that

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._lost.set()
        self.all.left(self)
        for exchange in (self._exchange, *self._unanswered):
            exchange.let_go()

    def give_way(self) -> None:
        """Somebody else comes."""
        self._abort(HttpRefusal.GAVE_WAY)

    def hurry(self) -> None:
        """The service stops: requests that have come, and what known clients are sending, are finished."""
        if self._phase is Phase.LEAVING or (self._phase is Phase.BODY and self.is_stranger):
            self._transport.abort()

    def look(self, now: float) -> None:
        """Once a second: end it if its client takes too long."""
        if self._transport.is_closing() and self._phase is not Phase.LEAVING:
            self._leave()
        if self._phase is Phase.BODY and not self._exchange.waits_for_client:
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
            self._transport.close()
        elif self._phase is not Phase.LEAVING:
            self._refuse(HttpRefusal.TOO_SLOW)
        elif self._goes_on_leaving(FREE):
            self._since = self.all.now()
        else:
            self._transport.abort()

    def _goes_on_leaving(self, least: int) -> bool:
        """Whether so much of what was written has left since this was asked last."""
        before, self._unsent = self._unsent, self._transport.get_write_buffer_size()
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
        self._unsent = self._transport.get_write_buffer_size()

    def _refuse(self, why: HttpRefusal) -> None:
        self._end(why)
        self._hang_up(why)

    def _abort(self, why: HttpRefusal) -> None:
        self._end(why)
        self._transport.abort()

    def _end(self, why: HttpRefusal) -> None:
        """From here on nothing is parsed, and nothing of the application's is sent."""
        self._refused = why
        self._wire.is_mute = True
        self.all.count(why)

    def _hang_up(self, why: HttpRefusal) -> None:
        """Say why, if nothing was said yet. What still comes is read for a while: a connection that is closed with
        something unread is reset, and what we said is lost."""
        is_silent = self._phase is Phase.HEAD and self._incomplete == 0 and why is HttpRefusal.TOO_SLOW
        has_its_turn = all(one is self._exchange for one in self._unanswered)
        if is_silent or not has_its_turn or self._exchange.is_answered or self._transport.is_closing():
            self._transport.abort()
            return
        self._wire.resume_reading()
        self._transport.write(_REPLIES[why])
        self._transport.write_eof()
        self._leave()

    # --- What comes in ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        _connection.set(self)
        view = memoryview(data)
        for start in range(0, len(data), _AT_ONCE):
            piece = view[start : start + _AT_ONCE]
            if self._refused is None:
                self._feed(piece)
            elif self._is_too_much_unread(len(piece)):
                self._transport.abort()

    def _feed(self, data: memoryview) -> None:
        phase, pieces = self._phase, self._pieces
        self._wire.is_parsing = True
        super().data_received(cast("bytes", data))
        self._wire.is_parsing = False
        if self._refused is not None:
            self._hang_up(self._refused)
        elif self._wire.is_given_up:
            self._refuse(HttpRefusal.MALFORMED)
        elif self._phase is Phase.HEAD or (self._phase is phase is Phase.BODY and pieces == self._pieces):
            self._wait_for_end(len(data))

    def _is_too_much_unread(self, size: int) -> bool:
        self._unread += size
        return self._unread > _MOST_UNREAD

    def _wait_for_end(self, size: int) -> None:
        self._incomplete += size
        if self._incomplete > LARGEST_HEAD:
            self._refuse(HttpRefusal.HEAD_TOO_LARGE)
        elif self._incomplete > FREE and not self._exchange.hold(size):
            self._refuse(HttpRefusal.NO_ROOM)

    def on_message_begin(self) -> None:
        if self._refused is None:
            super().on_message_begin()
            self._begin_message()
            self._enter(Phase.HEAD)

    def on_url(self, url: bytes) -> None:
        if self._has_room_in_head(len(url)):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        if not self._has_room_in_head(len(name) + len(value) + 4) or self._phase is not Phase.HEAD:
            return  # a trailer changes nothing: it comes behind what was decided
        match name.lower():
            case b"x-api-key":
                self._key = value
            case b"content-length":
                self._length = value
        super().on_header(name, value)

    def _has_room_in_head(self, size: int) -> bool:
        self._head += size
        if self._refused is None and (self._head > LARGEST_HEAD or self._fields > MOST_FIELDS):
            self._end(HttpRefusal.HEAD_TOO_LARGE)
        return self._refused is None

    def on_headers_complete(self) -> None:
        if self._refused is not None:
            return
        if len(self._unanswered) > MOST_PIPELINED:
            self._end(HttpRefusal.MALFORMED)
            return
        self._exchange.let_go()
        self._look_for_key()
        announced = min(int(self._length[:9]), LARGEST_ANNOUNCED) if self._length.isdigit() else 0
        if announced > FREE and not self.all.bodies.has_room(announced - FREE, stranger=self.is_stranger):
            self._end(HttpRefusal.NO_ROOM)
            return
        self._unanswered.append(self._exchange)
        super().on_headers_complete()
        self._head = self._fields = self._incomplete = 0
        self._enter(Phase.BODY)

    def _look_for_key(self) -> None:
        """A newcomer with a key neither waits among the strangers nor shares the little that they have: its key is
        looked at before its request has its turn. What it may do is decided there, as ever."""
        if self._key and self.is_stranger and self.all.knows(self._key.decode("latin-1")):
            self.all.crowd.vouch(self)

    def on_body(self, body: bytes) -> None:
        if self._refused is not None:
            return
        self._received += len(body)
        self._pieces += 1
        if self._pieces > MOST_PIECES and self._received < self._pieces * SMALLEST_PIECE:
            self._end(HttpRefusal.MALFORMED)
        elif not self._has_room_for(len(body)):
            self._end(HttpRefusal.NO_ROOM)
        else:
            super().on_body(body)

    def _has_room_for(self, size: int) -> bool:
        """For so much more of a body."""
        if self._exchange.is_over:  # uvicorn drops it
            return not self._is_too_much_unread(size)
        counted = min(size, self._received - FREE)
        return counted <= 0 or self._exchange.is_unwanted or self._exchange.hold(counted)

    def on_message_complete(self) -> None:
        if self._refused is None:
            super().on_message_complete()
            self._enter(Phase.SERVING if self._unanswered else Phase.IDLE)

    # --- What goes out ------------------------------------------------------------------------------------------------

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Have ``app`` answer the first request that has no answer yet."""
        exchange = self._unanswered[0]
        exchange.put_into(scope)

        async def heard() -> Message:
            if exchange.is_complete:  # of those behind which another has come, uvicorn would not say that they left
                self._wire.resume_reading()
                await self._lost.wait()
                return {"type": "http.disconnect"}
            exchange.waits_for_client = True
            try:
                message = await receive()
            finally:
                exchange.waits_for_client = exchange.is_over
            exchange.is_complete = not message.get("more_body", False)
            return message

        async def told(message: Message) -> None:
            for piece in _pieces(message):
                await send(piece)
                exchange.is_answered = True
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._answered(exchange)

        try:
            if self.is_stranger:
                await self.all.turn()
            if not self._lost.is_set():
                await app(scope, heard, told)
        finally:
            self._answered(exchange)
            exchange.let_go()

    def _answered(self, exchange: Exchange) -> None:
        if not exchange.is_over:
            exchange.is_over = exchange.waits_for_client = True
            self._unanswered.popleft()
            if self._phase is Phase.SERVING and not self._unanswered:
                self._enter(Phase.IDLE)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled_since = self.all.now()
        self._unsent = self._transport.get_write_buffer_size()
        self.all.crowd.waits(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalled_since = None
        if self._phase is Phase.SERVING:
            self.all.crowd.works(self)


_connection: ContextVar[HttpConnection] = ContextVar("connection")
"""Whose bytes are being read. The task that answers a request begins meanwhile, and inherits it."""


def protocol_for(connections: Connections) -> type[asyncio.Protocol]:
    """What uvicorn is given to make each connection with. Its application has to be :func:`watched`."""
    return cast("type[asyncio.Protocol]", partial(HttpConnection, connections))


def watched(app: ASGIApp) -> ASGIApp:
    """``app``, with its connections told what becomes of their requests."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _connection.get().serve(app, scope, receive, send)
        else:
            await app(scope, receive, send)

    return serve


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
