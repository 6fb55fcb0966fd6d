"""Workflows: made at once, wired, and how far they have come (RFC-0024; API.md §7)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.workflows import make_workflow
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def refused(world: World, phases: list[dict[str, Any]], **fields: Any) -> httpx.Response:
    return await world.call("POST", "/v1/workflows", json={"name": "Compliance", "phases": phases, **fields})


async def test_what_a_workflow_is_started_with_is_where_its_agents_look(room: World) -> None:
    phase = {"name": "fetch", "inputs": {"day": "$trigger.day", "limit": "$initial_state.limit"}, "state": {"own": 1}}
    made = await make_workflow(room, [phase], trigger={"day": "monday", "more": 1}, initial_state={"limit": 5})
    intent = await room.intent(made["phases"][0])
    assert {name: intent["state"][name] for name in ("day", "limit", "own")} == {"day": "monday", "limit": 5, "own": 1}
    assert "more" not in intent["state"]


async def test_a_phase_is_its_parents_child(room: World) -> None:
    parent = await room.active_intent()
    made = await make_workflow(room, [{"name": "a"}], parent_intent_id=parent["id"])
    assert (await room.intent(made["phases"][0]))["parent_intent_id"] == parent["id"]
    path, version = f"/v1/intents/{parent['id']}/status", {"If-Match": "1"}
    early = await room.call("POST", path, json={"status": "completed"}, headers=version)
    assert (early.status_code, early.json()["detail"]["error"]) == (409, "dependencies_incomplete")


async def test_the_agent_of_a_phase_is_a_member_of_its_intent(room: World) -> None:
    made = await make_workflow(room, [{"name": "a", "assigned_agent": "other-agent"}, {"name": "b"}])
    for phase, found in zip(made["phases"], (200, 404), strict=True):
        path = f"/v1/tasks/{phase['task_id']}"
        assert (await room.call("GET", path, "other_agent")).status_code == found
    assert [phase["assigned_agent"] for phase in made["phases"]] == ["other-agent", None]


@pytest.mark.parametrize(
    ("phases", "status", "path"),
    [
        ([{"name": "a"}, {"name": "a"}], 422, "phases.1.name"),
        ([{"name": "a", "depends_on": ["b"]}], 422, "phases.0.depends_on.0"),
        ([{"name": "a", "depends_on": ["a"]}], 400, "phases.0.depends_on"),
        ([{"name": "a", "depends_on": ["b"]}, {"name": "b", "depends_on": ["a"]}], 400, "phases.0.depends_on"),
        ([{"name": "a", "inputs": {"x": "b.x"}}], 422, "phases.0.inputs.x"),
        ([{"name": "a"}, {"name": "b", "inputs": {"x": "a.x"}}], 422, "phases.1.inputs.x"),
        ([{"name": "a", "inputs": {"x": "$env.x"}}], 422, "phases.0.inputs.x"),
        ([{"name": "a", "assigned_agent": "two\nlines"}], 422, "phases.0.assigned_agent"),
        ([{"name": "a.b"}], 422, "phases.0.name"),
        ([], 422, "phases"),
        ([{"name": f"p{number}"} for number in range(1001)], 422, "phases"),
    ],
)
async def test_wiring_that_does_not_fit_makes_nothing(
    room: World, phases: list[dict[str, Any]], status: int, path: str
) -> None:
    before = (await room.call("GET", "/v1/intents?limit=200")).json()
    reply = await refused(room, phases)
    assert reply.status_code == status, reply.text
    assert [one["path"] for one in reply.json()["detail"]["fields"]] == [path]
    assert (await room.call("GET", "/v1/intents?limit=200")).json() == before


async def test_a_parent_that_the_caller_does_not_find_is_refused(room: World) -> None:
    theirs = await room.active_intent(role="other_agent")
    reply = await refused(room, [{"name": "a"}], parent_intent_id=theirs["id"])
    assert (reply.status_code, reply.json()["detail"]["fields"][0]["path"]) == (422, "parent_intent_id")


async def test_a_workflow_is_found_by_whose_it_is(room: World) -> None:
    made = await make_workflow(room, [{"name": "a"}])
    path = f"/v1/workflows/{made['id']}"
    for role, status in (("agent", 200), ("other_agent", 404), ("operator", 200), ("admin", 200)):
        assert (await room.call("GET", path, role)).status_code == status, role
    theirs = (await room.call("GET", "/v1/workflows", "other_agent")).json()["items"]
    assert made["id"] not in [one["id"] for one in theirs]
    parent = await room.active_intent()
    under = await make_workflow(room, [{"name": "a"}], parent_intent_id=parent["id"])
    await room.call("POST", f"/v1/intents/{parent['id']}/agents", json={"agent_id": "other-agent"})
    assert (await room.call("GET", f"/v1/workflows/{under['id']}", "other_agent")).status_code == 200
    theirs = (await room.call("GET", "/v1/workflows", "other_agent")).json()["items"]
    assert under["id"] in [one["id"] for one in theirs]


async def test_the_same_request_makes_one_workflow(room: World) -> None:
    key = {"Idempotency-Key": "workflow-1"}
    body = {"name": "Compliance", "phases": [{"name": "a"}]}
    first, again = [await room.call("POST", "/v1/workflows", json=body, headers=key) for _ in range(2)]
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"
