"""RFC-0026 §4.4: the two new events, their payloads and their order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

LADDER: dict[str, Any] = {
    "max_attempts": 4,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email"},
        {"attempt": 3, "channel_hint": "pagerduty", "notify_to": "alice@example.com"},
    ],
}


async def test_every_further_attempt_is_renotified_and_every_rung_escalated_in_this_order(room: World) -> None:
    asked = await room.ask(timeout_seconds=3600, retry_policy=LADDER)
    await room.advance(hours=3, minutes=30)
    events = [event for event in await room.events(asked) if event["event_type"].startswith("intent.suspension_")]
    told = [(event["event_type"].removeprefix("intent.suspension_"), event["payload"]["attempt"]) for event in events]
    assert told == [("renotified", 2), ("escalated", 2), ("renotified", 3), ("escalated", 3), ("renotified", 4)]
    payloads = [event["payload"] for event in events]
    suspension_id = asked["suspension_id"]
    assert payloads[2] == {
        "suspension_id": suspension_id,
        "attempt": 3,
        "max_attempts": 4,
        "channel_hint": "pagerduty",
        "notify_to": "alice@example.com",
        "next_attempt_at": asked["ladder"][3]["due_at"],
    }
    assert payloads[3] == {
        "suspension_id": suspension_id,
        "attempt": 3,
        "escalated_to": "alice@example.com",
        "channel_hint": "pagerduty",
    }
    assert payloads[1]["escalated_to"] is None and payloads[0]["notify_to"] is None
    assert payloads[4] == {
        "suspension_id": suspension_id,
        "attempt": 4,
        "max_attempts": 4,
        "channel_hint": "slack",
        "notify_to": None,
        "next_attempt_at": None,
    }


async def test_the_first_attempt_is_no_renotification(room: World) -> None:
    policy = {**LADDER, "escalation_ladder": [{"attempt": 1, "channel_hint": "email"}]}
    asked = await room.ask(timeout_seconds=3600, retry_policy=policy)
    assert "intent.suspension_renotified" not in await room.event_types(asked)


async def test_the_expiry_comes_after_all_attempts_and_is_the_last_event(room: World) -> None:
    asked = await room.ask(timeout_seconds=60, retry_policy={"max_attempts": 3, "interval_seconds": 60})
    await room.advance(hours=1)
    types = await room.event_types(asked)
    assert [one for one in types if one != "intent_created"] == [
        "intent.suspended",
        "intent.suspension_renotified",
        "intent.suspension_renotified",
        "intent.suspension_expired",
    ]


async def test_an_attempt_does_not_move_the_intents_version(room: World) -> None:
    """API.md §1: opening and ending bump it; attempts and claims never do."""
    asked = await room.ask(timeout_seconds=60, retry_policy={"max_attempts": 3, "interval_seconds": 60})
    opened = (await room.intent(asked))["version"]
    await room.advance(seconds=61)
    assert (await room.show(asked))["attempt"] == 2
    assert (await room.intent(asked))["version"] == opened
    await room.answer(asked, "approve")
    assert (await room.intent(asked))["version"] == opened + 1


async def test_nothing_is_asked_again_after_the_answer(room: World) -> None:
    asked = await room.ask("Only once, please?", timeout_seconds=60, retry_policy={"max_attempts": 5})
    await room.answer(asked, "approve")
    before = await room.event_types(asked)
    await room.advance(hours=1)
    assert await room.event_types(asked) == before
    posted = [message for message in room.slack.workspace.messages if "Only once, please?" in str(message)]
    assert len(posted) == 1
