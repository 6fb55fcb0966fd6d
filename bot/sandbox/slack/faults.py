"""Faults on the way to Slack, and with the next envelope of Socket Mode, when switched on."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from bot.sandbox.slack.socket import ServerSocket, SocketMode
from bot.sandbox.vendor import JsonObject


class WebApiFault(Protocol):
    """A fault of one request. ``perform`` executes the request, and returns Slack's reply."""

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response: ...


@dataclass(frozen=True)
class DropAfterStoring:
    """The connection dies after the request was executed; the caller can't tell."""

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response:
        await perform()
        return CutOff()


@dataclass(frozen=True)
class RateLimited:
    retry_after: int = 30

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response:
        said = {"ok": False, "error": "ratelimited"}
        return JSONResponse(said, 429, {"Retry-After": str(self.retry_after)})


class Faults:
    """A queue of faults, each for the next request of one method, or of any if the method is ``*``; and faults that
    every request of a method meets until they are switched off."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, WebApiFault]] = deque()
        self._lasting: dict[str, WebApiFault] = {}

    def next(self, fault: WebApiFault, method: str = "*") -> None:
        self._waiting.append((method, fault))

    def switch_on(self, fault: WebApiFault, method: str = "*") -> None:
        self._lasting[method] = fault

    def switch_off(self, method: str = "*") -> None:
        self._lasting.pop(method, None)

    def is_on(self, method: str = "*") -> bool:
        return method in self._lasting

    def __len__(self) -> int:
        return len(self._waiting)

    def clear(self) -> None:
        self._waiting.clear()
        self._lasting.clear()

    def take(self, method: str) -> WebApiFault | None:
        for position, (wanted, fault) in enumerate(self._waiting):
            if wanted in {"*", method}:
                del self._waiting[position]
                return fault
        return self._lasting.get(method, self._lasting.get("*"))


class CutOff(Response):
    """Closes the connection instead of answering.

    ASGI has no means for that, so this uses the transport of uvicorn, which serves every sandbox.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        cycle = getattr(receive, "__self__", None)
        transport = getattr(cycle, "transport", None)
        if transport is None:
            raise RuntimeError("only a sandbox that uvicorn serves can cut a connection")
        transport.abort()
        while (await receive())["type"] != "http.disconnect":
            pass


@dataclass(frozen=True)
class Duplicated:
    """The envelope is delivered twice, over two sockets if there are two."""

    async def spoil(self, sockets: SocketMode, socket: ServerSocket, envelope: JsonObject) -> None:
        await sockets.one().say(envelope)


@dataclass(frozen=True)
class AckLost:
    """Its acknowledgement comes, and Slack does not hear it."""

    async def spoil(self, sockets: SocketMode, socket: ServerSocket, envelope: JsonObject) -> None:
        await socket.waiting[envelope["envelope_id"]]
        raise TimeoutError
