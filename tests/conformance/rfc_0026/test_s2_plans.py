"""RFC-0026 §2, rules 3 and 4, for plans: their tasks that wait, and their checkpoints."""

from __future__ import annotations

import pytest

from tests.conformance.rfc_0026.containers import get, intent, post, running_task, shown, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_4_a_plan_lists_its_tasks_that_wait_with_their_intents(room: World) -> None:
    review = await intent(room)
    task = await running_task(room, review)
    other = await post(room, "/v1/tasks", intent_id=review, name="Later")
    plan = await post(room, "/v1/plans", intent_id=review, tasks=[task, other["id"]])
    asked = await suspend(room, review, timeout_seconds=3600)
    found = await get(room, f"/v1/plans/{plan['id']}")
    assert found["progress"]["suspended_tasks"] == [
        {
            "task_id": task,
            "intent_id": review,
            "suspended_since": asked["suspended_at"],
            "expires_at": asked["expires_at"],
        }
    ]
    await room.answer(asked, "yes")
    assert (await get(room, f"/v1/plans/{plan['id']}"))["progress"]["suspended_tasks"] == []


async def test_3_a_checkpoint_that_requires_approval_is_a_suspension_of_the_plans_intent(room: World) -> None:
    """ "RFC-0012 checkpoints that require human approval SHOULD be implemented via RFC-0025"."""
    review = await intent(room)
    plan = await post(room, "/v1/plans", intent_id=review, tasks=[])
    body = {"name": "Before the mail", "requires_approval": True, "responders": ["alice@example.com"]}
    reached = await post(room, f"/v1/plans/{plan['id']}/checkpoints", **body)
    waiting = await shown(room, review)
    assert waiting["status"] == "suspended_awaiting_input"
    record = waiting["state"]["_suspension"]
    assert [choice["value"] for choice in record["choices"]] == ["approve", "reject"]
    approved = await room.call("POST", f"/v1/checkpoints/{reached['id']}/approve", "operator", json={})
    assert approved.status_code == 200, approved.text
    after = await shown(room, review)
    assert (after["status"], after["state"]["_suspension"]["response"]) == ("active", "approve")
    assert "intent.resumed" in await room.event_types({"intent_id": review})
