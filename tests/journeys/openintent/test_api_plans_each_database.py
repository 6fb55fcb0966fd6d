"""Plans, tasks and checkpoints on each database: what is one statement, one lock, one transaction."""

from __future__ import annotations

import asyncio

import pytest

from tests.journeys.openintent.test_api_checkpoints import judge, reached, seen
from tests.journeys.openintent.test_api_plans import planned, shown_plan
from tests.journeys.openintent.test_api_task_claims import claim
from tests.journeys.openintent.test_api_task_mirror import suspend
from tests.journeys.openintent.test_api_tasks import created, moved
from tests.statements import executed
from tests.world import World

in_room = pytest.mark.asyncio(loop_scope="module")


async def test_however_many_tasks_run_one_update_and_one_line_stop_them(any_world: World) -> None:
    world = any_world
    intent = await world.active_intent()
    tasks = [await moved(world, await created(world, intent), "running") for _ in range(6)]
    plan = await planned(world, intent, tasks=[task["id"] for task in tasks])
    async with executed(world.service.database) as statements:
        asked = await suspend(world, intent)
    assert len([one for one in statements if one.startswith("UPDATE tasks")]) == 1
    waiting = (await shown_plan(world, plan))["progress"]["suspended_tasks"]
    assert [one["task_id"] for one in waiting] == sorted(task["id"] for task in tasks)
    assert (await world.event_types(asked)).count("task.blocked") == 1
    assert (await world.answer(asked, "approve")).status_code == 200
    assert (await shown_plan(world, plan))["progress"]["by_status"]["running"] == 6


async def test_progress_is_one_query_however_many_plans_there_are(any_world: World) -> None:
    world = any_world
    intent = await world.active_intent()
    for _ in range(3):
        task = await moved(world, await created(world, intent), "running")
        await planned(world, intent, tasks=[task["id"]])
    await suspend(world, intent)
    async with executed(world.service.database) as statements:
        found = (await world.call("GET", f"/v1/intents/{intent['id']}/plans")).json()
    assert [len(plan["progress"]["suspended_tasks"]) for plan in found] == [1, 1, 1]
    assert len([one for one in statements if "FROM tasks" in one]) == 1


@in_room
async def test_of_many_that_claim_at_once_one_gets_the_task(any_room: World) -> None:
    world = any_room
    intent = await world.active_intent()
    await world.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})
    task = await created(world, intent)
    done = await asyncio.gather(*(claim(world, task, role) for role in ("agent", "other_agent") * 4))
    assert sorted(one.status_code for one in done) == [200, *[409] * 7]


@in_room
async def test_of_two_checkpoints_at_once_one_asks(any_room: World) -> None:
    world = any_room
    plan = await planned(world, await world.active_intent())
    path, body = f"/v1/plans/{plan['id']}/checkpoints", {"name": "n", "requires_approval": True}
    done = await asyncio.gather(*(world.call("POST", path, json=body) for _ in range(4)))
    assert sorted(one.status_code for one in done) == [200, 409, 409, 409]
    assert len((await shown_plan(world, plan))["checkpoints"]) == 1


@in_room
async def test_of_two_plans_that_want_a_task_at_once_one_has_it(any_room: World) -> None:
    world = any_room
    intent = await world.active_intent()
    task = await created(world, intent)
    body = {"intent_id": intent["id"], "tasks": [task["id"]]}
    done = await asyncio.gather(*(world.call("POST", "/v1/plans", json=body) for _ in range(4)))
    assert sorted(one.status_code for one in done) == [200, 409, 409, 409]


@in_room
async def test_approve_and_reject_at_once_are_one_verdict(any_room: World) -> None:
    world = any_room
    plan = await planned(world, await world.active_intent())
    checkpoint = await reached(world, plan)
    both = await asyncio.gather(
        judge(world, checkpoint, "approve"), judge(world, checkpoint, "reject", "second_operator")
    )
    assert sorted(one.status_code for one in both) == [200, 409]
    [won] = [one.json()["status"] for one in both if one.status_code == 200]
    assert (await seen(world, plan))["status"] == won
    types = await world.event_types({"intent_id": plan["intent_id"]})
    assert [one for one in types if one.startswith("plan.checkpoint_")] == [
        "plan.checkpoint_reached",
        f"plan.checkpoint_{won}",
    ]
