"""A delivery that is refused for good (API.md §3): the next attempt is due at once, later times stay."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.vendors.slack_faults import SaysNo
from tests.vendors.smtp import Stage
from tests.world import World, running

LADDER: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email", "notify_to": "carol@example.com"},
        {"attempt": 3, "channel_hint": "slack", "notify_to": "bob@example.com"},
    ],
}


async def renotified(world: World, asked: dict[str, Any]) -> list[tuple[str, int]]:
    return [
        (event["created_at"][11:16], event["payload"]["attempt"])
        for event in await world.events(asked)
        if event["event_type"] == "intent.suspension_renotified"
    ]


async def test_a_slack_channel_that_is_not_there_moves_the_question_on_at_once(world: World) -> None:
    asked = await world.ask(notify_to="slack:C0GONE", timeout_seconds=3600, retry_policy=LADDER)
    mail = await world.mailbox.expect(subject="Refund order 12345?")
    assert mail.recipient == "carol@example.com"
    shown = await world.show(asked)
    assert (shown["attempt"], shown["next_attempt_at"]) == (2, "2026-03-24T12:00:00Z")
    assert shown["expires_at"] == "2026-03-24T13:00:00Z"
    await world.advance(hours=2)
    assert await renotified(world, asked) == [("10:00", 2), ("12:00", 3)]
    assert len(world.mailbox.mails) == 1


async def test_a_mailbox_that_is_not_there_moves_the_question_on_at_once(world: World) -> None:
    world.mailbox.refuse("carol@example.com")
    asked = await world.ask(timeout_seconds=3600, retry_policy=LADDER)
    await world.advance(minutes=59)
    assert await renotified(world, asked) == []
    await world.advance(minutes=1)
    assert await renotified(world, asked) == [("11:00", 2), ("11:00", 3)]
    assert [message.channel for message in world.slack.workspace.posted()] == ["C0OPS", "D0BOB"]
    assert (await world.show(asked))["next_attempt_at"] is None
    await world.advance(hours=1, minutes=59)
    assert (await world.show(asked))["status"] == "open"
    await world.advance(minutes=1)
    assert (await world.show(asked))["status"] == "expired"


async def test_one_who_was_reached_is_enough_to_wait_for(world: World) -> None:
    world.mailbox.refuse("alice@example.com")
    policy = {"max_attempts": 2, "interval_seconds": 3600}
    asked = await world.ask(channel_hint="email", notify_to="group:finance", timeout_seconds=3600, retry_policy=policy)
    assert [mail.recipient for mail in world.mailbox.mails] == ["bob@example.com"]
    await world.advance(minutes=59)
    assert await renotified(world, asked) == []


async def test_a_temporary_refusal_moves_nothing(world: World) -> None:
    world.slack.fail_next(SaysNo("ratelimited"), "chat.postMessage")
    asked = await world.ask(timeout_seconds=3600, retry_policy=LADDER)
    await world.advance(minutes=30)
    assert await renotified(world, asked) == []
    assert len(world.slack.workspace.posted()) == 1


async def test_after_the_last_attempt_the_operators_are_told(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, alerts={"notify": ["email:ops@example.com"]}) as world:
        world.mailbox.refuse("carol@example.com")
        rungs = [{"attempt": 2, "channel_hint": "email", "notify_to": "carol@example.com"}]
        policy = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": rungs}
        asked = await world.ask(notify_to="slack:C0GONE", timeout_seconds=3600, retry_policy=policy)
        await world.settle()
        wrong_place, alert = world.mailbox.of("ops@example.com")
        assert wrong_place.subject == "Notices by slack are refused (channel_not_found)"
        assert alert.subject == f"[{asked['ref']}] nobody could be reached"
        assert asked["ref"] in alert.subject + alert.text
        assert asked["suspension_id"] not in alert.raw.decode()
        assert "Refund order 12345?" not in alert.text
        assert (await world.show(asked))["status"] == "open"
        await world.advance(minutes=119)
        assert [mail.recipient for mail in world.mailbox.mails] == ["ops@example.com"] * 2
        await world.advance(minutes=1)
        assert (await world.show(asked))["status"] == "expired"


async def test_where_somebody_is_on_it_a_refusal_bothers_nobody_else(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600, retry_policy=LADDER)
    await world.advance(minutes=59)
    world.mailbox.say_next(Stage.RCPT, "451 4.3.0 Try again later")
    world.mailbox.refuse("carol@example.com")
    world.clock.move_by(timedelta(minutes=1))
    await world.service.look()
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    assert (await world.call("POST", path, "operator", json={"seconds": 7200})).status_code == 200
    await world.advance(minutes=55)
    [delivery] = [item for item in await world.timeline(asked) if item.get("channel") == "email" and "tries" in item]
    assert (delivery["status"], delivery["tries"]) == ("refused", 2)
    assert await renotified(world, asked) == [("11:00", 2)]
    await world.advance(minutes=60)
    assert await renotified(world, asked) == [("11:00", 2), ("12:30", 3)]
