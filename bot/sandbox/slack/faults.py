"""Faults on the way to Slack, and with the next envelope of Socket Mode, switched on by a test or by the demo."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


@dataclass(frozen=True)
class DropBeforeStoring:
    """The connection dies and nothing has happened; the caller can't tell."""


@dataclass(frozen=True)
class DropAfterStoring:
    """The connection dies although it has happened; the caller can't tell."""


@dataclass(frozen=True)
class RateLimited:
    retry_after: int = 30


@dataclass(frozen=True)
class ServerErrorAfterStoring:
    status: int = 500


@dataclass(frozen=True)
class Slow:
    """It happens, and the answer comes ``seconds`` later, or once ``released`` is set."""

    seconds: float
    released: asyncio.Event = field(default_factory=asyncio.Event, compare=False)


@dataclass(frozen=True)
class SaysNo:
    """``ok: false`` with this code, and nothing has happened."""

    code: str


@dataclass(frozen=True)
class SaysNoAfterStoring:
    """``ok: false`` with this code although it has happened, as Slack documents for ``internal_error``."""

    code: str


Fault = (
    DropBeforeStoring | DropAfterStoring | RateLimited | ServerErrorAfterStoring | Slow | SaysNo | SaysNoAfterStoring
)


class Faults:
    """A queue of faults, each for the next request of one method, or of any where the method is ``*``; and those that
    every request of a method meets until they are switched off.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, Fault]] = deque()
        self._lasting: dict[str, Fault] = {}

    def next(self, fault: Fault, method: str = "*") -> None:
        self._waiting.append((method, fault))

    def switch_on(self, fault: Fault, method: str = "*") -> None:
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

    def take(self, method: str) -> Fault | None:
        for position, (wanted, fault) in enumerate(self._waiting):
            if wanted in {"*", method}:
                del self._waiting[position]
                return fault
        return self._lasting.get(method, self._lasting.get("*"))


class CutOff(Response):
    """Closes the connection instead of answering.

    ASGI has no word for that, so this reaches for the transport of uvicorn, which serves every sandbox.
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
    """It is delivered twice, over two sockets if there are two."""


@dataclass(frozen=True)
class AckLost:
    """Its acknowledgement comes, and Slack does not hear it."""


@dataclass(frozen=True)
class CutAfterDelivery:
    """The connection dies while the service is at it."""


@dataclass(frozen=True)
class RefreshAfterDelivery:
    """Slack wants the socket to be opened anew while the service is at it."""

    reason: str = "refresh_requested"


SocketFault = Duplicated | AckLost | CutAfterDelivery | RefreshAfterDelivery
