"""RFC-0026 §4.2: attempts, their times and channels, the end, and one id for all of them."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest

from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOURLY: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email", "notify_to": None},
        {"attempt": 3, "channel_hint": "pagerduty", "notify_to": "bob@example.com"},
    ],
    "final_fallback_policy": "fail",
}
_numbers = itertools.count(1)


async def ask(world: World, policy: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Ask something that nobody has asked before."""
    question = f"Refund order {next(_numbers)}?"
    return await world.ask(question, **{"timeout_seconds": 3600, "retry_policy": policy or HOURLY, **fields})


async def renotified(world: World, asked: dict[str, Any]) -> list[tuple[str, int, str]]:
    """When which attempt was made, and where."""
    return [
        (event["created_at"], event["payload"]["attempt"], event["payload"]["channel_hint"])
        for event in await world.events(asked)
        if event["event_type"] == "intent.suspension_renotified"
    ]


def posted(world: World, asked: dict[str, Any]) -> list[str]:
    """The Slack channels in which the question was posted, oldest first."""
    question = asked["suspension"]["question"]
    return [message.channel for message in world.slack.workspace.posted() if question in str(message)]


def mailed(world: World, asked: dict[str, Any]) -> list[str]:
    question = asked["suspension"]["question"]
    return [mail.recipient for mail in world.mailbox.mails if question in mail.subject]


async def test_1_the_first_attempt_fires_at_once(room: World) -> None:
    asked = await ask(room)
    assert posted(room, asked) == ["C0OPS"]
    shown = await room.show(asked)
    assert (shown["attempt"], shown["max_attempts"]) == (1, 3)
    assert shown["next_attempt_at"] == after(asked, hours=1)
    assert await renotified(room, asked) == []


async def test_2_after_each_interval_of_silence_the_next_attempt_fires(room: World) -> None:
    asked = await ask(room)
    await room.advance(seconds=3599)
    assert (await room.show(asked))["attempt"] == 1
    await room.advance(seconds=1)
    shown = await room.show(asked)
    assert (shown["attempt"], shown["next_attempt_at"]) == (2, after(asked, hours=2))
    await room.advance(hours=1)
    shown = await room.show(asked)
    assert (shown["attempt"], shown["next_attempt_at"]) == (3, None)
    assert await renotified(room, asked) == [
        (after(asked, hours=1), 2, "email"),
        (after(asked, hours=2), 3, "pagerduty"),
    ]


async def test_2_an_interval_shorter_than_the_timeout_sets_the_pace(room: World) -> None:
    asked = await ask(room, {"max_attempts": 3, "interval_seconds": 600})
    assert asked["expires_at"] == after(asked, minutes=30)
    await room.advance(seconds=1800)
    assert await renotified(room, asked) == [
        (after(asked, minutes=10), 2, "slack"),
        (after(asked, minutes=20), 3, "slack"),
    ]
    assert (await room.show(asked))["resolution"] == "expired"


