"""RFC-0010, "Cross-RFC Interactions": tasks have a policy of their own. Leases: ``test_fallback_agents.py``."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.conformance.rfc_0010.failing import BACKUP, fail, intent_with, logged, post_failure
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWN: dict[str, Any] = {"strategy": "linear", "max_retries": 1, "base_delay_ms": 5000, "failure_threshold": 9}


async def task_of(world: World, intent: dict[str, Any], role: str = "agent", **fields: Any) -> Any:
    body = {"intent_id": intent["id"], "name": "Look it up", **fields}
    return await world.call("POST", "/v1/tasks", role, json=body)


async def test_a_tasks_policy_overrides_its_intents_as_a_whole(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", max_retries=9, fallback_agent_id=BACKUP)
    task = (await task_of(room, intent, retry_policy=OWN)).json()
    assert task["retry_policy"].items() >= {**OWN, "max_delay_ms": 60000, "fallback_agent_id": None}.items()
    failure = await fail(room, intent, task_id=task["id"])
    after = datetime.fromisoformat(failure["retry_scheduled_at"]) - datetime.fromisoformat(failure["occurred_at"])
    assert (failure["task_id"], after) == (task["id"], timedelta(seconds=5))
    last = await fail(room, intent, task_id=task["id"])
    assert (last["retry_scheduled_at"], last["fallback_agent_id"]) == (None, None)
    assert (await fail(room, intent))["attempt_number"] == 1  # the intent's own row is another


async def test_a_task_without_a_policy_has_its_intents(room: World) -> None:
    intent = await intent_with(room, strategy="none", fallback_agent_id=BACKUP)
    task = (await task_of(room, intent)).json()
    assert (await fail(room, intent, task_id=task["id"]))["fallback_agent_id"] == BACKUP
    [taken] = await logged(room, intent, "fallback_triggered")
    assert taken["task_id"] == task["id"]
    assert (await fail(room, intent))["fallback_agent_id"] == BACKUP  # of the intent itself: another exhaustion


async def test_the_retry_of_a_task_is_an_event_of_the_task(room: World) -> None:
    intent = await room.active_intent()
    task = (await task_of(room, intent, retry_policy=OWN)).json()
    failure = await fail(room, intent, task_id=task["id"])
    await room.advance(seconds=5)
    [due] = await logged(room, intent, "task.retrying")
    assert (due["task_id"], due["failure_id"], due["attempt_number"]) == (task["id"], failure["id"], 2)
    assert await logged(room, intent, "intent.retry_due") == []


async def test_a_task_of_another_intent_is_refused(room: World) -> None:
    intent, other = await room.active_intent(), await room.active_intent()
    task = (await task_of(room, other)).json()
    refused = await post_failure(room, intent, task_id=task["id"])
    assert refused.status_code == 422 and refused.json()["detail"]["fields"][0]["path"] == "task_id"


WRONG: list[tuple[str, Any]] = [("strategy", "now"), ("max_retries", 10**9), ("base_delay_ms", 60_001), ("no", 1)]


@pytest.mark.parametrize(("name", "value"), WRONG)
async def test_a_tasks_policy_that_can_not_be_is_refused_by_name(room: World, name: str, value: Any) -> None:
    intent = await room.active_intent()
    refused = await task_of(room, intent, retry_policy={**OWN, name: value})
    assert refused.status_code == 422
    assert refused.json()["detail"]["fields"][0]["path"] == f"retry_policy.{name}"


async def test_a_task_names_a_fallback_agent_by_the_intents_owner_alone(room: World) -> None:
    intent = await room.active_intent()
    await room.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})
    naming = {**OWN, "fallback_agent_id": "somebody"}
    assert (await task_of(room, intent, "other_agent", retry_policy=naming)).status_code == 403
    task = (await task_of(room, intent, "other_agent", retry_policy=OWN)).json()
    path, headers = f"/v1/tasks/{task['id']}", {"If-Match": str(task["version"])}
    patch = {"json": {"retry_policy": naming}, "headers": headers}
    assert (await room.call("PATCH", path, "other_agent", **patch)).status_code == 403
    assert (await room.call("PATCH", path, "agent", **patch)).json()["retry_policy"]["fallback_agent_id"] == "somebody"
