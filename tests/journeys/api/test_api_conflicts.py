"""The 409s of asking (API.md §2), and that they leave everything as it was."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "Deploy?", "response_type": "confirm"}


async def suspend(world: World, intent: dict[str, Any], role: str = "agent", **fields: Any) -> httpx.Response:
    return await world.call("POST", f"/v1/intents/{intent['id']}/suspend", role, json={**QUESTION, **fields})


def is_conflict(response: httpx.Response, code: str) -> None:
    assert (response.status_code, response.json()["detail"]["error"]) == (409, code), response.text


async def moved(world: World, *statuses: str) -> dict[str, Any]:
    """An intent that has gone this way from draft."""
    intent: dict[str, Any] = (await world.call("POST", "/v1/intents", json={"title": "t"})).json()
    for status in statuses:
        headers = {"If-Match": str(intent["version"])}
        path = f"/v1/intents/{intent['id']}/status"
        response = await world.call("POST", path, json={"status": status}, headers=headers)
        assert response.status_code == 200, response.text
        intent = response.json()
    return intent


@pytest.mark.parametrize(
    "statuses", [(), ("active", "completed"), ("active", "abandoned"), ("active", "blocked"), ("abandoned",)]
)
async def test_only_an_active_intent_can_be_suspended(room: World, statuses: tuple[str, ...]) -> None:
    intent = await moved(room, *statuses)
    is_conflict(await suspend(room, intent), "intent_not_active")
    after = await room.intent({"intent_id": intent["id"]})
    assert (after["status"], after["version"]) == (intent["status"], intent["version"])


async def test_an_intent_waits_for_one_answer_at_a_time(room: World) -> None:
    intent = await room.active_intent()
    first = (await suspend(room, intent)).json()
    response = await suspend(room, intent)
    is_conflict(response, "already_suspended")
    assert first["suspension_id"] not in response.text
    assert (await room.show(first))["status"] == "open"


async def test_a_signal_id_belongs_to_one_open_suspension(room: World) -> None:
    first = await room.ask(resume={"signal_id": "sig-1"})
    response = await room.call("POST", "/v1/suspensions", json={**QUESTION, "resume": {"signal_id": "sig-1"}})
    is_conflict(response, "signal_id_in_use")
    intent = await room.active_intent()
    is_conflict(await suspend(room, intent, resume={"signal_id": "sig-1"}), "signal_id_in_use")
    assert (await room.intent({"intent_id": intent["id"]}))["status"] == "active"
    await room.answer(first, "approve")
    assert (await suspend(room, intent, resume={"signal_id": "sig-1"})).status_code == 201


async def test_another_agents_intent_is_not_there(room: World) -> None:
    intent = await room.active_intent()
    response = await suspend(room, intent, "other_agent")
    assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")
    assert (await room.intent({"intent_id": intent["id"]}))["status"] == "active"


async def test_an_unknown_intent_is_404(room: World) -> None:
    response = await suspend(room, {"id": "3f0c1b1e-0000-4000-8000-000000000000"})
    assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")
