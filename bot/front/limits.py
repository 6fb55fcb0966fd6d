"""Limits of a request: not too large, and no bytes that no database can keep. Source: API.md §1."""

from __future__ import annotations

import json
import math
from collections.abc import MutableMapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.front.connections import exchange_of
from core.errors import envelope

LARGEST_BODY = 1024 * 1024
DRAINED = 16 * 1024 * 1024
"""How much of a body that is too large is read all the same: who has sent it all gets to read our 413 rather than a
reset connection."""
_ABOUT_BODIES = {b"connection", b"content-length", b"expect", b"transfer-encoding"}
DEEPEST = 64
"""How deep JSON may nest."""


class SizeLimit:
    """Refuses bodies above the limit with 413, whatever else is wrong with the request.

    The application reads a body when it wants it, so that nothing is held of one that is refused by its head alone.
    Whoever leaves before all of it has come has sent nothing: the application is not gone on with.
    """

    def __init__(self, app: ASGIApp, larger: MutableMapping[str, int] | None = None) -> None:
        self._app = app
        self._larger = larger or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if "\x00" in scope["path"]:
            await JSONResponse(envelope("not_found", "There is nothing at this path."), 404)(scope, receive, send)
            return
        body = _Body(scope, receive, send, self._larger.get(scope["path"], LARGEST_BODY))
        try:
            if body.is_announced_too_large:
                await body.refuse()
            else:
                await self._app(scope, body.receive, body.send if body.must_end_first else send)
        except _ClientLeft:
            return


class _ClientLeft(Exception):
    """Before it had sent everything: half a request is none, and nobody waits for a reply."""


class _TooLarge(HTTPException):
    def __init__(self, limit: int) -> None:
        message = f"The body is larger than {limit // (1024 * 1024)} MiB."
        super().__init__(413, message, headers={"Connection": "close"})


class _Body:
    """What the application may receive of one request."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._limit = limit
        self._size = 0
        self._complete = False
        self._refused = self._answered = False
        headers = {name: value for name, value in scope["headers"] if name in _ABOUT_BODIES}
        announced = headers.get(b"content-length", b"")
        self.is_announced_too_large = announced.isdigit() and int(announced[:19]) > limit
        self._waits_for_us = b"expect" in headers
        closes = b"close" in headers.get(b"connection", b"").lower() or scope["http_version"] == "1.0"
        self.must_end_first = self._waits_for_us or b"transfer-encoding" in headers or (closes and announced != b"")
        """Whether a reply has to wait for a body that the application does not want: it may turn out to be too large,
        and who closes a connection with something unread on it resets it."""

    async def receive(self) -> Message:
        message = await self._receive()
        if not self._complete:
            self._take(message)
            if self._size > self._limit:
                await self._drain()
                self._refused = True
                raise _TooLarge(self._limit)
        return message

    async def send(self, message: Message) -> None:
        """Whoever has not sent all of its body hears no reply before, and 413 if it is too large; whoever waits to be
        told that it may send does not send it in front of its next request."""
        if message["type"] == "http.response.start" and not self._complete and not self._refused:
            if self._waits_for_us:
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            else:
                await self._drain()
                if self._size > self._limit:
                    await self.refuse()
                    return
        if not self._answered:
            await self._send(message)

    async def refuse(self) -> None:
        await self._drain()
        self._answered = True
        reply = JSONResponse(envelope("too_large", _TooLarge(self._limit).detail), 413, {"Connection": "close"})
        await reply(self._scope, self._receive, self._send)

    async def _drain(self) -> None:
        """Let the rest pass unread; not where the client waits to be told that it may send it."""
        exchange = exchange_of(self._scope)
        if exchange is not None and not self._waits_for_us:
            exchange.discard()
        while not self._complete and not self._waits_for_us and self._size <= DRAINED:
            self._take(await self._receive())

    def _take(self, message: Message) -> None:
        if message["type"] == "http.disconnect":
            raise _ClientLeft
        self._size += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)


_JSON = (b"content-type", b"application/json")


class StrictJsonRequest(Request):
    """A request whose body is a JSON object, whatever type it was sent as (RFC-0010's ``curl -d`` says it is a form).

    It is strict: UTF-8, finite numbers, no NUL, no lone surrogate, not too deep.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = scope["headers"]
        if _JSON not in headers:  # FastAPI asks what it is
            scope["headers"] = [*(field for field in headers if field[0] != _JSON[0]), _JSON]
        super().__init__(scope, receive)

    async def json(self) -> Any:
        """Raises ``HTTPException``: 400 for what is not a JSON object, 422 for JSON that can't be kept."""
        if not hasattr(self, "_json"):
            self._json = await self._read()
        return self._json

    async def _read(self) -> dict[str, Any]:
        body = await self.body()
        try:
            value = _DECODER.decode(body.decode())
        except (ValueError, RecursionError):
            raise HTTPException(400, "The body is not JSON.") from None
        if not isinstance(value, dict):
            raise HTTPException(400, "The body must be a JSON object.")
        _check(value, body)
        return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _check(value: Any, body: bytes) -> None:
    if b"\\u" in body or b"\x00" in body:
        _check_text(value)
    if body.count(b"[") + body.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise HTTPException(422, f"The JSON is nested too deeply: at most {DEEPEST} levels.")


def _check_text(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, str) and ("\x00" in item or any("\ud800" <= mark <= "\udfff" for mark in item)):
            raise HTTPException(422, "Text must not hold NUL characters or lone surrogates.")


def _depth(value: Any) -> int:
    deepest, stack = 0, [(value, 1)]
    while stack:
        item, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(item, dict):
            stack += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            stack += [(inner, depth + 1) for inner in item]
    return deepest
