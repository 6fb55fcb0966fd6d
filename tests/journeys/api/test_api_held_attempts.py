"""A claim holds attempts back (API.md §3), never past half an interval before the end, and never moves the end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.clock import START
from tests.world import World

HOURLY: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email"},
        {"attempt": 3, "channel_hint": "pagerduty"},
    ],
}


async def claim(world: World, asked: dict[str, Any], seconds: int, role: str = "operator") -> None:
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    response = await world.call("POST", path, role, json={"seconds": seconds})
    assert response.status_code == 200, response.text


async def story(world: World, asked: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """When what happened to which attempt, since it was asked."""
    return [
        (
            event["created_at"][11:16],
            event["event_type"].removeprefix("intent.suspension_"),
            event["payload"].get("attempt"),
        )
        for event in await world.events(asked)
        if event["event_type"].startswith("intent.suspension_")
    ]


async def until(world: World, **since_start: float) -> None:
    await world.advance(seconds=(START + timedelta(**since_start) - world.clock.now()).total_seconds())


async def test_an_attempt_that_is_due_meanwhile_goes_out_when_the_claim_ends(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600, retry_policy=HOURLY)
    await until(world, minutes=50)
    await claim(world, asked, 1800)
    await until(world, minutes=79)
    assert world.mailbox.mails == []
    shown = await world.show(asked)
    assert (shown["attempt"], shown["expires_at"]) == (1, "2026-03-24T13:00:00Z")
    await until(world, minutes=80)
    await world.mailbox.expect(to="alice@example.com")
    await until(world, minutes=120)
    assert await story(world, asked) == [
        ("10:50", "claimed", None),
        ("11:00", "attempt_held", 2),
        ("11:20", "renotified", 2),
        ("11:20", "escalated", 2),
        ("12:00", "renotified", 3),
        ("12:00", "escalated", 3),
    ]


async def test_attempts_that_piled_up_collapse_into_the_latest(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600, retry_policy=HOURLY)
    await until(world, minutes=30)
    await claim(world, asked, 7200)
    await until(world, minutes=149)
    assert await story(world, asked) == [
        ("10:30", "claimed", None),
        ("11:00", "attempt_held", 2),
        ("12:00", "attempt_held", 3),
    ]
    await until(world, minutes=150)
    assert (await story(world, asked))[3:] == [("12:30", "renotified", 3), ("12:30", "escalated", 3)]
    renotified = next(
        event for event in await world.events(asked) if event["event_type"] == "intent.suspension_renotified"
    )
    assert renotified["payload"]["skipped"] == [2]
    await world.pager.expect_incident("Refund order 12345?")
    assert world.mailbox.mails == []
    await until(world, minutes=180)
    assert (await story(world, asked))[-1] == ("13:00", "expired", None)


async def test_no_attempt_is_held_past_half_an_interval_before_the_end(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600, retry_policy=HOURLY)
    await until(world, minutes=115)
    await claim(world, asked, 7200)
    await until(world, minutes=149)
    assert world.pager.incidents == []
    await until(world, minutes=150)
    await world.pager.expect_incident("Refund order 12345?")
    assert [one for one in await story(world, asked) if one[2] == 3] == [
        ("12:00", "attempt_held", 3),
        ("12:30", "renotified", 3),
        ("12:30", "escalated", 3),
    ]
    shown = await world.show(asked)
    assert (shown["attempt"], shown["expires_at"]) == (3, "2026-03-24T13:00:00Z")


async def test_giving_the_claim_back_sends_what_it_held_at_once(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600, retry_policy=HOURLY)
    await until(world, minutes=50)
    await claim(world, asked, 7200)
    await until(world, minutes=70)
    assert world.mailbox.mails == []
    await world.call("DELETE", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator")
    await world.settle()
    await world.mailbox.expect(to="alice@example.com")
    assert ("11:10", "renotified", 2) in await story(world, asked)
    assert (await world.show(asked))["next_attempt_at"] == "2026-03-24T12:00:00Z"


async def test_giving_the_claim_back_before_anything_was_due_sends_nothing(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600, retry_policy=HOURLY)
    await claim(world, asked, 1800)
    await world.call("DELETE", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator")
    await until(world, minutes=59)
    assert world.mailbox.mails == []
    await until(world, minutes=60)
    assert ("11:00", "renotified", 2) in await story(world, asked)


async def test_the_end_comes_in_time_however_it_is_claimed(world: World) -> None:
    asked = await world.ask(timeout_seconds=600, fallback_policy="complete_with_fallback", fallback_value="deny")
    await until(world, minutes=9)
    await claim(world, asked, 7200)
    await until(world, minutes=10)
    assert (await world.show(asked))["status"] == "expired"
    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_an_answer_during_the_claim_lets_nothing_more_out(world: World) -> None:
    asked = await world.ask(timeout_seconds=3600, retry_policy=HOURLY)
    await until(world, minutes=50)
    await claim(world, asked, 1800)
    await until(world, minutes=70)
    assert (await world.answer(asked, "approve")).status_code == 200
    await until(world, hours=5)
    assert (world.mailbox.mails, world.pager.incidents) == ([], [])
    assert (await story(world, asked))[-1] == ("11:00", "attempt_held", 2)
