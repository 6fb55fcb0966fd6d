"""More faults of the pretend Slack, for the next request of the Web API and the next envelope of Socket Mode."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.sandbox.slack.faults import CutOff
from bot.sandbox.slack.socket import ServerSocket, SocketMode
from bot.sandbox.vendor import JsonObject


@dataclass(frozen=True)
class DropBeforeStoring:
    """The connection dies and nothing has happened; the caller can't tell."""

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response:
        return CutOff()


@dataclass(frozen=True)
class ServerErrorAfterStoring:
    status: int = 500

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response:
        await perform()
        return Response("<html>Server Error</html>", self.status, media_type="text/html")


@dataclass(frozen=True)
class Slow:
    """It happens, and the answer comes ``seconds`` later, or once ``released`` is set."""

    seconds: float
    released: asyncio.Event = field(default_factory=asyncio.Event, compare=False)

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response:
        """The body is read, so that all that can still come is that the caller hangs up: then nobody waits any more."""
        said = await perform()
        ends = [asyncio.ensure_future(request.receive()), asyncio.ensure_future(self.released.wait())]
        await asyncio.wait(ends, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        return JSONResponse(said)


@dataclass(frozen=True)
class SaysNo:
    """``ok: false`` with this code, and nothing has happened."""

    code: str

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response:
        return JSONResponse({"ok": False, "error": self.code})


@dataclass(frozen=True)
class SaysNoAfterStoring:
    """``ok: false`` with this code although it has happened, as Slack documents for ``internal_error``."""

    code: str

    async def meet(self, request: Request, perform: Callable[[], Awaitable[JsonObject]]) -> Response:
        await perform()
        return JSONResponse({"ok": False, "error": self.code})


@dataclass(frozen=True)
class CutAfterDelivery:
    """The connection dies while the service is at it."""

    async def spoil(self, sockets: SocketMode, socket: ServerSocket, envelope: JsonObject) -> None:
        socket.cut()


@dataclass(frozen=True)
class RefreshAfterDelivery:
    """Slack wants the socket to be opened anew while the service is at it."""

    reason: str = "refresh_requested"

    async def spoil(self, sockets: SocketMode, socket: ServerSocket, envelope: JsonObject) -> None:
        await sockets.let_go(socket, self.reason)
