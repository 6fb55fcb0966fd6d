"""What the tests of the pretend PagerDuty share: events, calls, and somebody who subscribed to the webhooks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.pagerduty.world import Incident, User
from bot.sandbox.serving import serving
from tests.vendors.pagerduty import API_TOKEN, PagerDutySandbox

KEY, OTHER_KEY = "R" * 32, "Q" * 32
ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")


class Receiver:
    """Whoever subscribed to the webhooks. ``status`` is what they answer."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 202
        self.arrived = asyncio.Event()
        self.app = Starlette(routes=[Route("/hook", self._take, methods=["POST"])])

    async def _take(self, request: Request) -> Response:
        self.got.append((dict(request.headers), await request.body()))
        self.arrived.set()
        return Response(status_code=self.status)

    @property
    def types(self) -> list[str]:
        return [json.loads(raw)["event"]["event_type"].removeprefix("incident.") for _, raw in self.got]

    async def events(self, count: int) -> list[dict[str, Any]]:
        async with asyncio.timeout(30):
            while len(self.got) < count:
                self.arrived.clear()
                await self.arrived.wait()
        return [json.loads(raw)["event"] for _, raw in self.got]


@asynccontextmanager
async def subscribed(pager: PagerDutySandbox) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with serving(receiver.app) as url:
        pager.webhooks.url = f"{url}/hook"
        yield receiver


def event(**changes: Any) -> dict[str, Any]:
    payload = {"summary": "Refund?", "source": "refund-agent", "severity": "error"} | changes.pop("payload", {})
    return {"routing_key": KEY, "event_action": "trigger", "dedup_key": "k1", "payload": payload} | changes


def resolve(key: str = "k1", routing_key: str = KEY) -> dict[str, Any]:
    return {"routing_key": routing_key, "event_action": "resolve", "dedup_key": key}


async def enqueue(api: httpx.AsyncClient, body: dict[str, Any]) -> httpx.Response:
    return await api.post("/v2/enqueue", json=body)


async def opened(pager: PagerDutySandbox, api: httpx.AsyncClient, **changes: Any) -> Incident:
    """A new incident."""
    assert (await enqueue(api, event(**changes))).status_code == 202
    return pager.incidents[-1]


def rest(token: str = API_TOKEN, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Token token={token}"} | headers
