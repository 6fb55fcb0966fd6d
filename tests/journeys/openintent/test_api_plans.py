"""Plans of an intent (RFC-0012; RFC-0026 §2 rule 4; API.md §7, "plans, tasks")."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.journeys.openintent.test_api_task_mirror import shown, suspend
from tests.journeys.openintent.test_api_tasks import change, created, moved
from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def planned(world: World, intent: dict[str, Any], role: str = "agent", **fields: Any) -> dict[str, Any]:
    response = await world.call("POST", "/v1/plans", role, json={"intent_id": intent["id"], **fields})
    assert response.status_code == 200, response.text
    plan: dict[str, Any] = response.json()
    return plan


async def replanned(world: World, plan: dict[str, Any], role: str = "agent", **fields: Any) -> httpx.Response:
    headers = {"If-Match": str(plan["version"])}
    return await world.call("PATCH", f"/v1/plans/{plan['id']}", role, json=fields, headers=headers)


async def shown_plan(world: World, plan: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await world.call("GET", f"/v1/plans/{plan['id']}")).json()
    return found


def refusal(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["detail"]["error"]


async def test_a_plan_is_made_shown_and_listed(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    said = {
        "tasks": [task["id"]],
        "checkpoints": [{"name": "Go live", "requires_approval": True, "approvers": ["alice@example.com"]}],
        "conditions": [{"when": "refund > 100"}],
        "on_failure": "notify",
        "on_complete": "tell",
        "metadata": {"k": "v"},
    }
    plan = await planned(room, intent, **said)
    assert {name: plan[name] for name in said} == said
    assert (plan["state"], plan["version"], plan["intent_id"]) == ("draft", 1, intent["id"])
    assert plan["plan_metadata"] == {"k": "v"}
    assert (await room.call("GET", f"/v1/tasks/{task['id']}")).json()["plan_id"] == plan["id"]
    found = await room.call("GET", f"/v1/plans/{plan['id']}")
    assert (found.json(), found.headers["etag"]) == (plan, '"1"')
    await room.advance(seconds=1)
    second = await planned(room, intent)
    path = f"/v1/intents/{intent['id']}/plans"
    assert (await room.call("GET", path)).json() == [plan, second]  # a bare array: the published client reads it so
    assert (await room.call("GET", path, params={"limit": 1, "offset": 1})).json() == [second]


MOVES = {
    "draft": {"active", "cancelled"},
    "active": {"paused", "completed", "failed", "cancelled"},
    "paused": {"active", "failed", "cancelled"},
    "completed": set(),
    "failed": set(),
    "cancelled": set(),
}
WAYS = {
    "draft": [],
    "active": ["active"],
    "paused": ["active", "paused"],
    "completed": ["active", "completed"],
    "failed": ["active", "failed"],
    "cancelled": ["cancelled"],
}


@pytest.mark.parametrize("start", MOVES)
async def test_a_plan_moves_as_its_lifecycle_has_it(room: World, start: str) -> None:
    intent = await room.active_intent()
    for wanted in MOVES:
        plan = await planned(room, intent)
        for state in WAYS[start]:
            plan = (await replanned(room, plan, state=state)).json()
        response = await replanned(room, plan, state=wanted)
        if wanted in MOVES[start] | {start}:
            assert (response.status_code, response.json()["state"]) == (200, wanted)
        else:
            assert refusal(response) == (409, "invalid_transition"), wanted


async def test_every_move_is_an_event_of_the_plans_intent(room: World) -> None:
    intent = await room.active_intent()
    plan = await planned(room, intent)
    for state in ("active", "paused", "active", "completed"):
        plan = (await replanned(room, plan, state=state)).json()
    log = (await room.events({"intent_id": intent["id"]}))[1:]
    types = ["plan.created", "plan.activated", "plan.paused", "plan.resumed", "plan.completed"]
    assert [line["event_type"] for line in log] == types
    assert all(line["payload"]["plan_id"] == plan["id"] for line in log)


async def test_a_plan_gains_tasks_and_loses_none(room: World) -> None:
    intent = await room.active_intent()
    first, second = await created(room, intent), await created(room, intent)
    plan = await planned(room, intent, tasks=[first["id"]], metadata={"k": 1})
    grown = (await replanned(room, plan, tasks=[second["id"], first["id"]])).json()
    assert (grown["tasks"], grown["metadata"]) == ([first["id"], second["id"]], {"k": 1})
    assert grown["progress"]["total"] == 2
    last = (await room.events({"intent_id": intent["id"]}))[-1]
    assert (last["event_type"], last["payload"]["task_ids"]) == ("plan.updated", [second["id"]])


async def test_a_plan_holds_tasks_of_several_intents_that_its_maker_works_on(room: World) -> None:
    intent, phase = await room.active_intent(), await room.active_intent()
    task = await created(room, phase)
    plan = await planned(room, intent, tasks=[task["id"]])
    assert plan["progress"]["total"] == 1
    theirs = (await room.call("POST", "/v1/intents", "other_agent", json={"title": "t", "status": "active"})).json()
    body = {"intent_id": theirs["id"], "name": "n"}
    foreign = (await room.call("POST", "/v1/tasks", "other_agent", json=body)).json()
    response = await replanned(room, plan, tasks=[foreign["id"]])
    assert refusal(response) == (422, "invalid_request")
    assert response.json()["detail"]["fields"][0]["path"] == "tasks.0"
    assert (await room.call("GET", f"/v1/tasks/{foreign['id']}", "other_agent")).json()["plan_id"] is None
    assert await shown_plan(room, plan) == plan


async def test_a_task_is_in_one_plan(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    plan = await planned(room, intent, tasks=[task["id"]])
    response = await room.call("POST", "/v1/plans", json={"intent_id": intent["id"], "tasks": [task["id"]]})
    assert refusal(response) == (409, "task_in_plan")
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/plans")).json() == [plan]


async def test_progress_counts_tasks_and_names_those_that_wait(room: World) -> None:
    intent, phase = await room.active_intent(), await room.active_intent()
    tasks = [await created(room, intent) for _ in range(3)]
    await moved(room, tasks[0], "running", "completed")
    waiting = await moved(room, await created(room, phase), "running")
    plan = await planned(room, intent, tasks=[*(task["id"] for task in tasks), waiting["id"]])
    asked = await suspend(room, phase, timeout_seconds=3600)
    await room.advance(minutes=1)
    await change(room, await shown(room, waiting), description="Looked at while it waits")
    progress = (await shown_plan(room, plan))["progress"]
    assert (progress["total"], progress["completion_percentage"]) == (4, 25.0)
    counts = {status: number for status, number in progress["by_status"].items() if number}
    assert counts == {"pending": 2, "completed": 1, "blocked": 1}
    assert progress["suspended_tasks"] == [
        {
            "task_id": waiting["id"],
            "intent_id": phase["id"],
            "suspended_since": asked["suspended_at"],
            "expires_at": after(asked, hours=1),
        }
    ]
    await room.answer(asked, "approve")
    plan = await shown_plan(room, plan)
    assert (plan["progress"]["suspended_tasks"], plan["version"]) == ([], 1)


async def test_a_task_waits_in_the_progress_before_its_question_is_there(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    plan = await planned(room, intent, tasks=[task["id"]])
    headers, body = {"If-Match": str(intent["version"])}, {"status": "suspended_awaiting_input"}
    await room.call("POST", f"/v1/intents/{intent['id']}/status", json=body, headers=headers)
    [waiting] = (await shown_plan(room, plan))["progress"]["suspended_tasks"]
    assert (waiting["task_id"], waiting["expires_at"]) == (task["id"], None)
    assert waiting["suspended_since"] is not None


async def test_an_ended_plan_takes_no_tasks(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    plan = (await replanned(room, await planned(room, intent), state="cancelled")).json()
    assert refusal(await replanned(room, plan, tasks=[task["id"]])) == (409, "plan_ended")


async def test_an_ended_intent_gains_no_plan(room: World) -> None:
    intent = await room.active_intent()
    headers = {"If-Match": str(intent["version"])}
    await room.call("POST", f"/v1/intents/{intent['id']}/status", json={"status": "completed"}, headers=headers)
    assert refusal(await room.call("POST", "/v1/plans", json={"intent_id": intent["id"]})) == (409, "intent_not_active")


async def test_a_plan_is_its_intents_agents(room: World) -> None:
    intent = await room.active_intent()
    plan = await planned(room, intent)
    path = f"/v1/plans/{plan['id']}"
    assert refusal(await room.call("GET", path, "other_agent")) == (404, "not_found")
    assert refusal(await replanned(room, plan, "other_agent", state="active")) == (404, "not_found")
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/plans", "other_agent")).status_code == 404
    assert (await room.call("POST", "/v1/plans", "other_agent", json={"intent_id": intent["id"]})).status_code == 404
    assert (await room.call("GET", path, "operator")).status_code == 200


async def test_a_change_names_the_version_it_was_made_for(room: World) -> None:
    plan = await planned(room, await room.active_intent())
    assert (await room.call("PATCH", f"/v1/plans/{plan['id']}", json={"state": "active"})).status_code == 428
    await replanned(room, plan, state="active")
    stale = await replanned(room, plan, state="paused")
    assert refusal(stale) == (409, "version_conflict")
    assert stale.json()["detail"]["current_version"] == 2


async def test_a_repeated_request_makes_one_plan(room: World) -> None:
    intent = await room.active_intent()
    body, headers = {"intent_id": intent["id"]}, {"Idempotency-Key": f"plan-{intent['id']}"}
    first = await room.call("POST", "/v1/plans", json=body, headers=headers)
    again = await room.call("POST", "/v1/plans", json=body, headers=headers)
    assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")


BAD: list[tuple[dict[str, Any], str]] = [
    ({"tasks": ["t-unknown"]}, "tasks.0"),
    ({"tasks": "all"}, "tasks"),
    ({"state": "active"}, "state"),
    ({"checkpoints": [{"requires_approval": True}]}, "checkpoints.0.name"),
    ({"checkpoints": [{"name": "n", "timeout_hours": 0}]}, "checkpoints.0.timeout_hours"),
    ({"checkpoints": [{"name": "n", "on_timeout": "whatever"}]}, "checkpoints.0.on_timeout"),
    ({"checkpoints": [{"name": "n", "status": "approved"}]}, "checkpoints.0.status"),
    ({"checkpoints": [{"name": "n", "approved_by": "alice@example.com"}]}, "checkpoints.0.approved_by"),
    ({"on_failure": "whatever"}, "on_failure"),
    ({"metadata": []}, "metadata"),
    ({"unknown": 1}, "unknown"),
]


@pytest.mark.parametrize(("fields", "path"), BAD, ids=str)
async def test_a_plan_that_can_not_be_is_refused(room: World, fields: dict[str, Any], path: str) -> None:
    intent = await room.active_intent()
    response = await room.call("POST", "/v1/plans", json={"intent_id": intent["id"], **fields})
    assert response.status_code == 422, response.text
    assert response.json()["detail"]["fields"][0]["path"] == path
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/plans")).json() == []
