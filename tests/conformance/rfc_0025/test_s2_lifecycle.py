"""RFC-0025 §2 and §3: the states an intent goes through, and the events that tell of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONFIRM: dict[str, Any] = {"question": "Deploy?", "response_type": "confirm"}


async def suspended(world: World, **fields: Any) -> dict[str, Any]:
    """The outcome of suspending an intent that was there before."""
    intent = await world.active_intent()
    response = await world.call("POST", f"/v1/intents/{intent['id']}/suspend", json={**CONFIRM, **fields})
    assert response.status_code == 201, response.text
    outcome: dict[str, Any] = response.json()
    assert outcome["intent_id"] == intent["id"]
    return outcome


async def change(world: World, asked: dict[str, Any], status: str, role: str = "agent") -> tuple[int, Any]:
    intent = await world.intent(asked)
    path, headers = f"/v1/intents/{asked['intent_id']}/status", {"If-Match": str(intent["version"])}
    response = await world.call("POST", path, role, json={"status": status}, headers=headers)
    return response.status_code, response.json()


async def test_asking_suspends_the_active_intent(room: World) -> None:
    asked = await suspended(room)
    assert (asked["outcome"], asked["status"]) == ("suspended", "suspended_awaiting_input")
    assert (await room.intent(asked))["status"] == "suspended_awaiting_input"


async def test_an_answer_makes_the_intent_active_again(room: World) -> None:
    asked = await suspended(room)
    await room.answer(asked, "yes")
    assert (await room.intent(asked))["status"] == "active"
    assert (await change(room, asked, "completed"))[0] == 200
    assert (await room.intent(asked))["status"] == "completed"


async def test_a_timeout_under_fail_abandons_the_intent(room: World) -> None:
    asked = await suspended(room, timeout_seconds=600, fallback_policy="fail")
    await room.advance(seconds=599)
    assert (await room.intent(asked))["status"] == "suspended_awaiting_input"
    await room.advance(seconds=1)
    assert (await room.intent(asked))["status"] == "abandoned"


async def test_an_intent_can_be_suspended_again_after_the_answer(room: World) -> None:
    first = await suspended(room)
    await room.answer(first, "yes")
    response = await room.call("POST", f"/v1/intents/{first['intent_id']}/suspend", json=CONFIRM)
    second = response.json()
    assert response.status_code == 201
    assert second["suspension_id"] != first["suspension_id"]
    assert (await room.answer(first, "no")).json()["detail"]["error"] == "already_answered"
    assert (await room.answer(second, "no")).status_code == 200


@pytest.mark.slow
async def test_an_intent_without_a_timeout_waits_for_ever(room: World) -> None:
    asked = await suspended(room)
    assert asked["expires_at"] is None
    await room.advance(days=400)
    assert (await room.intent(asked))["status"] == "suspended_awaiting_input"
    assert (await room.answer(asked, "yes")).status_code == 200


@pytest.mark.parametrize("status", ["active", "completed", "abandoned", "blocked", "draft"])
async def test_a_suspended_intent_can_not_be_moved_by_its_agent(room: World, status: str) -> None:
    asked = await suspended(room)
    code, body = await change(room, asked, status)
    assert code == 409, body
    assert (await room.intent(asked))["status"] == "suspended_awaiting_input"
    assert (await room.show(asked))["status"] == "open"


async def test_an_admin_may_abandon_a_suspended_intent(room: World) -> None:
    """API.md §7: status changes of a suspended intent are 409, but for an admin's abandonment."""
    asked = await suspended(room, resume={"callback_url": room.agent.url})
    code, body = await change(room, asked, "abandoned", "admin")
    assert code == 200, body
    assert (await room.intent(asked))["status"] == "abandoned"
    shown = await room.show(asked)
    assert (shown["status"], shown["resolution"]) == ("cancelled", "cancelled")
    assert (await room.answer(asked, "yes")).status_code == 409
    assert (await room.told(asked))["type"] == "intent.suspension_cancelled"


async def test_nobody_makes_an_intent_wait_for_longer_than_a_minute_by_naming_the_status(room: World) -> None:
    """The record has to follow (API.md §7)."""
    intent = await room.active_intent()
    code, _ = await change(room, {"intent_id": intent["id"]}, "suspended_awaiting_input")
    assert code == 200
    await room.advance(seconds=59)
    assert (await room.intent({"intent_id": intent["id"]}))["status"] == "suspended_awaiting_input"
    await room.advance(seconds=1)
    assert (await room.intent({"intent_id": intent["id"]}))["status"] == "active"


# --- §3: events -------------------------------------------------------------------------------------------------------


async def test_the_log_tells_of_the_suspension_and_of_the_answer(room: World) -> None:
    asked = await suspended(room)
    await room.answer(asked, "yes", metadata={"reason": "tests are green"})
    events = {event["event_type"]: event for event in await room.events(asked)}
    assert list(events) == ["intent_created", "intent.suspended", "intent.resumed"]
    assert events["intent.suspended"]["payload"]["suspension_id"] == asked["suspension_id"]
    resumed = events["intent.resumed"]["payload"]
    assert resumed["suspension_id"] == asked["suspension_id"]
    assert (resumed["value"], resumed["responded_by"]) == ("yes", "alice@example.com")


async def test_the_log_tells_of_the_expiry_and_of_nothing_else(room: World) -> None:
    asked = await suspended(room, timeout_seconds=60)
    await room.advance(seconds=60)
    events = await room.events(asked)
    assert [event["event_type"] for event in events][1:] == ["intent.suspended", "intent.suspension_expired"]
    assert events[-1]["payload"]["suspension_id"] == asked["suspension_id"]
    assert events[-1]["payload"]["reason"] == "timeout"


@pytest.mark.parametrize("policy", ["complete_with_fallback", "use_default_and_continue"])
async def test_going_on_with_the_fallback_is_no_resumption_in_the_log(room: World, policy: str) -> None:
    asked = await suspended(room, timeout_seconds=60, fallback_policy=policy, fallback_value="no")
    await room.advance(seconds=60)
    assert (await room.event_types(asked))[1:] == ["intent.suspended", "intent.suspension_expired"]


async def test_a_cancellation_is_in_the_log_with_its_reason(room: World) -> None:
    asked = await suspended(room)
    path = f"/v1/suspensions/{asked['suspension_id']}/cancel"
    await room.call("POST", path, json={"reason": "no longer needed"})
    event = (await room.events(asked))[-1]
    assert event["event_type"] == "intent.suspension_cancelled"
    assert event["payload"]["suspension_id"] == asked["suspension_id"]
    assert event["payload"]["reason"] == "no longer needed"


async def test_the_events_are_the_same_under_both_prefixes_for_this_story(room: World) -> None:
    asked = await suspended(room)
    await room.answer(asked, "yes")
    path = f"/intents/{asked['intent_id']}/events"
    ours, theirs = [(await room.call("GET", prefix + path)).json() for prefix in ("/v1", "/api/v1")]
    known = ["intent.suspended", "intent.resumed"]
    assert [event["event_type"] for event in ours["events"] if event["event_type"] in known] == known
    assert [event for event in theirs["events"] if event["event_type"] in known] == [
        event for event in ours["events"] if event["event_type"] in known
    ]
