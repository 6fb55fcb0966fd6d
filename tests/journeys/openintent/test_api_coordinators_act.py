"""What coordinators have done when an intent is suspended, on both databases (RFC-0026 §3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.openintent.coordinating import calls, coordinate, put_question
from tests.workflows import complete, make_workflow, phase_of, shown_workflow
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

WIRED: list[dict[str, Any]] = [
    {"name": "a", "outputs": {"x": {"type": "any", "required": False}}},
    {"name": "b", "inputs": {"x": "a.x"}},
    {"name": "c"},
]


async def statuses(world: World, made: dict[str, Any]) -> dict[str, str]:
    return {phase["name"]: phase["status"] for phase in (await shown_workflow(world, made))["phases"]}


async def under_a_coordinator(world: World, policy: str) -> tuple[dict[str, Any], dict[str, Any]]:
    parent = await world.active_intent()
    coordinator = await coordinate(world, intent_id=parent["id"], suspension_policy=policy)
    return await make_workflow(world, WIRED, parent_intent_id=parent["id"]), coordinator


@pytest.mark.parametrize("policy", ["isolate", "escalate"])
async def test_a_phase_that_takes_outputs_goes_on_unless_it_is_to_be_blocked(room: World, policy: str) -> None:
    made, _ = await under_a_coordinator(room, policy)
    await put_question(room, phase_of(made, "a")["intent_id"])
    assert await statuses(room, made) == {"a": "suspended_awaiting_input", "b": "active", "c": "active"}


async def test_phases_that_take_outputs_are_blocked_until_those_are_there(any_room: World) -> None:
    made, _ = await under_a_coordinator(any_room, "block_dependents")
    a, b = phase_of(made, "a"), phase_of(made, "b")
    asked = await put_question(any_room, a["intent_id"])
    assert await statuses(any_room, made) == {"a": "suspended_awaiting_input", "b": "blocked", "c": "active"}
    headers = {"If-Match": str((await any_room.intent(b))["version"])}
    for wanted in ("active", "completed"):
        path, body = f"/v1/intents/{b['intent_id']}/status", {"status": wanted}
        own = await any_room.call("POST", path, json=body, headers=headers)
        assert (own.status_code, own.json()["detail"]["error"]) == (409, "dependencies_incomplete")
    await any_room.answer(asked, "yes")
    assert (await statuses(any_room, made))["b"] == "blocked"
    await complete(any_room, a)
    assert (await statuses(any_room, made))["b"] == "active"


async def test_one_that_waits_for_a_person_itself_is_blocked_when_that_ends(any_room: World) -> None:
    made, _ = await under_a_coordinator(any_room, "block_dependents")
    own = await put_question(any_room, phase_of(made, "b")["intent_id"])
    await put_question(any_room, phase_of(made, "a")["intent_id"])
    await any_room.answer(own, "yes")
    assert (await statuses(any_room, made))["b"] == "blocked"


async def test_who_lifts_its_own_block_is_blocked_by_the_coordinator(any_room: World) -> None:
    made, _ = await under_a_coordinator(any_room, "block_dependents")
    path = f"/v1/intents/{phase_of(made, 'b')['intent_id']}/status"
    await any_room.call("POST", path, json={"status": "blocked"}, headers={"If-Match": "1"})
    await put_question(any_room, phase_of(made, "a")["intent_id"])
    lifted = await any_room.call("POST", path, json={"status": "active"}, headers={"If-Match": "2"})
    assert (lifted.status_code, lifted.json()["status"]) == (200, "blocked")


async def test_a_coordinator_is_called_in_the_log_of_the_suspended_intent(any_room: World) -> None:
    made, coordinator = await under_a_coordinator(any_room, "escalate")
    a = phase_of(made, "a")
    asked = await put_question(any_room, a["intent_id"])
    assert await calls(any_room, a["intent_id"]) == [
        {
            "coordinator_id": coordinator["id"],
            "agent_id": "other-agent",
            "intent_id": a["intent_id"],
            "suspension_id": asked["suspension_id"],
            "reason": "intent_suspended",
        }
    ]
    parent = await any_room.intent({"intent_id": made["parent_intent_id"]})
    assert parent["status"] == "active"


async def test_a_coordinator_looks_after_the_children_of_children(any_room: World) -> None:
    top = await any_room.active_intent()
    await coordinate(any_room, intent_id=top["id"], suspension_policy="escalate")
    line = [top["id"]]
    for _ in range(3):
        body = {"title": "Step", "status": "active", "parent_intent_id": line[-1]}
        line.append((await any_room.call("POST", "/v1/intents", json=body)).json()["id"])
    beside = await any_room.active_intent()
    for intent_id in (line[-1], beside["id"]):
        await put_question(any_room, intent_id)
    assert [len(await calls(any_room, one)) for one in (line[-1], top["id"], beside["id"])] == [1, 0, 0]


async def test_a_portfolios_coordinator_looks_after_its_members(any_room: World) -> None:
    portfolio = (await any_room.call("POST", "/v1/portfolios", json={"name": "March"})).json()
    await coordinate(any_room, portfolio_id=portfolio["id"], suspension_policy="escalate")
    member, other = await any_room.active_intent(), await any_room.active_intent()
    added = await any_room.call("POST", f"/v1/portfolios/{portfolio['id']}/intents", json={"intent_id": member["id"]})
    assert added.status_code == 200, added.text
    for one in (member, other):
        await put_question(any_room, one["id"])
    assert [len(await calls(any_room, one["id"])) for one in (member, other)] == [1, 0]


@pytest.mark.parametrize("change", [{"status": "paused"}, {"status": "completed"}])
async def test_one_that_is_paused_or_done_has_nothing_to_say(room: World, change: dict[str, str]) -> None:
    made, coordinator = await under_a_coordinator(room, "escalate")
    path = f"/v1/coordinators/{coordinator['id']}"
    await room.call("PATCH", path, json=change, headers={"If-Match": "1"})
    a = phase_of(made, "a")
    await put_question(room, a["intent_id"])
    assert await calls(room, a["intent_id"]) == []


async def test_a_coordinator_is_called_when_what_an_intent_depends_on_is_abandoned(any_room: World) -> None:
    made, coordinator = await under_a_coordinator(any_room, "isolate")
    a, b = phase_of(made, "a"), phase_of(made, "b")
    path = f"/v1/intents/{a['intent_id']}/status"
    await any_room.call("POST", path, json={"status": "abandoned"}, headers={"If-Match": "1"})
    types = [one["event_type"] for one in await any_room.events(b)]
    assert "intent.dependency_failed" in types
    [called] = await calls(any_room, b["intent_id"])
    assert (called["coordinator_id"], called["intent_id"]) == (coordinator["id"], b["intent_id"])
    assert called["reason"] == "dependency_abandoned"
