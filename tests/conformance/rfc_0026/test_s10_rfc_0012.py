"""RFC-0026 §10, RFC-0012 patches: checkpoints are RFC-0025 requests; tasks and intents move both ways."""

from __future__ import annotations

import pytest

from tests.journeys.openintent.test_api_checkpoints import judge, reached, seen
from tests.journeys.openintent.test_api_plans import planned, refusal
from tests.journeys.openintent.test_api_task_claims import claim
from tests.journeys.openintent.test_api_task_mirror import suspend
from tests.journeys.openintent.test_api_tasks import created, moved
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_task_blocked_and_unblocked_are_in_the_intents_log(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    asked = await suspend(room, intent)
    await room.answer(asked, "approve")
    lines = [one for one in await room.events(asked) if one["event_type"] in {"task.blocked", "task.unblocked"}]
    assert [one["payload"]["task_ids"] for one in lines] == [[task["id"]]] * 2
    assert [one["payload"]["task_id"] for one in lines] == [task["id"]] * 2
    assert lines[0]["payload"]["suspended_intent_id"] == intent["id"]


async def test_approving_and_rejecting_answer_the_request(room: World) -> None:
    for verb, status in (("approve", "approved"), ("reject", "rejected")):
        plan = await planned(room, await room.active_intent())
        checkpoint = await reached(room, plan)
        assert (await judge(room, checkpoint, verb)).status_code == 200
        assert (await seen(room, plan))["status"] == status
        record = await room.show({"suspension_id": checkpoint["suspension_id"]})
        assert (record["resolution"], record["response"]) == ("responded", verb)


async def test_a_claim_waits_for_a_suspended_upstream(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    await suspend(room, intent)
    response = await claim(room, task)
    assert refusal(response) == (409, "upstream_intent_suspended")
    assert {"task_id", "phase_name", "suspended_intent_id", "expected_resume_at"} <= set(response.json()["detail"])
    assert (await room.call("GET", f"/v1/tasks/{task['id']}")).json()["status"] == "pending"
