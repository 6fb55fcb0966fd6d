"""What everybody who was asked in Slack sees of a question, wherever it was asked: while it is open, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

from bot.sandbox.slack.faults import DropAfterStoring, RateLimited
from bot.sandbox.slack.world import Message
from core.store import outbox
from tests.vendors.slack import shown
from tests.vendors.slack_faults import SaysNo, ServerErrorAfterStoring, Slow
from tests.world import CHANNEL, World

HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


def asking(world: World) -> list[Message]:
    """The messages in which there is still a choice to press."""
    return [message for message in world.slack.workspace.messages if message.button("ans:0") is not None]


async def ask_everywhere(world: World) -> dict[str, Any]:
    """In a channel, and to two people by themselves."""
    return await world.ask(
        notify_to="group:finance",
        responders=["group:finance"],
        retry_policy={**HOURLY, "escalation_ladder": [{"attempt": 2, "notify_to": f"slack:{CHANNEL}"}]},
    )


async def test_every_message_in_every_place_says_who_answered_what_when_and_how(any_world: World) -> None:
    world = any_world
    asked = await ask_everywhere(world)
    await world.advance(hours=1)
    assert {message.channel for message in asking(world)} == {"D0ALICE", "D0BOB", CHANNEL}
    await world.press("U0BOB", _in(world, CHANNEL), "Deny refund")
    assert asking(world) == []
    said = [message for message in world.slack.workspace.messages if "Answered “Deny refund”" in shown(message)]
    assert len(said) == 3
    at = world.clock.now()
    for message in said:
        assert f"by bob@example.com via Slack, {at:%Y-%m-%d %H:%M} UTC." in shown(message)
    assert (await world.told(asked))["data"]["value"] == "deny"


def _in(world: World, channel: str) -> Message:
    return next(message for message in asking(world) if message.channel == channel)


async def test_an_answer_on_another_channel_is_shown_with_that_channel(world: World) -> None:
    asked = await ask_everywhere(world)
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    assert asking(world) == []
    await world.slack.expect_message("Answered “Approve refund” by alice@example.com via api")


async def test_what_the_agent_went_on_with_after_silence_is_shown(world: World) -> None:
    await world.ask(timeout_seconds=3600, fallback_policy="complete_with_fallback", fallback_value="deny")
    await world.advance(hours=1)
    assert asking(world) == []
    await world.slack.expect_message("The agent went on with “Deny refund”.")


async def test_a_cancelled_question_says_so(world: World) -> None:
    asked = await ask_everywhere(world)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={"reason": None})
    await world.settle()
    assert asking(world) == []
    await world.slack.expect_message("Cancelled by refund-agent")


@pytest.mark.parametrize(
    "fault", [RateLimited(600), ServerErrorAfterStoring(), DropAfterStoring(), SaysNo("fatal_error")]
)
async def test_an_edit_that_fails_is_tried_again_until_it_is_there(world: World, fault: Any) -> None:
    asked = await world.ask()
    for _ in range(3):
        world.slack.fail_next(fault, "chat.update")
    await world.answer(asked, "approve")
    await world.settle()
    await world.advance(hours=2)
    assert asking(world) == []
    await world.slack.expect_message("Answered “Approve refund”")


@pytest.mark.parametrize("code", ["message_not_found", "channel_not_found", "is_archived", "edit_window_closed"])
async def test_a_message_that_can_never_be_edited_is_let_go(world: World, code: str) -> None:
    asked = await world.ask()
    world.slack.fail_next(SaysNo(code), "chat.update")
    await world.answer(asked, "approve")
    await world.settle()
    withdrawals = await rows(world, asked, "withdraw")
    assert [(row["status"], row["reason"]) for row in withdrawals] == [("refused", code)]
    await world.advance(days=4)
    assert await rows(world, asked, "withdraw") == withdrawals


async def test_a_post_that_was_recovered_is_edited_too(world: World) -> None:
    world.slack.fail_next(DropAfterStoring(), "chat.postMessage")
    asked = await world.ask()
    await world.answer(asked, "approve")
    await world.settle()
    await world.advance(minutes=5)
    assert len(world.slack.workspace.posted(CHANNEL)) == 1
    assert asking(world) == []


# --- While it is open -------------------------------------------------------------------------------------------------


async def test_a_claim_shows_on_every_message_and_leaves_the_buttons(any_world: World) -> None:
    world = any_world
    asked = await ask_everywhere(world)
    await world.press("U0ALICE", _in(world, "D0ALICE"), "I'm on it")
    until = f"{world.clock.now():%Y-%m-%d} "
    for message in asking(world):
        assert f"alice@example.com is on it until {until}" in shown(message)
    assert {message.channel for message in asking(world)} == {"D0ALICE", "D0BOB"}
    await world.press("U0BOB", _in(world, "D0BOB"), "Approve refund")
    assert asking(world) == []
    assert (await world.told(asked))["data"]["responded_by"] == "bob@example.com"


async def test_a_partial_answer_shows_how_many_are_missing(world: World) -> None:
    await world.ask(notify_to="group:finance", responders=["group:finance"], answers_required=2)
    await world.press("U0ALICE", _in(world, "D0ALICE"), "Approve refund")
    assert "So far: alice@example.com." in shown(_in(world, "D0BOB"))
    await world.press("U0BOB", _in(world, "D0BOB"), "Approve refund")
    assert asking(world) == []
    await world.slack.expect_message("by alice@example.com and bob@example.com via Slack")


async def test_a_hand_over_shows_on_what_was_out(world: World) -> None:
    asked = await world.ask(notify_to="alice@example.com", responders=["alice@example.com"])
    path = f"/v1/suspensions/{asked['suspension_id']}/assign"
    assert (await world.call("POST", path, "operator", json={"to": "bob@example.com"})).status_code == 200
    await world.settle()
    assert "Handed over to bob@example.com by alice@example.com." in shown(_in(world, "D0ALICE"))


async def test_edits_that_wait_are_one_and_the_end_takes_their_place(world: World) -> None:
    asked = await world.ask()
    for _ in range(3):
        world.slack.fail_next(RateLimited(600), "chat.update")
    claim = f"/v1/suspensions/{asked['suspension_id']}/claim"
    for seconds in (60, 120, 180):
        assert (await world.call("POST", claim, "operator", json={"seconds": seconds})).status_code == 200
        await world.settle()
    assert [row["status"] for row in await rows(world, asked, "withdraw")] == ["pending"]
    world.slack.faults.clear()
    await world.answer(asked, "approve")
    await world.settle()
    assert sorted(row["status"] for row in await rows(world, asked, "withdraw")) == ["dropped", "pending"]
    await world.advance(hours=1)
    assert asking(world) == []
    assert sorted(row["status"] for row in await rows(world, asked, "withdraw")) == ["delivered", "dropped"]


async def test_an_edit_that_lands_after_the_end_is_followed_by_the_end(world: World) -> None:
    """Slack takes its time over a claim's edit; meanwhile the question is answered, and the message says so."""
    asked = await world.ask()
    [message] = asking(world)
    slow = Slow(seconds=60)
    world.slack.fail_next(slow, "chat.update")
    claim = f"/v1/suspensions/{asked['suspension_id']}/claim"
    await world.call("POST", claim, "operator", json={"seconds": 600})
    await world.slack.expect_message("is on it until")
    late = deepcopy(message)
    await world.answer(asked, "approve")
    await world.slack.expect_message("Answered “Approve refund”")
    message.blocks, message.text = late.blocks, late.text  # only now it lands
    slow.released.set()
    await world.settle()
    assert asking(world) == []
    await world.slack.expect_message("Answered “Approve refund”")


@pytest.mark.parametrize(
    ("user", "label"), [("U0ALICE", "Approve refund"), ("U0BOB", "Deny refund"), ("U0BOB", "I'm on it")]
)
async def test_whoever_presses_a_message_whose_last_edit_was_lost_brings_it_up_to_date(
    user: str, label: str, world: World
) -> None:
    asked = await world.ask()
    [message] = asking(world)
    before = deepcopy(message)
    await world.answer(asked, "approve")
    await world.settle()
    message.blocks, message.text = before.blocks, before.text  # Slack has accepted the edit, and nothing came of it
    await world.advance(minutes=2)

    await world.press(user, message, label)

    assert asking(world) == []
    await world.slack.expect_message("Answered “Approve refund”")


async def rows(world: World, asked: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """What was or will be sent about the question, of one kind, oldest first."""
    found = await world.service.database.read(lambda conn: outbox.of_suspension(conn, asked["suspension_id"]))
    return [{"status": row.status.value, "reason": row.reason} for row in found if row.kind.value == kind]
