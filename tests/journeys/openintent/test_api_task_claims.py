"""Claiming a task (RFC-0012; RFC-0026 §6; API.md §7, "plans, tasks")."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.journeys.openintent.test_api_task_mirror import suspend
from tests.journeys.openintent.test_api_tasks import created, moved
from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def claim(world: World, task: dict[str, Any], role: str = "agent", **headers: str) -> httpx.Response:
    return await world.call("POST", f"/v1/tasks/{task['id']}/claim", role, headers=headers)


def refusal(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["detail"]["error"]


@pytest.mark.parametrize("way", [[], ["ready"]], ids=["pending", "ready"])
async def test_a_claimed_task_is_its_claimants(room: World, way: list[str]) -> None:
    task = await moved(room, await created(room, await room.active_intent()), *way)
    response = await claim(room, task)
    taken = response.json()
    assert (response.status_code, taken["status"], taken["assigned_agent"]) == (200, "claimed", "refund-agent")
    assert (taken["version"], response.headers["etag"]) == (task["version"] + 1, f'"{task["version"] + 1}"')
    assert (await room.events(taken))[-1]["event_type"] == "task.claimed"
    assert refusal(await claim(room, task)) == (409, "task_not_claimable")


async def test_one_of_two_that_claim_at_once_gets_the_task(room: World) -> None:
    intent = await room.active_intent()
    await room.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})
    task = await created(room, intent)
    both = await asyncio.gather(claim(room, task), claim(room, task, "other_agent"))
    assert sorted(one.status_code for one in both) == [200, 409]


async def test_a_task_meant_for_another_agent_is_left_to_it(room: World) -> None:
    task = await created(room, await room.active_intent(), assigned_agent="other-agent")
    response = await claim(room, task)
    assert refusal(response) == (409, "task_not_claimable")
    assert response.json()["detail"]["assigned_agent"] == "other-agent"


async def test_only_those_who_work_on_the_intent_claim(room: World) -> None:
    task = await created(room, await room.active_intent())
    assert refusal(await claim(room, task, "other_agent")) == (404, "not_found")
    assert refusal(await claim(room, task, "operator")) == (403, "forbidden")


async def test_a_task_is_claimed_once_what_it_depends_on_is_completed(room: World) -> None:
    intent = await room.active_intent()
    first = await created(room, intent)
    task = await created(room, intent, depends_on=[first["id"], "t-unknown"])
    response = await claim(room, task)
    assert refusal(response) == (409, "dependencies_incomplete")
    assert response.json()["detail"]["task_ids"] == [first["id"], "t-unknown"]
    task = await created(room, intent, depends_on=[first["id"]])
    await moved(room, first, "running", "completed")
    assert (await claim(room, task)).status_code == 200


async def test_another_keys_task_is_never_known_to_be_completed(room: World) -> None:
    theirs = (await room.call("POST", "/v1/intents", "other_agent", json={"title": "t", "status": "active"})).json()
    body = {"intent_id": theirs["id"], "name": "n"}
    first = (await room.call("POST", "/v1/tasks", "other_agent", json=body)).json()
    for version, status in ((1, "running"), (2, "completed")):
        path, headers = f"/v1/tasks/{first['id']}", {"If-Match": str(version)}
        await room.call("PATCH", path, "other_agent", json={"status": status}, headers=headers)
    task = await created(room, await room.active_intent(), depends_on=[first["id"]])
    assert refusal(await claim(room, task)) == (409, "dependencies_incomplete")


async def test_a_claim_is_refused_while_its_intent_waits_for_a_person(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    asked = await suspend(room, intent, timeout_seconds=3600)
    response = await claim(room, task)
    assert refusal(response) == (409, "upstream_intent_suspended")
    told = response.json()["detail"]
    assert {name: told[name] for name in ("task_id", "phase_name", "suspended_intent_id", "expected_resume_at")} == {
        "task_id": task["id"],
        "phase_name": None,
        "suspended_intent_id": intent["id"],
        "expected_resume_at": after(asked, hours=1),
    }
    assert response.headers["retry-after"] == "60"
    assert (await room.call("GET", f"/v1/tasks/{task['id']}")).json() == task
    await room.answer(asked, "approve")
    assert (await claim(room, task)).status_code == 200


async def test_a_claim_is_refused_while_a_task_ahead_waits_for_a_person(room: World) -> None:
    ahead = await room.active_intent()
    first = await moved(room, await created(room, ahead), "running")
    task = await created(room, await room.active_intent(), depends_on=[first["id"]])
    asked = await suspend(room, ahead)
    told = (await claim(room, task)).json()["detail"]
    assert (told["error"], told["suspended_intent_id"]) == ("upstream_intent_suspended", ahead["id"])
    assert told["expected_resume_at"] is None  # it waits for ever
    await room.answer(asked, "approve")
    assert refusal(await claim(room, task)) == (409, "dependencies_incomplete")
    await moved(room, (await room.call("GET", f"/v1/tasks/{first['id']}")).json(), "completed")
    assert (await claim(room, task)).status_code == 200


async def test_a_task_of_an_intent_that_has_ended_is_not_claimed(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    headers = {"If-Match": str(intent["version"])}
    await room.call("POST", f"/v1/intents/{intent['id']}/status", json={"status": "completed"}, headers=headers)
    assert refusal(await claim(room, task)) == (409, "intent_not_active")


async def test_a_repeated_claim_gets_the_first_reply(room: World) -> None:
    task = await created(room, await room.active_intent())
    headers = {"Idempotency-Key": f"claim-{task['id']}"}
    first, again = await claim(room, task, **headers), await claim(room, task, **headers)
    assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")
