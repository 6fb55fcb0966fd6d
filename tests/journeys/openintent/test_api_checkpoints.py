"""Checkpoints of a plan: one that requires approval is a question (RFC-0012; RFC-0026 §2 rule 3; API.md §7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.journeys.openintent.test_api_plans import planned, refusal, replanned, shown_plan
from tests.journeys.openintent.test_api_task_mirror import shown
from tests.journeys.openintent.test_api_tasks import created, moved
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def reach(world: World, plan: dict[str, Any], role: str = "agent", **fields: Any) -> httpx.Response:
    body = {"name": "Go live", "requires_approval": True, **fields}
    response = await world.call("POST", f"/v1/plans/{plan['id']}/checkpoints", role, json=body)
    await world.settle()
    return response


async def reached(world: World, plan: dict[str, Any], **fields: Any) -> dict[str, Any]:
    response = await reach(world, plan, **fields)
    assert response.status_code == 200, response.text
    checkpoint: dict[str, Any] = response.json()
    return checkpoint


async def judge(
    world: World, checkpoint: dict[str, Any], verdict: str, role: str = "operator", **fields: Any
) -> httpx.Response:
    return await world.call("POST", f"/v1/checkpoints/{checkpoint['id']}/{verdict}", role, json=fields)


async def seen(world: World, plan: dict[str, Any]) -> dict[str, Any]:
    [checkpoint] = (await shown_plan(world, plan))["checkpoints"]
    found: dict[str, Any] = checkpoint
    return found


async def fresh(world: World, **fields: Any) -> dict[str, Any]:
    return await planned(world, await world.active_intent(), **fields)


async def test_a_checkpoint_that_requires_approval_asks_a_person(room: World) -> None:
    plan = await fresh(room)
    resume = {"callback_url": room.agent.url}
    asking = {"responders": ["alice@example.com"], "timeout_hours": 2, "context": {"order": 7}, "resume": resume}
    checkpoint = await reached(room, plan, question="Send the mails?", **asking)
    assert (checkpoint["status"], checkpoint["plan_id"]) == ("pending", plan["id"])
    asked = {"suspension_id": checkpoint["suspension_id"], "intent_id": plan["intent_id"]}
    record = await room.show(asked)
    assert (record["question"], record["context"]) == ("Send the mails?", {"order": 7})
    assert [choice["value"] for choice in record["choices"]] == ["approve", "reject"]
    assert (record["timeout_seconds"], record["responders"]) == (7200, ["alice@example.com"])
    assert (await room.intent(asked))["status"] == "suspended_awaiting_input"
    types = await room.event_types(asked)
    assert types[-2:] == ["intent.suspended", "plan.checkpoint_reached"]
    await room.slack.expect_message("Send the mails?")


@pytest.mark.parametrize(("verdict", "status"), [("approve", "approved"), ("reject", "rejected")])
async def test_a_verdict_is_an_answer(room: World, verdict: str, status: str) -> None:
    plan = await fresh(room)
    checkpoint = await reached(room, plan, resume={"callback_url": room.agent.url})
    response = await judge(room, checkpoint, verdict, reason="The amounts are right.")
    assert (response.status_code, response.json()["status"]) == (200, status)
    assert (response.json()["responded_by"], response.json()["reason"]) == (
        "alice@example.com",
        "The amounts are right.",
    )
    asked = {"suspension_id": checkpoint["suspension_id"], "intent_id": plan["intent_id"]}
    assert (await room.told(asked))["data"]["value"] == verdict
    assert (await room.intent(asked))["status"] == "active"
    assert await seen(room, plan) == response.json()
    line = next(line for line in await room.events(asked) if line["event_type"] == f"plan.checkpoint_{status}")
    assert (line["payload"]["checkpoint_id"], line["actor"]) == (checkpoint["id"], "alice@example.com")
    assert refusal(await judge(room, checkpoint, "approve", "second_operator")) == (409, "already_answered")


async def test_an_answer_that_comes_another_way_approves_it_too(room: World) -> None:
    plan = await fresh(room)
    checkpoint = await reached(room, plan, question="Publish the page?")
    message = await room.slack.expect_message("Publish the page?")
    await room.press("U0ALICE", message, "Approve")
    assert (await seen(room, plan))["status"] == "approved"
    types = await room.event_types({"intent_id": checkpoint["intent_id"]})
    assert types.count("plan.checkpoint_approved") == 1


async def test_tasks_wait_at_a_checkpoint(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    plan = await planned(room, intent, tasks=[task["id"]])
    checkpoint = await reached(room, plan, after_task=task["id"])
    assert (await shown(room, task))["status"] == "blocked"
    assert [one["task_id"] for one in (await shown_plan(room, plan))["progress"]["suspended_tasks"]] == [task["id"]]
    await judge(room, checkpoint, "approve")
    assert (await shown(room, task))["status"] == "running"


async def test_one_without_approval_asks_nobody(room: World) -> None:
    plan = await fresh(room)
    checkpoint = await reached(room, plan, requires_approval=False)
    assert (checkpoint["status"], checkpoint["suspension_id"]) == ("reached", None)
    assert (await room.intent({"intent_id": plan["intent_id"]}))["status"] == "active"
    assert (await room.event_types({"intent_id": plan["intent_id"]}))[-1] == "plan.checkpoint_reached"
    assert refusal(await judge(room, checkpoint, "approve")) == (409, "not_suspended")


async def test_silence_approves_where_the_agent_has_said_so(room: World) -> None:
    plan = await fresh(room)
    resume = {"callback_url": room.agent.url}
    checkpoint = await reached(room, plan, timeout_hours=0.5, on_timeout="auto_approve", resume=resume)
    await room.advance(hours=1)
    after = await seen(room, plan)
    assert (after["status"], after["approved_by"], after["responded_at"]) == ("expired", None, None)
    asked = {"suspension_id": checkpoint["suspension_id"], "intent_id": plan["intent_id"]}
    assert (await room.intent(asked))["status"] == "active"
    assert (await room.told(asked))["data"]["value"] == "approve"


@pytest.mark.parametrize("said", [{}, {"on_timeout": "fail"}, {"on_timeout": "escalate"}], ids=str)
async def test_silence_never_approves_by_itself(room: World, said: dict[str, Any]) -> None:
    plan = await fresh(room)
    await reached(room, plan, timeout_hours=0.5, **said)
    await room.advance(hours=1)
    assert (await seen(room, plan))["status"] == "expired"
    assert (await room.intent({"intent_id": plan["intent_id"]}))["status"] == "abandoned"


async def test_a_cancelled_question_cancels_the_checkpoint(room: World) -> None:
    plan = await fresh(room)
    checkpoint = await reached(room, plan)
    await room.call("POST", f"/v1/suspensions/{checkpoint['suspension_id']}/cancel", json={})
    assert (await seen(room, plan))["status"] == "cancelled"
    assert refusal(await judge(room, checkpoint, "approve")) == (409, "suspension_ended")


async def test_a_reached_checkpoint_takes_the_place_of_the_planned_one(room: World) -> None:
    first = {"name": "Go live", "requires_approval": True, "timeout_hours": 1}
    second = {"name": "Clean up"}
    plan = await fresh(room, checkpoints=[first, second])
    checkpoint = await reached(room, plan)
    rows = (await shown_plan(room, plan))["checkpoints"]
    assert rows == [{**first, **checkpoint}, second]
    third = await reached(room, plan, name="Unplanned", requires_approval=False)
    assert (await shown_plan(room, plan))["checkpoints"][2] == third


async def test_what_refuses_a_question_refuses_the_checkpoint(room: World) -> None:
    plan = await fresh(room)
    stranger = await reach(room, plan, responders=["eve@elsewhere.example"])
    assert refusal(stranger) == (422, "recipient_not_allowed")
    assert refusal(await reach(room, plan, after_task="t-unknown")) == (422, "invalid_request")
    assert (await shown_plan(room, plan))["checkpoints"] == []
    assert await room.event_types({"intent_id": plan["intent_id"]}) == ["intent_created", "plan.created"]
    await reached(room, plan)
    assert refusal(await reach(room, plan)) == (409, "already_suspended")


async def test_a_checkpoint_needs_an_intent_that_is_active_and_a_plan_that_goes_on(room: World) -> None:
    draft = (await room.call("POST", "/v1/intents", json={"title": "t"})).json()
    assert refusal(await reach(room, await planned(room, draft))) == (409, "intent_not_active")
    plan = await fresh(room)
    await replanned(room, plan, state="cancelled")
    assert refusal(await reach(room, plan)) == (409, "plan_ended")


async def test_only_the_intents_agents_make_a_checkpoint_and_none_of_them_approves_it(room: World) -> None:
    plan = await fresh(room)
    assert refusal(await reach(room, plan, "other_agent")) == (404, "not_found")
    checkpoint = await reached(room, plan, responders=["alice@example.com"])
    assert refusal(await judge(room, checkpoint, "approve", "agent")) == (403, "forbidden")
    assert refusal(await judge(room, checkpoint, "approve", "second_operator")) == (403, "not_a_responder")
    unknown = await room.call("POST", "/v1/checkpoints/nope/approve", "operator", json={})
    assert refusal(unknown) == (404, "not_found")
    assert (await seen(room, plan))["status"] == "pending"


async def test_repeated_requests_make_one_checkpoint_and_one_answer(room: World) -> None:
    plan = await fresh(room)
    body, headers = {"name": "n", "requires_approval": True}, {"Idempotency-Key": f"reach-{plan['id']}"}
    path = f"/v1/plans/{plan['id']}/checkpoints"
    first, again = [await room.call("POST", path, json=body, headers=headers) for _ in range(2)]
    assert (again.json(), again.status_code, again.headers["idempotency-replayed"]) == (first.json(), 200, "true")
    path = f"/v1/checkpoints/{first.json()['id']}/approve"
    headers = {"Idempotency-Key": f"approve-{plan['id']}"}
    one, two = [await room.call("POST", path, "operator", json={}, headers=headers) for _ in range(2)]
    assert (one.status_code, two.json(), two.headers["idempotency-replayed"]) == (200, one.json(), "true")


async def test_a_checkpoint_that_nobody_can_be_asked_about_is_not_made(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/handraise.db"
    async with running(tmp_path, url, slack__default_channel=None, email__default_to=[]) as quiet:
        plan = await fresh(quiet)
        assert refusal(await reach(quiet, plan)) == (422, "no_recipient")
        assert (await shown_plan(quiet, plan))["checkpoints"] == []
        assert (await reached(quiet, plan, approvers=["alice@example.com"]))["status"] == "pending"
