"""Workflows as they go on: phase after phase, on both databases (RFC-0024; RFC-0026 §2 rule 4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workflows import complete, make_workflow, phase_of, report, shown_workflow
from tests.world import World

in_room = pytest.mark.asyncio(loop_scope="module")


@in_room
async def test_each_phase_is_an_intent_with_a_task(any_room: World) -> None:
    made = await make_workflow(any_room, report())
    fetch, review = made["phases"]
    assert (fetch["status"], fetch["task_status"]) == ("active", "ready")
    assert (review["status"], review["task_status"], review["title"]) == ("blocked", "pending", "Compliance review")
    intent = await any_room.intent({"intent_id": review["intent_id"]})
    assert intent["depends_on"] == [fetch["intent_id"]]
    assert intent["created_by"] == made["created_by"] == "refund-agent"
    assert intent["state"] == {
        "_io_inputs": {"rows": "fetch.rows"},
        "_io_outputs": {"verdict": {"type": "string", "required": True}},
        "_io_dep_title_to_name": {"fetch": "fetch"},
    }
    task = (await any_room.call("GET", f"/v1/tasks/{review['task_id']}")).json()
    assert (task["intent_id"], task["name"]) == (review["intent_id"], "review")
    changes = [one["payload"] for one in await any_room.events(review) if one["event_type"] == "status_changed"]
    assert changes == [{"from": "active", "to": "blocked", "reason": "dependencies_incomplete"}]
    assert await shown_workflow(any_room, made) == made


@in_room
async def test_the_next_phase_goes_on_when_all_that_it_depends_on_is_completed(any_room: World) -> None:
    phases = [{"name": "a"}, {"name": "b"}, {"name": "c", "depends_on": ["a", "b"]}]
    made = await make_workflow(any_room, phases)
    await complete(any_room, phase_of(made, "a"))
    assert phase_of(await shown_workflow(any_room, made), "c")["task_status"] == "pending"
    await complete(any_room, phase_of(made, "b"))
    after = await shown_workflow(any_room, made)
    assert (phase_of(after, "c")["status"], phase_of(after, "c")["task_status"]) == ("active", "ready")
    ready = [one for one in await any_room.events(phase_of(made, "c")) if one["event_type"] == "task.ready"]
    task_id = phase_of(made, "c")["task_id"]
    assert [one["payload"] for one in ready] == [
        {"task_id": task_id, "name": "c", "status": "ready", "from": "pending"}
    ]
    assert after["progress"]["completion_percentage"] == 66.67
    assert after["progress"]["by_status"]["completed"] == 2


@in_room
async def test_a_phase_that_only_takes_outputs_is_active_from_the_start(any_room: World) -> None:
    phases = [{"name": "a", "outputs": {"x": "any"}}, {"name": "b", "inputs": {"x": "a.x"}}]
    made = await make_workflow(any_room, phases)
    assert (phase_of(made, "b")["status"], phase_of(made, "b")["task_status"]) == ("active", "pending")
    a = phase_of(made, "a")
    await any_room.call("POST", f"/v1/intents/{a['intent_id']}/suspend", json={"question": "Go?", "choices": ["y"]})
    after = await shown_workflow(any_room, made)
    assert phase_of(after, "b")["status"] == "active"


@in_room
async def test_a_phase_that_waits_for_a_person_is_shown_as_such(any_room: World) -> None:
    made = await make_workflow(any_room, report())
    fetch = phase_of(made, "fetch")
    body = {"question": "Go?", "choices": ["yes"], "timeout_seconds": 3600}
    asked = (await any_room.call("POST", f"/v1/intents/{fetch['intent_id']}/suspend", json=body)).json()
    progress = (await shown_workflow(any_room, made))["progress"]
    assert progress["suspended_phases"] == [
        {
            "phase_name": "fetch",
            "intent_id": fetch["intent_id"],
            "suspended_since": asked["suspended_at"],
            "expires_at": asked["expires_at"],
        }
    ]
    assert progress["by_status"]["suspended_awaiting_input"] == 1
    await any_room.answer(asked, "yes")
    assert (await shown_workflow(any_room, made))["progress"]["suspended_phases"] == []


async def test_workflows_are_listed_newest_first_in_pages(any_world: World) -> None:
    made = []
    for number in range(3):
        made.append((await make_workflow(any_world, [{"name": "a"}], name=f"w{number}"))["id"])
        await any_world.advance(seconds=1)
    first = (await any_world.call("GET", "/v1/workflows?limit=2")).json()
    rest = (await any_world.call("GET", f"/v1/workflows?limit=2&cursor={first['next_cursor']}")).json()
    assert [one["id"] for one in first["items"] + rest["items"]] == made[::-1]
    assert rest["next_cursor"] is None


@in_room
async def test_a_thousand_phases_are_made_at_once(any_room: World) -> None:
    phases = [{"name": "p0"}, *({"name": f"p{number}", "depends_on": [f"p{number - 1}"]} for number in range(1, 1000))]
    made = await make_workflow(any_room, phases)
    assert made["progress"]["by_status"]["blocked"] == 999


@in_room
async def test_a_phase_is_completed_with_every_output_that_it_declares(any_room: World) -> None:
    made = await make_workflow(
        any_room, [{"name": "a", "outputs": {"x": "number", "y": {"type": "any", "required": False}}}]
    )
    phase = phase_of(made, "a")
    missing = await complete(any_room, phase, expect=409)
    assert (missing["detail"]["error"], missing["detail"]["missing"]) == ("missing_output", ["x"])
    task, version = f"/v1/tasks/{phase['task_id']}", {"If-Match": "1"}
    body: dict[str, Any] = {"status": "running", "output": {"x": "one"}}
    assert (await any_room.call("PATCH", task, json=body, headers=version)).status_code == 200
    wrong = await complete(any_room, phase, expect=409)
    assert (wrong["detail"]["error"], wrong["detail"]["mismatched"]) == ("output_type_mismatch", ["x"])
    done = {"status": "completed"}
    refusal = await any_room.call("PATCH", task, json=done, headers={"If-Match": "2"})
    assert (refusal.status_code, refusal.json()["detail"]["error"]) == (409, "output_type_mismatch")
    given = await any_room.call("PATCH", task, json={**done, "output": {"x": 1}}, headers={"If-Match": "2"})
    assert (given.status_code, given.json()["status"]) == (200, "completed")
    await complete(any_room, phase)
