"""RFC-0026 §2 rule 3: RFC-0012 tasks mirror intent suspension bidirectionally."""

from __future__ import annotations

import pytest

from tests.journeys.openintent.test_api_checkpoints import reached
from tests.journeys.openintent.test_api_plans import planned
from tests.journeys.openintent.test_api_task_mirror import said, shown, suspend
from tests.journeys.openintent.test_api_tasks import created, moved
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_task_of_a_suspended_intent_is_blocked_with_both_fields(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    await suspend(room, intent)
    found = await shown(room, task)
    assert found["status"] == "blocked"
    assert found["blocked_reason"] == "intent_suspended"
    assert found["suspended_intent_id"] == intent["id"]


async def test_on_resumed_the_task_is_running_again(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    asked = await suspend(room, intent)
    await room.answer(asked, "approve")
    assert said(await shown(room, task)) == ("running", None, None)


async def test_tasks_of_other_intents_stay_as_they_are(room: World) -> None:
    intent, other = await room.active_intent(), await room.active_intent()
    task = await moved(room, await created(room, other), "running")
    await planned(room, intent, tasks=[task["id"]])
    await suspend(room, intent)
    assert said(await shown(room, task)) == ("running", None, None)


async def test_a_checkpoint_that_requires_approval_is_an_input_request(room: World) -> None:
    plan = await planned(room, await room.active_intent())
    checkpoint = await reached(room, plan)
    asked = {"suspension_id": checkpoint["suspension_id"], "intent_id": plan["intent_id"]}
    assert (await room.intent(asked))["state"]["_suspension"]["id"] == checkpoint["suspension_id"]
    assert "intent.suspended" in await room.event_types(asked)
