"""Tasks of an intent (RFC-0012; API.md §7, "plans, tasks")."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def created(world: World, intent: dict[str, Any], name: str = "Look the order up", **fields: Any) -> Any:
    response = await world.call("POST", "/v1/tasks", json={"intent_id": intent["id"], "name": name, **fields})
    assert response.status_code == 200, response.text
    return response.json()


async def change(world: World, task: dict[str, Any], role: str = "agent", **fields: Any) -> httpx.Response:
    headers = {"If-Match": str(task["version"])}
    return await world.call("PATCH", f"/v1/tasks/{task['id']}", role, json=fields, headers=headers)


async def moved(world: World, task: dict[str, Any], *statuses: str) -> Any:
    for status in statuses:
        response = await change(world, task, status=status)
        assert response.status_code == 200, response.text
        task = response.json()
    return task


async def test_a_task_is_created_shown_and_listed(room: World) -> None:
    intent = await room.active_intent()
    said = {
        "description": "In the shop",
        "priority": "high",
        "input": {"order": 7},
        "assigned_agent": "other-agent",
        "capabilities_required": ["shop"],
        "depends_on": ["t-0"],
        "timeout_seconds": 60,
        "max_attempts": 2,
        "metadata": {"k": "v"},
    }
    task = await created(room, intent, **said)
    assert {name: task[name] for name in said} == said
    assert (task["status"], task["version"], task["attempt"]) == ("pending", 1, 1)
    assert (task["intent_id"], task["created_by"]) == (intent["id"], "refund-agent")
    shown = await room.call("GET", f"/v1/tasks/{task['id']}")
    assert (shown.json(), shown.headers["etag"]) == (task, '"1"')
    await room.advance(seconds=1)
    second = await created(room, intent, "Send the mail")
    listed = await room.call("GET", f"/v1/intents/{intent['id']}/tasks")
    assert listed.json() == [task, second]  # a bare array: the published client reads it so


async def test_tasks_are_listed_by_status_and_in_pages(room: World) -> None:
    intent = await room.active_intent()
    first = await created(room, intent, "a")
    await room.advance(seconds=1)
    second = await created(room, intent, "b")
    await moved(room, second, "running")
    path = f"/v1/intents/{intent['id']}/tasks"
    running = (await room.call("GET", path, params={"status": "running"})).json()
    assert [one["id"] for one in running] == [second["id"]]
    assert [one["id"] for one in (await room.call("GET", path, params={"limit": 1})).json()] == [first["id"]]
    rest = await room.call("GET", path, params={"limit": 1, "offset": 1})
    assert [one["id"] for one in rest.json()] == [second["id"]]


MOVES = {
    "pending": {"ready", "claimed", "running", "cancelled", "skipped"},
    "ready": {"claimed", "running", "cancelled", "skipped"},
    "claimed": {"running", "cancelled", "skipped"},
    "running": {"blocked", "completed", "failed", "cancelled"},
    "blocked": {"running", "failed", "cancelled"},
    "completed": set(),
    "failed": {"ready", "cancelled"},
    "cancelled": set(),
    "skipped": set(),
}
WAYS = {
    "pending": [],
    "ready": ["ready"],
    "claimed": ["claimed"],
    "running": ["running"],
    "blocked": ["running", "blocked"],
    "completed": ["running", "completed"],
    "failed": ["running", "failed"],
    "cancelled": ["cancelled"],
    "skipped": ["skipped"],
}


@pytest.mark.parametrize("start", MOVES)
async def test_a_task_moves_as_its_lifecycle_has_it(room: World, start: str) -> None:
    intent = await room.active_intent()
    for wanted in MOVES:
        task = await moved(room, await created(room, intent), *WAYS[start])
        response = await change(room, task, status=wanted)
        if wanted == start:
            assert (response.status_code, response.json()["status"]) == (200, start)
        elif wanted in MOVES[start]:
            assert (response.status_code, response.json()["status"]) == (200, wanted)
        else:
            assert (response.status_code, response.json()["detail"]["error"]) == (409, "invalid_transition"), wanted


async def test_every_move_is_an_event_of_the_intent_and_another_try_counts(room: World) -> None:
    intent = await room.active_intent()
    way = ["ready", "claimed", "running", "blocked", "running", "failed", "ready", "running", "completed"]
    task = await moved(room, await created(room, intent), *way)
    assert (task["attempt"], task["version"]) == (2, 10)
    assert task["started_at"] is not None and task["completed_at"] is not None
    log = (await room.call("GET", f"/v1/intents/{intent['id']}/events")).json()["events"][1:]
    assert [line["event_type"].removeprefix("task.") for line in log] == [
        "created",
        "ready",
        "claimed",
        "started",
        "blocked",
        "unblocked",
        "failed",
        "ready",
        "started",
        "completed",
    ]
    assert all(line["payload"]["task_id"] == task["id"] for line in log)
    assert (await room.intent({"intent_id": intent["id"]}))["version"] == intent["version"]


async def test_what_a_change_leaves_out_stays(room: World) -> None:
    task = await created(room, await room.active_intent(), description="d", metadata={"k": 1})
    response = await change(room, task, status="running", output={"found": True}, blocked_reason="none yet")
    after = response.json()
    assert (after["description"], after["metadata"], after["output"]) == ("d", {"k": 1}, {"found": True})


async def test_a_change_names_the_version_it_was_made_for(room: World) -> None:
    task = await created(room, await room.active_intent())
    path = f"/v1/tasks/{task['id']}"
    assert (await room.call("PATCH", path, json={"status": "ready"})).status_code == 428
    await moved(room, task, "ready")
    stale = await change(room, task, status="running")
    assert (stale.status_code, stale.json()["detail"]["error"]) == (409, "version_conflict")
    assert stale.json()["detail"]["current_version"] == 2
    assert (await room.call("GET", path)).json()["status"] == "ready"


async def test_a_task_is_its_intents_agents(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    path = f"/v1/tasks/{task['id']}"
    for method, options in (("GET", {}), ("PATCH", {"json": {"status": "ready"}, "headers": {"If-Match": "1"}})):
        response = await room.call(method, path, "other_agent", **options)
        assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")
    theirs = {"intent_id": intent["id"], "name": "n"}
    assert (await room.call("POST", "/v1/tasks", "other_agent", json=theirs)).status_code == 404
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/tasks", "other_agent")).status_code == 404
    await room.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})
    assert (await change(room, task, "other_agent", status="ready")).status_code == 200
    assert (await room.call("GET", path, "operator")).status_code == 200


async def test_an_ended_intent_gains_no_task(room: World) -> None:
    intent = await room.active_intent()
    headers = {"If-Match": str(intent["version"])}
    await room.call("POST", f"/v1/intents/{intent['id']}/status", json={"status": "completed"}, headers=headers)
    refused = await room.call("POST", "/v1/tasks", json={"intent_id": intent["id"], "name": "n"})
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "intent_not_active")


async def test_a_repeated_request_makes_one_task(room: World) -> None:
    intent = await room.active_intent()
    body, headers = {"intent_id": intent["id"], "name": "n"}, {"Idempotency-Key": f"task-{intent['id']}"}
    first = await room.call("POST", "/v1/tasks", json=body, headers=headers)
    again = await room.call("POST", "/v1/tasks", json=body, headers=headers)
    assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")
    assert len((await room.call("GET", f"/v1/intents/{intent['id']}/tasks")).json()) == 1


BAD: list[dict[str, Any]] = [
    {"name": ""},
    {"name": None},
    {"name": 7},
    {"status": "running"},
    {"timeout_seconds": 0},
    {"max_attempts": 1_000_000_000},
    {"input": []},
    {"unknown": 1},
    {"assigned_agent": ""},
]


@pytest.mark.parametrize("fields", BAD, ids=str)
async def test_a_task_that_can_not_be_is_refused(room: World, fields: dict[str, Any]) -> None:
    intent = await room.active_intent()
    response = await room.call("POST", "/v1/tasks", json={"intent_id": intent["id"], "name": "n", **fields})
    assert response.status_code == 422, response.text
    assert response.json()["detail"]["fields"][0]["path"] == next(iter(fields))
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/tasks")).json() == []


# --- What comes first -------------------------------------------------------------------------------------------------


def waits_for_itself(response: httpx.Response) -> list[str]:
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "invalid_request"), response.text
    return [one["path"] for one in response.json()["detail"]["fields"]]


async def test_a_task_can_not_depend_on_itself(any_room: World) -> None:
    intent = await any_room.active_intent()
    first, task = await created(any_room, intent), await created(any_room, intent)

    response = await change(any_room, task, depends_on=[first["id"], task["id"]], priority="high")
    assert waits_for_itself(response) == ["depends_on.1"]
    assert (await any_room.call("GET", f"/v1/tasks/{task['id']}")).json() == task

    assert (await change(any_room, task, depends_on=[first["id"], "t-0"])).status_code == 200


async def test_a_task_can_not_depend_on_one_that_waits_for_it(any_room: World) -> None:
    first = await created(any_room, await any_room.active_intent())
    second = await created(any_room, await any_room.active_intent(), depends_on=[first["id"], "t-0"])
    third = await created(any_room, await any_room.active_intent(), depends_on=[second["id"], first["id"]])

    assert waits_for_itself(await change(any_room, first, depends_on=["t-0", third["id"]])) == ["depends_on.1"]
    assert waits_for_itself(await change(any_room, first, depends_on=[second["id"]])) == ["depends_on.0"]
    assert (await change(any_room, third, depends_on=[first["id"]])).status_code == 200


async def test_two_that_would_wait_for_each_other_at_once_do_not_both(any_room: World) -> None:
    for _ in range(5):
        one, other = [await created(any_room, await any_room.active_intent()) for _ in range(2)]
        both = await asyncio.gather(
            change(any_room, one, depends_on=[other["id"]]), change(any_room, other, depends_on=[one["id"]])
        )
        assert sorted(response.status_code for response in both) == [200, 422]


async def test_a_task_that_the_agent_may_not_read_is_one_that_is_not_there(any_room: World) -> None:
    body = {"title": "theirs", "status": "active"}
    foreign = (await any_room.call("POST", "/v1/intents", "other_agent", json=body)).json()
    task = await created(any_room, await any_room.active_intent())
    said = {"intent_id": foreign["id"], "name": "theirs", "depends_on": [task["id"]]}
    theirs = (await any_room.call("POST", "/v1/tasks", "other_agent", json=said)).json()

    assert (await change(any_room, task, depends_on=[theirs["id"]])).status_code == 200


async def test_what_comes_first_may_be_left_as_it_is_or_cleared(room: World) -> None:
    intent = await room.active_intent()
    first = await created(room, intent)
    task = await created(room, intent, depends_on=[first["id"]])
    same = await change(room, task, depends_on=[first["id"]], status="cancelled")
    assert (same.status_code, same.json()["status"]) == (200, "cancelled")
    assert (await change(room, same.json(), depends_on=[])).json()["depends_on"] == []


async def test_a_long_row_of_tasks_is_looked_through(room: World) -> None:
    intent = await room.active_intent()
    tasks = [await created(room, intent)]
    for _ in range(50):
        tasks.append(await created(room, intent, depends_on=[tasks[-1]["id"]]))
    assert waits_for_itself(await change(room, tasks[0], depends_on=[tasks[-1]["id"]])) == ["depends_on.0"]
