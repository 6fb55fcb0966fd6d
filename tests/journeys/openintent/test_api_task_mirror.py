"""Tasks wait while their intent does (RFC-0026 §2 rule 3; API.md §7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.openintent.test_api_tasks import change, created, moved
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHOICES = ["approve", "deny"]


async def suspend(world: World, intent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    body = {"question": "Refund?", "choices": CHOICES, **fields}
    response = await world.call("POST", f"/v1/intents/{intent['id']}/suspend", json=body)
    assert response.status_code == 201, response.text
    asked: dict[str, Any] = response.json()
    return asked


async def shown(world: World, task: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await world.call("GET", f"/v1/tasks/{task['id']}")).json()
    return found


def said(task: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return task["status"], task["blocked_reason"], task["suspended_intent_id"]


RUNS = ("running", None, None)


async def test_running_tasks_wait_with_their_intent_and_run_on_with_it(room: World) -> None:
    intent = await room.active_intent()
    running = [await moved(room, await created(room, intent), "running") for _ in range(3)]
    pending = await created(room, intent)
    asked = await suspend(room, intent)
    for task in running:
        assert said(await shown(room, task)) == ("blocked", "intent_suspended", intent["id"])
    assert said(await shown(room, pending)) == ("pending", None, None)
    assert (await room.answer(asked, "approve")).status_code == 200
    assert [said(await shown(room, task)) for task in running] == [RUNS] * 3
    lines = [line for line in await room.events(asked) if len(line["payload"].get("task_ids", [])) == 3]
    assert [line["event_type"] for line in lines] == ["task.blocked", "task.unblocked"]


async def test_a_cancelled_question_lets_tasks_run_on(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    asked = await suspend(room, intent)
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    assert said(await shown(room, task)) == RUNS


async def test_silence_that_continues_lets_tasks_run_on(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    fallback = {"fallback_policy": "complete_with_fallback", "fallback_value": "deny"}
    await suspend(room, intent, timeout_seconds=60, **fallback)
    await room.advance(minutes=2)
    assert said(await shown(room, task)) == RUNS


async def test_tasks_fail_with_an_intent_that_silence_abandons(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    asked = await suspend(room, intent, timeout_seconds=60)
    await room.advance(minutes=2)
    reason = (await room.intent(asked))["abandonment_reason"]
    task = await shown(room, task)
    assert (said(task), task["error"]) == (("failed", None, None), reason)
    assert reason and task["completed_at"]


async def test_a_record_that_never_comes_lets_tasks_run_on(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    headers = {"If-Match": str(intent["version"])}
    body = {"status": "suspended_awaiting_input"}
    await room.call("POST", f"/v1/intents/{intent['id']}/status", json=body, headers=headers)
    assert said(await shown(room, task)) == ("blocked", "intent_suspended", intent["id"])
    await room.advance(minutes=2)
    assert said(await shown(room, task)) == RUNS


async def test_a_task_that_starts_while_its_intent_waits_waits_with_it(room: World) -> None:
    intent = await room.active_intent()
    task = await created(room, intent)
    asked = await suspend(room, intent)
    response = await change(room, task, status="running")
    assert (response.status_code, said(response.json())) == (200, ("blocked", "intent_suspended", intent["id"]))
    assert response.json()["started_at"] is not None
    refused = await change(room, response.json(), status="running")
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "invalid_transition")
    await room.answer(asked, "approve")
    assert said(await shown(room, task)) == RUNS


async def test_an_agents_own_block_stays_its_own(room: World) -> None:
    intent = await room.active_intent()
    own = await moved(room, await created(room, intent), "running")
    own = (await change(room, own, status="blocked", blocked_reason="intent_suspended")).json()
    assert said(own) == ("blocked", "intent_suspended", None)
    taken = await moved(room, await created(room, intent), "running")
    asked = await suspend(room, intent)
    taken = (await change(room, await shown(room, taken), blocked_reason="the vendor is closed")).json()
    await room.answer(asked, "approve")
    assert said(await shown(room, own)) == ("blocked", "intent_suspended", None)
    assert said(await shown(room, taken)) == ("blocked", "the vendor is closed", None)


async def test_an_agent_that_repeats_our_reason_takes_nothing_over(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    asked = await suspend(room, intent)
    body = {"status": "blocked", "blocked_reason": "intent_suspended"}
    assert (await change(room, await shown(room, task), **body)).status_code == 200
    await room.answer(asked, "approve")
    assert said(await shown(room, task)) == RUNS


async def test_a_task_that_waits_can_be_cancelled(room: World) -> None:
    intent = await room.active_intent()
    task = await moved(room, await created(room, intent), "running")
    asked = await suspend(room, intent)
    gone = (await change(room, await shown(room, task), status="cancelled")).json()
    assert said(gone) == ("cancelled", None, None)
    await room.answer(asked, "approve")
    assert said(await shown(room, task)) == ("cancelled", None, None)


async def test_tasks_of_an_intent_that_waits_for_another_run_on(room: World) -> None:
    upstream = await room.active_intent()
    body = {"title": "after", "depends_on": [upstream["id"]]}
    downstream = (await room.call("POST", "/v1/intents", json=body)).json()
    headers = {"If-Match": str(downstream["version"])}
    await room.call("POST", f"/v1/intents/{downstream['id']}/status", json={"status": "active"}, headers=headers)
    task = await moved(room, await created(room, downstream), "running")
    await suspend(room, upstream)
    assert (await room.intent({"intent_id": downstream["id"]}))["status"] == "blocked"
    assert said(await shown(room, task)) == RUNS
