"""A minimal ASGI server side for a receiver: a body up to a limit, one reply, the lifespan.

Source: https://asgi.readthedocs.io/en/latest/specs/www.html, …/specs/lifespan.html.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReceiverReply:
    """The reply to the server."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def refused(status: int, code: str, **headers: str) -> ReceiverReply:
    """A reply with the reason: ``{"error": code}``. Underscores in names of headers stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ReceiverReply(status, {"content-type": "application/json", **named}, json.dumps({"error": code}).encode())


Respond = Callable[[Mapping[str, str], bytes], Awaitable[ReceiverReply]]


class _HungUp(Exception):
    """The client went away in the middle of its body."""


class _TooLong(Exception):
    """The body is longer than the limit."""


async def serve(
    scope: Scope,
    receive: Receive,
    send: Send,
    respond: Respond,
    longest_body: int,
    *,
    closing: Callable[[], Awaitable[None]],
) -> None:
    """Answer one connection of whatever kind. ``closing`` is awaited when the server stops."""
    match scope["type"]:
        case "http":
            reply = await _reply(scope, receive, respond, longest_body)
            if reply is not None:
                await _send(send, reply)
        case "lifespan":
            await _live(receive, send, closing)
        case "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        case kind:
            raise NotImplementedError(f"There is nothing here for the ASGI scope {kind!r}.")


async def _reply(scope: Scope, receive: Receive, respond: Respond, longest_body: int) -> ReceiverReply | None:
    """``None`` if the client is gone."""
    if scope["method"] != "POST":
        return refused(405, "method_not_allowed", allow="POST")
    headers = _headers(scope["headers"])
    try:
        body = await _body(headers, receive, longest_body)
    except _TooLong:
        # HTTP/1 goes on reading a body that nobody wants, unless the connection ends; HTTP/2 has no such header.
        is_old = str(scope.get("http_version", "1.1")).startswith("1")
        return refused(413, "too_long", **({"connection": "close"} if is_old else {}))
    except _HungUp:
        return None
    return await respond(headers, body)


async def _body(headers: Mapping[str, str], receive: Receive, longest: int) -> bytes:
    """The whole body. A stated length is only used if it is too large: then nothing is read."""
    announced = headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and (len(announced) > 18 or int(announced) > longest):
        raise _TooLong
    parts: list[bytes] = []
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _HungUp
        part = message.get("body", b"")
        length += len(part)
        if length > longest:
            raise _TooLong
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


async def _send(send: Send, reply: ReceiverReply) -> None:
    length = {} if reply.status == 204 else {"content-length": str(len(reply.body))}
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in {**reply.headers, **length}.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": fields})
    await send({"type": "http.response.body", "body": reply.body})


async def _live(receive: Receive, send: Send, closing: Callable[[], Awaitable[None]]) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await closing()
            await send({"type": "lifespan.shutdown.complete"})
            return
