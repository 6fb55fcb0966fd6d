"""An agent's side: a receiver on loopback that verifies callbacks with the SDK and keeps them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from handraise import Resumed, verify_callback
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.patience import PATIENCE


@dataclass(frozen=True)
class Told:
    """One request to the agent, whatever it said to it: the headers, and the body as it was signed."""

    at: datetime
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.body)
        return told

    @property
    def suspension_id(self) -> str:
        return str(self.json["data"]["suspension_id"])


@dataclass
class AgentReceiver:
    """``answers`` are the statuses of the next requests, 200 after they are used up."""

    secret: str
    now: Callable[[], datetime]
    resumed: list[Resumed] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self._news = asyncio.Event()
        self.app = Starlette(routes=[Route("/resume", self._resume, methods=["POST"])])

    async def _resume(self, request: Request) -> Response:
        body = await request.body()
        told = verify_callback(request.headers, body, self.secret, now=self.now())
        self.ids.append(request.headers["webhook-id"])
        self.told.append(Told(self.now(), dict(request.headers), body))
        status = self.answers.pop(0) if self.answers else 200
        if status < 300:
            self.resumed.append(told)
        self._news.set()
        return Response(status_code=status)

    async def expect(self, count: int = 1, within: float = PATIENCE) -> Resumed:
        """The last of ``count`` callbacks, as soon as it is there."""
        async with asyncio.timeout(within):
            while len(self.resumed) < count:
                self._news.clear()
                await self._news.wait()
        return self.resumed[count - 1]

    def told_of(self, asked: Mapping[str, Any]) -> list[Told]:
        """Every request about this question, oldest first."""
        return [one for one in self.told if one.suspension_id == asked["suspension_id"]]
