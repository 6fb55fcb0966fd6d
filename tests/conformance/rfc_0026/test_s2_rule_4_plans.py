"""RFC-0026 §2 rule 4, RFC-0012 plans: the progress names the tasks that wait for a person; rule 1: the plan does not
wait itself."""

from __future__ import annotations

import pytest

from tests.journeys.openintent.test_api_plans import planned, replanned, shown_plan
from tests.journeys.openintent.test_api_task_mirror import suspend
from tests.journeys.openintent.test_api_tasks import created, moved
from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_progress_has_suspended_tasks_with_the_four_fields(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    plan = await planned(room, intent, tasks=[task["id"]])
    assert plan["progress"]["suspended_tasks"] == []
    asked = await suspend(room, intent, timeout_seconds=10_800)
    assert (await shown_plan(room, plan))["progress"]["suspended_tasks"] == [
        {
            "task_id": task["id"],
            "intent_id": intent["id"],
            "suspended_since": asked["suspended_at"],
            "expires_at": after(asked, hours=3),
        }
    ]


async def test_a_task_that_its_agent_has_blocked_is_not_among_them(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running", "blocked")
    plan = await planned(room, intent, tasks=[task["id"]])
    await suspend(room, intent)
    progress = (await shown_plan(room, plan))["progress"]
    assert (progress["by_status"]["blocked"], progress["suspended_tasks"]) == (1, [])


async def test_a_plan_stays_as_it_is_while_a_task_of_it_waits(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    plan = await planned(room, intent, tasks=[task["id"]])
    plan = (await replanned(room, plan, state="active")).json()
    await suspend(room, intent)
    found = await shown_plan(room, plan)
    assert (found["state"], found["version"], found["updated_at"]) == ("active", plan["version"], plan["updated_at"])
