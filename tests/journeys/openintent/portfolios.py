"""Portfolios of the tests: made and filled over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.world import World

QUESTION = {"question": "Refund?", "response_type": "confirm"}


async def portfolio_of(world: World, caller: str = "agent", *intents: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A new portfolio with these intents in it."""
    response = await world.call("POST", "/v1/portfolios", caller, json={"name": "Release 7", **fields})
    assert response.status_code == 200, response.text
    made: dict[str, Any] = response.json()
    for intent in intents:
        await put_in(world, made, intent, caller)
    return made


async def put_in(
    world: World, portfolio: dict[str, Any], intent: dict[str, Any], caller: str = "agent", **fields: Any
) -> dict[str, Any]:
    path = f"/v1/portfolios/{portfolio['id']}/intents"
    response = await world.call("POST", path, caller, json={"intent_id": intent["id"], **fields})
    assert response.status_code == 200, response.text
    member: dict[str, Any] = response.json()
    return member


async def shown(world: World, portfolio: dict[str, Any], role: str = "agent") -> dict[str, Any]:
    response = await world.call("GET", f"/v1/portfolios/{portfolio['id']}", role)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def suspend(world: World, intent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    body = {**QUESTION, "timeout_seconds": 86_400, "resume": {"callback_url": world.agent.url}, **fields}
    response = await world.call("POST", f"/v1/intents/{intent['id']}/suspend", json=body)
    assert response.status_code == 201, response.text
    await world.settle()
    asked: dict[str, Any] = response.json()
    return asked


async def move(world: World, intent: dict[str, Any], status: str) -> None:
    now = (await world.call("GET", f"/v1/intents/{intent['id']}", "admin")).json()
    headers = {"If-Match": str(now["version"])}
    response = await world.call(
        "POST", f"/v1/intents/{intent['id']}/status", "admin", json={"status": status}, headers=headers
    )
    assert response.status_code == 200, response.text


def at(world: World, **later: float) -> str:
    """So much later than now, as the wire has it."""
    return (world.clock.now() + timedelta(**later)).isoformat()


async def ended_with(world: World, portfolio: dict[str, Any], status: str, role: str = "agent") -> int:
    """The status of the reply to an attempt to end it so."""
    path = f"/v1/portfolios/{portfolio['id']}/status"
    return (await world.call("PATCH", path, role, json={"status": status})).status_code
