"""Asking (API.md §2): the suspended outcome, the intent that is made, and whom each attempt asks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vendors.slack import shown
from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")

RESUME = {
    "session_id": "sess-1",
    "invocation_id": "inv-1",
    "correlation_id": "corr-1",
    "signal_id": "refund-12345",
    "signal_metadata": {"kind": "refund"},
    "state": {"cart": 7},
}


async def test_the_outcome_has_all_that_the_agent_needs_to_go_on(room: World) -> None:
    policy = {"max_attempts": 2, "interval_seconds": 600}
    asked = await room.ask(responders=["group:finance", "alice@example.com"], resume=RESUME, retry_policy=policy)
    assert {name: asked[name] for name in ("outcome", "status", "session_id", "invocation_id", "correlation_id")} == {
        "outcome": "suspended",
        "status": "suspended_awaiting_input",
        "session_id": "sess-1",
        "invocation_id": "inv-1",
        "correlation_id": "corr-1",
    }
    assert asked["descriptor"] == {"signal_id": "refund-12345", "metadata": {"kind": "refund"}}
    assert asked["ref"].startswith("HR-")
    assert asked["expires_at"] == after(asked, minutes=20)
    assert asked["ladder"] == [
        {
            "attempt": number,
            "due_at": after(asked, minutes=10 * (number - 1)),
            "channel": "slack",
            "notify_to": None,
            "recipients": ["group:finance", "alice@example.com"],
        }
        for number in (1, 2)
    ]
    record = asked["suspension"]
    assert (record["id"], record["intent_id"]) == (asked["suspension_id"], asked["intent_id"])
    assert {name: record[name] for name in ("attempt", "max_attempts", "claimed_by", "claim_until")} == {
        "attempt": 1,
        "max_attempts": 2,
        "claimed_by": None,
        "claim_until": None,
    }
    assert record["next_attempt_at"] == after(asked, minutes=10)


async def test_a_suspension_by_itself_makes_its_intent(room: World) -> None:
    asked = await room.ask("Refund the oldest order?")
    intent = await room.intent(asked)
    assert (intent["title"], intent["status"]) == ("Refund the oldest order?", "suspended_awaiting_input")
    assert intent["created_by"] == "refund-agent"


async def test_suspending_an_intent_leaves_what_it_was(room: World) -> None:
    body = {"title": "The month's accounts", "status": "active", "state": {"page": 3}}
    intent = (await room.call("POST", "/v1/intents", json=body)).json()
    question = {"question": "Close the month?", "response_type": "confirm"}
    asked = (await room.call("POST", f"/v1/intents/{intent['id']}/suspend", json=question)).json()
    shown_intent = await room.intent(asked)
    assert (shown_intent["id"], shown_intent["title"]) == (intent["id"], "The month's accounts")
    assert shown_intent["state"]["page"] == 3
    assert shown_intent["state"]["_suspension"]["id"] == asked["suspension_id"]


async def test_references_differ_and_find_the_question(room: World) -> None:
    refs = {(await room.ask())["ref"] for _ in range(5)}
    assert len(refs) == 5


@pytest.mark.parametrize(
    ("fields", "recipients"),
    [
        ({}, ["slack:C0OPS"]),
        ({"responders": ["carol@example.com"]}, ["carol@example.com"]),
        ({"responders": ["carol@example.com"], "notify_to": "slack:C0OPS"}, ["slack:C0OPS"]),
        ({"notify_to": "bob@example.com"}, ["bob@example.com"]),
        ({"notify_to": "email:alice@example.com"}, ["slack:C0OPS"]),
        ({"notify_to": "email:alice@example.com", "responders": ["carol@example.com"]}, ["carol@example.com"]),
    ],
)
async def test_the_first_that_fits_the_channel_is_asked(
    room: World, fields: dict[str, Any], recipients: list[str]
) -> None:
    asked = await room.ask(**fields)
    assert asked["ladder"][0]["recipients"] == recipients


async def test_every_responder_that_is_reachable_there_is_asked(room: World) -> None:
    asked = await room.ask("Who of you?", responders=["bob@example.com", "carol@example.com", "zoe@example.com"])
    assert asked["ladder"][0]["recipients"] == ["bob@example.com", "carol@example.com"]
    posted = [message.channel for message in room.slack.workspace.posted() if "Who of you?" in shown(message)]
    assert sorted(posted) == ["D0BOB", "D0CAROL"]


async def test_who_is_in_a_group_and_named_too_is_asked_once(room: World) -> None:
    await room.ask("Only once each?", responders=["group:finance", "alice@example.com"])
    posted = [message.channel for message in room.slack.workspace.posted() if "Only once each?" in shown(message)]
    assert sorted(posted) == ["D0ALICE", "D0BOB"]


async def test_a_rungs_recipient_is_asked_on_its_attempt_alone(room: World) -> None:
    rungs = [{"attempt": 2, "notify_to": "carol@example.com"}]
    policy = {"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": rungs}
    asked = await room.ask(notify_to="bob@example.com", timeout_seconds=60, retry_policy=policy)
    assert [rung["recipients"] for rung in asked["ladder"]] == [
        ["bob@example.com"],
        ["carol@example.com"],
        ["bob@example.com"],
    ]


async def test_without_a_channel_of_its_own_the_configured_one_is_used(room: World) -> None:
    asked = await room.ask(channel_hint=None)
    assert asked["ladder"][0]["channel"] == "slack"


@pytest.mark.parametrize("channel", ["slack", "email", "pagerduty"])
async def test_each_channel_can_be_the_first(room: World, channel: str) -> None:
    asked = await room.ask(f"First on {channel}?", channel_hint=channel)
    assert asked["ladder"][0]["channel"] == channel
    [delivery] = [item for item in await room.timeline(asked) if item["kind"] == "delivery"]
    assert (delivery["channel"], delivery["status"]) == (channel, "delivered")