async def test_3_each_rung_moves_the_question_to_its_channel_for_its_attempt_only(room: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email", "notify_to": "carol@example.com"}]
    asked = await ask(room, {"max_attempts": 3, "interval_seconds": 600, "escalation_ladder": ladder})
    assert [(rung["channel"], rung["notify_to"], rung["recipients"]) for rung in asked["ladder"]] == [
        ("slack", None, ["slack:C0OPS"]),
        ("email", "carol@example.com", ["carol@example.com"]),
        ("slack", None, ["slack:C0OPS"]),
    ]
    await room.advance(seconds=1199)
    assert (posted(room, asked), mailed(room, asked)) == (["C0OPS"], ["carol@example.com"])
    await room.advance(seconds=1)
    assert (posted(room, asked), mailed(room, asked)) == (["C0OPS", "C0OPS"], ["carol@example.com"])


async def test_3_a_rung_without_a_channel_changes_the_recipient_alone(room: World) -> None:
    ladder = [{"attempt": 2, "notify_to": "bob@example.com"}]
    asked = await ask(room, {"max_attempts": 2, "interval_seconds": 600, "escalation_ladder": ladder})
    await room.advance(seconds=600)
    assert posted(room, asked) == ["C0OPS", "D0BOB"]


async def test_3_the_first_attempt_may_have_a_rung_too(room: World) -> None:
    ladder = [{"attempt": 1, "channel_hint": "email"}]
    asked = await ask(room, {"max_attempts": 2, "interval_seconds": 600, "escalation_ladder": ladder})
    assert (posted(room, asked), mailed(room, asked)) == ([], ["alice@example.com"])
    assert [rung["channel"] for rung in asked["ladder"]] == ["email", "slack"]


async def test_4_after_the_last_interval_the_final_fallback_is_applied(room: World) -> None:
    asked = await ask(room)
    await room.advance(seconds=3 * 3600 - 1)
    assert (await room.show(asked))["status"] == "open"
    await room.advance(seconds=1)
    assert (await room.show(asked))["status"] == "expired"
    assert (await room.intent(asked))["status"] == "abandoned"
    assert (await room.event_types(asked))[-1] == "intent.suspension_expired"
    assert (await room.told(asked))["data"]["error"] == "input_timeout"


async def test_4_the_final_fallback_may_be_to_go_on(room: World) -> None:
    policy = {**HOURLY, "final_fallback_policy": "complete_with_fallback"}
    asked = await ask(room, policy, fallback_value="deny")
    await room.advance(hours=3)
    assert (await room.intent(asked))["status"] == "active"
    assert (await room.told(asked))["data"]["value"] == "deny"


@pytest.mark.parametrize(("attempts", "interval", "total"), [(1, 60, 60), (3, 3600, 10_800), (50, 7, 350)])
async def test_5_the_window_is_interval_times_attempts(room: World, attempts: int, interval: int, total: int) -> None:
    asked = await ask(room, {"max_attempts": attempts, "interval_seconds": interval})
    assert asked["expires_at"] == after(asked, seconds=total)
    assert [rung["due_at"] for rung in asked["ladder"]] == [
        after(asked, seconds=interval * number) for number in range(attempts)
    ]


@pytest.mark.slow
async def test_6_the_id_is_the_same_for_all_attempts_and_answers_at_any_time(room: World) -> None:
    asked = await ask(room)
    await room.advance(hours=2, minutes=30)
    payloads = [event["payload"] for event in await room.events(asked)]
    assert {payload["suspension_id"] for payload in payloads} == {asked["suspension_id"]}
    assert (await room.answer(asked, "approve")).status_code == 200
    told = await room.told(asked)
    assert (told["data"]["suspension_id"], told["data"]["value"]) == (asked["suspension_id"], "approve")
    await room.advance(hours=10)
    assert len(await renotified(room, asked)) == 2


async def test_6_the_first_message_can_still_be_answered_after_the_question_has_moved(room: World) -> None:
    asked = await ask(room)
    message = await room.slack.expect_message(asked["suspension"]["question"])
    await room.advance(hours=1)
    await room.press("U0BOB", message, "Approve refund")
    shown = await room.show(asked)
    assert (shown["response"], shown["responded_by"], shown["channel"]) == ("approve", "bob@example.com", "slack")


async def test_times_are_anchored_however_late_the_clock_is_looked_at(room: World) -> None:
    asked = await ask(room)
    room.clock.move_by(timedelta(minutes=90))
    await room.settle()
    shown = await room.show(asked)
    assert (shown["attempt"], shown["next_attempt_at"]) == (2, after(asked, hours=2))
    assert shown["expires_at"] == after(asked, hours=3)


async def test_the_intent_waits_through_all_attempts(room: World) -> None:
    """§7: "Intent stays ``suspended_awaiting_input``"."""
    asked = await ask(room)
    for attempt in (1, 2, 3):
        assert (await room.show(asked))["attempt"] == attempt
        assert (await room.intent(asked))["status"] == "suspended_awaiting_input"
        await room.advance(minutes=59)
        assert (await room.intent(asked))["status"] == "suspended_awaiting_input"
        await room.advance(minutes=1)
