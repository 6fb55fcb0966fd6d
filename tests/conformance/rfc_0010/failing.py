"""What every test of RFC-0010 needs: an intent, its policy, failures, and a fallback agent with a URL of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from standardwebhooks import Webhook
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.world import World, config

OWNER, BACKUP = "refund-agent", "other-agent"
"""Keys; here both have a webhook secret (``conftest.py``)."""
BACKUP_SECRET = "whsec_" + "QmFja3VwQmFja3VwQmFja3VwQmFja3Vw"
EXPONENTIAL: Mapping[str, Any] = {"strategy": "exponential", "fallback_agent_id": BACKUP}
EVEN = 0.5
"""What draws no spread at all."""


def keys() -> list[dict[str, Any]]:
    """As everywhere, but that the backup has a secret of its own."""
    keys: list[dict[str, Any]] = config("", {})["api_keys"]
    return [one | ({"webhook_secrets": [BACKUP_SECRET]} if one["name"] == BACKUP else {}) for one in keys]


async def set_policy(world: World, intent: Mapping[str, Any], role: str = "agent", **policy: Any) -> httpx.Response:
    return await world.call("PUT", f"/v1/intents/{intent['id']}/retry-policy", role, json=policy)


async def intent_with(world: World, **policy: Any) -> dict[str, Any]:
    """An active intent of the agent's, with this policy."""
    intent = await world.active_intent()
    response = await set_policy(world, intent, **policy)
    assert response.status_code == 200, response.text
    return intent


async def post_failure(world: World, intent: Mapping[str, Any], role: str = "agent", **failure: Any) -> httpx.Response:
    return await world.call("POST", f"/v1/intents/{intent['id']}/failures", role, json=failure)


async def fail(world: World, intent: Mapping[str, Any], role: str = "agent", **failure: Any) -> dict[str, Any]:
    response = await post_failure(world, intent, role, **{"error_code": "TIMEOUT", **failure})
    assert response.status_code == 200, response.text
    recorded: dict[str, Any] = response.json()
    return recorded


async def failures(world: World, intent: Mapping[str, Any], role: str = "agent") -> list[dict[str, Any]]:
    response = await world.call("GET", f"/v1/intents/{intent['id']}/failures", role)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["failures"]
    return found


async def logged(world: World, intent: Mapping[str, Any], *types: str) -> list[dict[str, Any]]:
    """The payloads of the intent's events of these types, oldest first."""
    events = await world.events({"intent_id": intent["id"]})
    return [event["payload"] for event in events if event["event_type"] in types]


async def members(world: World, intent: Mapping[str, Any]) -> dict[str, str]:
    """The role of each."""
    response = await world.call("GET", f"/v1/intents/{intent['id']}/agents", "admin")
    return {one["agent_id"]: one["role"] for one in response.json()["agents"]}


@dataclass
class Backup:
    """The fallback agent's own receiver; what it took was signed with its secret. ``answers`` are the statuses of the
    next requests, 200 after they are used up."""

    told: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    url: str = ""

    async def take(self, request: Request) -> Response:
        body = await request.body()
        webhook_id, at = request.headers["webhook-id"], int(request.headers["webhook-timestamp"])
        expected = Webhook(BACKUP_SECRET).sign(webhook_id, datetime.fromtimestamp(at, UTC), body.decode())
        assert expected in request.headers["webhook-signature"].split()
        self.told.append(json.loads(body))
        self.ids.append(webhook_id)
        return Response(status_code=self.answers.pop(0) if self.answers else 200)


@asynccontextmanager
async def backup_receiver() -> AsyncIterator[Backup]:
    backup = Backup()
    async with serving(Starlette(routes=[Route("/told", backup.take, methods=["POST"])])) as url:
        backup.url = f"{url}/told"
        yield backup
