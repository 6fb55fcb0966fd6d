"""A callback that is dead or refused is one failure of its intent, exhausted at once (API.md §5, RFC-0010)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rfc_0010.failing import BACKUP, OWNER, Backup, failures, logged, members, set_policy
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

TAKEN_OVER: dict[str, Any] = {"strategy": "fixed", "max_retries": 9, "fallback_agent_id": BACKUP}


async def lost(world: World, refused: bool, policy: dict[str, Any] | None = TAKEN_OVER) -> dict[str, Any]:
    """Answered, and the agent is gone, or does not answer for as long as it is tried."""
    asked = await world.ask()
    if policy is not None:
        await set_policy(world, {"id": asked["intent_id"]}, **policy)
    world.agent.answers[:] = [410] if refused else [500] * 1000
    await world.answer(asked, "approve")
    await world.advance(hours=0 if refused else 80)
    world.agent.answers.clear()
    return asked


@pytest.mark.parametrize(("refused", "code"), [(True, "CALLBACK_REFUSED"), (False, "CALLBACK_DEAD")])
async def test_it_is_a_failure_of_whoever_asked_and_the_fallback_agent_takes_over(
    room: World, backup: Backup, refused: bool, code: str
) -> None:
    await room.call("PUT", f"/v1/agents/{BACKUP}/callback", "other_agent", json={"url": backup.url})
    asked = await lost(room, refused)
    intent = {"id": asked["intent_id"]}
    [failure] = await failures(room, intent)
    assert (failure["agent_id"], failure["error_code"], failure["attempt_number"]) == (OWNER, code, 1)
    assert (failure["retry_scheduled_at"], failure["fallback_agent_id"]) == (None, BACKUP)
    assert failure["metadata"]["suspension_id"] == asked["suspension_id"]
    [triggered] = await logged(room, intent, "fallback_triggered")
    assert (triggered["reason"], triggered["failure_id"]) == ("not_retryable", failure["id"])
    assert await members(room, intent) == {BACKUP: "fallback"}
    [told] = [one["data"] for one in backup.told if one["data"]["intent_id"] == asked["intent_id"]]
    assert (told["suspension_id"], told["error_code"]) == (asked["suspension_id"], code)
    seen = await room.call("GET", f"/v1/intents/{asked['intent_id']}", "other_agent")
    assert seen.json()["state"]["_suspension"]["response"] == "approve"


@pytest.mark.parametrize("refused", [True, False])
async def test_without_a_policy_it_is_only_recorded(room: World, refused: bool) -> None:
    asked = await lost(room, refused, None)
    intent = {"id": asked["intent_id"]}
    assert len(await failures(room, intent)) == 1
    assert await logged(room, intent, "fallback_triggered") == [] and await members(room, intent) == {}


@pytest.mark.parametrize("refused", [True, False])
async def test_redriven_and_lost_again_it_is_still_one_failure(room: World, refused: bool) -> None:
    asked = await lost(room, refused)
    [failure] = await failures(room, {"id": asked["intent_id"]})
    before = len(room.agent.told_of(asked))
    redriven = await room.call("POST", f"/v1/callbacks/{failure['metadata']['callback_id']}/redrive")
    assert redriven.status_code == 200
    room.agent.answers[:] = [410]
    await room.settle()
    assert len(room.agent.told_of(asked)) == before + 1
    assert await failures(room, {"id": asked["intent_id"]}) == [failure]
    assert len(await logged(room, {"id": asked["intent_id"]}, "fallback_triggered")) == 1


async def test_a_callback_that_arrives_is_no_failure(room: World) -> None:
    asked = await room.ask()
    room.agent.answers[:] = [503, 200]
    await room.answer(asked, "approve")
    await room.advance(minutes=1)
    assert await failures(room, {"id": asked["intent_id"]}) == []


async def test_an_agent_that_is_no_longer_asked_back_has_not_failed(room: World) -> None:
    asked = await room.ask()
    room.agent.answers[:] = [503]
    path = f"/v1/suspensions/{asked['suspension_id']}"
    await room.call("POST", f"{path}/clarify", "operator", json={"question": "Which card?"})
    await room.settle()
    await room.call("POST", f"{path}/clarification", json={"text": "The blue one."})
    await room.advance(minutes=1)
    assert await failures(room, {"id": asked["intent_id"]}) == []


async def test_an_abandoned_intent_is_taken_over_by_nobody(room: World) -> None:
    asked = await room.ask(timeout_seconds=60)
    intent = {"id": asked["intent_id"]}
    await set_policy(room, intent, **TAKEN_OVER)
    room.agent.answers[:] = [410]
    await room.advance(minutes=2)
    [failure] = await failures(room, intent)
    assert (failure["error_code"], failure["fallback_agent_id"]) == ("CALLBACK_REFUSED", None)
