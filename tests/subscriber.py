"""A subscriber's side: a receiver on loopback that checks signatures as Standard Webhooks has it, and keeps events.

Written from the specification, with nothing of the service's own:
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.patience import PATIENCE


@dataclass(frozen=True)
class Sent:
    """One request, whatever it was answered."""

    webhook_id: str
    body: dict[str, Any]
    status: int

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = self.body["event"]
        return event


@dataclass
class EventReceiver:
    """``answers`` are the statuses of the next requests, ``usual`` that of all after them."""

    secret: str
    usual: int = 204
    answers: list[int] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self._news = asyncio.Event()
        self.app = Starlette(routes=[Route("/events", self._take, methods=["POST"])])

    async def _take(self, request: Request) -> Response:
        body = await request.body()
        webhook_id = request.headers["webhook-id"]
        assert _signature(self.secret, webhook_id, request.headers["webhook-timestamp"], body) in (
            request.headers["webhook-signature"].split(" ")
        )
        status = self.answers.pop(0) if self.answers else self.usual
        self.sent.append(Sent(webhook_id, json.loads(body), status))
        self._news.set()
        return Response(status_code=status)

    @property
    def accepted(self) -> list[Sent]:
        return [one for one in self.sent if one.status < 300]

    @property
    def types(self) -> list[str]:
        return sorted(one.event["event_type"] for one in self.accepted)

    async def expect(self, count: int = 1, within: float = 2 * PATIENCE) -> list[Sent]:
        """Everything that was accepted, once there is so much."""
        async with asyncio.timeout(within):
            while len(self.accepted) < count:
                self._news.clear()
                await self._news.wait()
        return self.accepted


def _signature(secret: str, webhook_id: str, timestamp: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"
