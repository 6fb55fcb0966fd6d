"""What no request may do: be too large, or carry bytes that no database can keep. Source: API.md §1."""

from __future__ import annotations

import json
import math
from collections.abc import MutableMapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.web.errors import envelope

LARGEST_BODY = 1024 * 1024
DRAINED = 16 * 1024 * 1024
"""How much of a body that is too large is read all the same: who has sent it all gets to read our 413 rather than a
reset connection."""
DEEPEST = 64
"""How deep JSON may nest."""


class SizeLimit:
    """Refuses bodies above the limit with 413, whatever else is wrong with the request; the rest passes whole."""

    def __init__(self, app: ASGIApp, larger: MutableMapping[str, int] | None = None) -> None:
        self._app = app
        self._larger = larger or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._larger.get(scope["path"], LARGEST_BODY)
        if "\x00" in scope["path"]:
            await JSONResponse(envelope("not_found", "There is nothing at this path."), 404)(scope, receive, send)
            return
        try:
            body = await _body_within(scope, receive, limit)
        except _ClientLeft:
            return
        if body is None:
            await self._refuse(limit)(scope, receive, send)
            return
        await self._app(scope, _replaying(body, receive), send)

    @staticmethod
    def _refuse(limit: int) -> JSONResponse:
        message = f"The body is larger than {limit // (1024 * 1024)} MiB."
        return JSONResponse(envelope("too_large", message), 413, headers={"Connection": "close"})


class _ClientLeft(Exception):
    """Before it had sent everything: half a request is none, and nobody waits for a reply."""


async def _body_within(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """The whole body, ``None`` where it is too large: said beforehand or found out on the way."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if declared.isdigit() and int(declared) > limit:
        await _drain(scope, receive)
        return None
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientLeft
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            if message.get("more_body", False):
                await _drain(scope, receive)
            return None
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def _drain(scope: Scope, receive: Receive) -> None:
    """Let the rest pass unread; not where the client waits to be told that it may send it."""
    if any(name == b"expect" for name, _ in scope["headers"]):
        return
    size = 0
    while size <= DRAINED:
        message = await receive()
        size += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return


def _replaying(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class StrictJsonRequest(Request):
    """A request whose JSON is an object, and strict: UTF-8, finite numbers, no NUL, no lone surrogate, not too deep."""

    async def json(self) -> Any:
        """Raises ``HTTPException``: 400 for what is not a JSON object, 422 for JSON that can't be kept."""
        if not hasattr(self, "_json"):
            self._json = await self._read()
        return self._json

    async def _read(self) -> dict[str, Any]:
        if not _is_json(self.headers.get("content-type", "")):
            raise HTTPException(400, "The body must be sent as application/json.")
        body = await self.body()
        try:
            value = json.loads(body.decode(), parse_constant=_refuse_constant, parse_float=_finite)
        except (ValueError, RecursionError):
            raise HTTPException(400, "The body is not JSON.") from None
        if not isinstance(value, dict):
            raise HTTPException(400, "The body must be a JSON object.")
        _check(value, body)
        return value


def _is_json(content_type: str) -> bool:
    main, _, sub = content_type.partition(";")[0].strip().lower().partition("/")
    return main == "application" and (sub == "json" or sub.endswith("+json"))


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


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
