"""Coordinators in stories."""

from __future__ import annotations

from typing import Any

from tests.world import World


async def coordinate(world: World, **fields: Any) -> dict[str, Any]:
    """The agent names the other one."""
    response = await world.call("POST", "/v1/coordinators", json={"agent_id": "other-agent", **fields})
    assert response.status_code == 200, response.text
    made: dict[str, Any] = response.json()
    return made


async def put_question(world: World, intent_id: str) -> dict[str, Any]:
    body = {"question": "Go on?", "choices": ["yes"]}
    response = await world.call("POST", f"/v1/intents/{intent_id}/suspend", json=body)
    assert response.status_code == 201, response.text
    asked: dict[str, Any] = response.json()
    return asked


async def calls(world: World, intent_id: str) -> list[dict[str, Any]]:
    """What the log of an intent says to coordinators."""
    events = await world.events({"intent_id": intent_id})
    return [one["payload"] for one in events if one["event_type"] == "coordinator.escalation_required"]
