"""Claiming the task of a phase: with all its inputs, or not at all (RFC-0024; RFC-0026 §6, §9)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.workflows import complete, make_workflow, phase_of, report
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def claim(world: World, phase: dict[str, Any]) -> httpx.Response:
    return await world.call("POST", f"/v1/tasks/{phase['task_id']}/claim")


async def suspend(world: World, intent_id: str) -> dict[str, Any]:
    body = {"question": "Go on?", "choices": ["yes"], "timeout_seconds": 3600}
    response = await world.call("POST", f"/v1/intents/{intent_id}/suspend", json=body)
    assert response.status_code == 201, response.text
    asked: dict[str, Any] = response.json()
    return asked


async def test_a_claim_waits_for_a_person_and_succeeds_after(any_room: World) -> None:
    made = await make_workflow(any_room, report())
    fetch, review = made["phases"]
    asked = await suspend(any_room, fetch["intent_id"])
    refused = await claim(any_room, review)
    detail = refused.json()["detail"]
    assert (refused.status_code, detail["error"]) == (409, "upstream_intent_suspended")
    assert {name: detail[name] for name in ("task_id", "phase_name", "suspended_intent_id", "expected_resume_at")} == {
        "task_id": review["task_id"],
        "phase_name": "review",
        "suspended_intent_id": fetch["intent_id"],
        "expected_resume_at": asked["expires_at"],
    }
    assert 1 <= int(refused.headers["Retry-After"]) <= 3600
    assert (await any_room.call("GET", f"/v1/tasks/{review['task_id']}")).json()["status"] == "pending"
    await any_room.answer(asked, "yes")
    early = (await claim(any_room, review)).json()["detail"]
    assert (early["error"], early["phases"]) == ("dependencies_incomplete", ["fetch"])
    await complete(any_room, fetch, {"rows": [1, 2]})
    taken = await claim(any_room, review)
    assert (taken.status_code, taken.json()["status"], taken.json()["input"]) == (200, "claimed", {"rows": [1, 2]})


@pytest.mark.parametrize("status", ["claimed", "running"])
async def test_a_task_that_is_taken_up_by_its_status_is_held_to_the_same(any_room: World, status: str) -> None:
    made = await make_workflow(any_room, report())
    fetch, review = made["phases"]
    asked = await suspend(any_room, fetch["intent_id"])

    async def take_up() -> httpx.Response:
        shown = (await any_room.call("GET", f"/v1/tasks/{review['task_id']}")).json()
        headers = {"If-Match": str(shown["version"])}
        return await any_room.call("PATCH", f"/v1/tasks/{shown['id']}", json={"status": status}, headers=headers)

    refused = await take_up()
    detail = refused.json()["detail"]
    assert (refused.status_code, detail["error"]) == (409, "upstream_intent_suspended")
    assert (detail["phase_name"], detail["suspended_intent_id"]) == ("review", fetch["intent_id"])
    await any_room.answer(asked, "yes")
    assert (await take_up()).json()["detail"]["error"] == "dependencies_incomplete"
    await complete(any_room, fetch, {"rows": [1, 2]})
    assert (await any_room.call("GET", f"/v1/tasks/{review['task_id']}")).json()["status"] == "ready"
    taken = (await take_up()).json()
    assert (taken["status"], taken["input"]) == (status, {"rows": [1, 2]})


async def test_a_phase_that_waits_itself_is_named_when_its_task_is_claimed(any_room: World) -> None:
    made = await make_workflow(any_room, report())
    fetch = phase_of(made, "fetch")
    await suspend(any_room, fetch["intent_id"])
    detail = (await claim(any_room, fetch)).json()["detail"]
    assert (detail["error"], detail["phase_name"]) == ("upstream_intent_suspended", "fetch")
    assert detail["suspended_intent_id"] == fetch["intent_id"]


async def test_inputs_come_from_the_task_before_the_intents_state_and_from_the_start(any_room: World) -> None:
    takes = {"x": "a.x", "y": "a.y", "day": "$trigger.day"}
    phases = [{"name": "a", "outputs": {"x": "any", "y": "any"}}, {"name": "b", "inputs": takes}]
    made = await make_workflow(any_room, phases, trigger={"day": "monday"})
    a, b = made["phases"]
    output = {"output": {"x": "of the task"}}
    await any_room.call("PATCH", f"/v1/tasks/{a['task_id']}", json=output, headers={"If-Match": "1"})
    await complete(any_room, a, {"x": "of the state", "y": "of the state"})
    assert (await claim(any_room, b)).json()["input"] == {"x": "of the task", "y": "of the state", "day": "monday"}


async def test_references_that_lead_to_nothing_are_named(any_room: World) -> None:
    optional = {"x": {"type": "any", "required": False}}
    phases = [{"name": "a", "outputs": optional}, {"name": "b", "inputs": {"x": "a.x", "day": "$trigger.day"}}]
    made = await make_workflow(any_room, phases)
    await complete(any_room, phase_of(made, "a"))
    detail = (await claim(any_room, phase_of(made, "b"))).json()["detail"]
    assert (detail["error"], detail["unresolvable"]) == ("unresolvable_input", ["a.x", "$trigger.day"])


async def test_no_scope_is_taken_while_one_that_inputs_come_from_waits(any_room: World) -> None:
    made = await make_workflow(any_room, report())
    fetch, review = made["phases"]
    asked = await suspend(any_room, fetch["intent_id"])
    path, body = f"/v1/intents/{review['intent_id']}/leases", {"scope": "all", "duration_seconds": 60}
    refused = await any_room.call("POST", path, json=body)
    detail = refused.json()["detail"]
    assert (refused.status_code, detail["error"]) == (409, "upstream_intent_suspended")
    assert (detail["phase_name"], detail["suspended_intent_id"]) == ("review", fetch["intent_id"])
    assert "lease" not in refused.text
    await any_room.answer(asked, "yes")
    assert (await any_room.call("POST", path, json=body)).status_code == 200


async def test_nor_is_it_where_the_published_client_has_made_the_workflow(any_room: World) -> None:
    upstream = await any_room.active_intent("Fetch the data")
    other = await any_room.active_intent("Something else")
    state = {"_io_inputs": {"rows": "fetch.rows"}, "_io_dep_title_to_name": {"Fetch the data": "fetch"}}
    fields = {"title": "Review", "status": "active", "depends_on": [upstream["id"], other["id"]], "state": state}
    intent = (await any_room.call("POST", "/v1/intents", json=fields)).json()
    path, body = f"/v1/intents/{intent['id']}/leases", {"scope": "all", "duration_seconds": 60}
    await suspend(any_room, other["id"])
    assert (await any_room.call("POST", path, json=body)).status_code == 200
    asked = await suspend(any_room, upstream["id"])
    refused = (await any_room.call("POST", path, json={**body, "scope": "more"})).json()["detail"]
    assert (refused["error"], refused["phase_name"]) == ("upstream_intent_suspended", "Review")
    assert refused["suspended_intent_id"] == upstream["id"]
    assert refused["expected_resume_at"] == asked["expires_at"]
