"""``quiet: true`` on a rung: its attempt waits for somebody's working hours, and the preview shows it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.clock import ManualClock
from tests.world import World, running

EVENING = datetime(2026, 3, 24, 19, 0, tzinfo=UTC)
PEOPLE: list[dict[str, Any]] = [
    {
        "name": "Alice",
        "email": "alice@example.com",
        "slack_user_id": "U0ALICE",
        "groups": ["finance"],
        "time_zone": "Europe/Berlin",
        "hours": {"mon-fri": "09:00-12:00, 13:00-17:30"},
        "holidays": ["2026-03-25"],
    },
    {
        "name": "Bob",
        "email": "bob@example.com",
        "slack_user_id": "U0BOB",
        "groups": ["finance"],
        "time_zone": "America/New_York",
        "hours": {"mon-fri": "09:00-17:00"},
    },
    {"name": "Carol", "email": "carol@example.com", "slack_user_id": "U0CAROL"},
]


@pytest.fixture
async def evening(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """19:00 UTC: 20:00 in Berlin, 15:00 in New York."""
    async with running(tmp_path, sqlite_url, ManualClock(EVENING), people=PEOPLE) as world:
        yield world


def quietly(*people: str, attempts: int = 2, hours: int = 24, start: int = 2) -> dict[str, Any]:
    """Each rung from attempt ``start`` on is quiet, by mail."""
    rungs = [
        {"attempt": number, "channel_hint": "email", "notify_to": person, "quiet": True}
        for number, person in enumerate(people, start=start)
    ]
    return {"max_attempts": attempts, "interval_seconds": hours * 3600, "escalation_ladder": rungs}


async def preview(world: World, **fields: Any) -> dict[str, Any]:
    body = {"question": "Refund?", "response_type": "confirm", **fields}
    response = await world.call("POST", "/v1/suspensions/preview", json=body)
    assert response.status_code == 200, response.text
    shown: dict[str, Any] = response.json()
    return shown


def due(shown: dict[str, Any]) -> list[str]:
    return [step["due_at"][5:16] for step in shown["ladder"]]


async def test_an_attempt_outside_somebodys_hours_waits_for_the_next_opening(evening: World) -> None:
    policy = quietly("bob@example.com", hours=6)  # due at 01:00 UTC, 21:00 in New York
    asked = await evening.ask(retry_policy={**policy, "max_attempts": 5})
    assert due(asked) == ["03-24T19:00", "03-25T07:00", "03-25T07:00", "03-25T13:00", "03-25T19:00"]


async def test_the_preview_shows_when_and_says_why(evening: World) -> None:
    policy = quietly("alice@example.com", hours=36)  # due on the 26th at 07:00 UTC, an hour before Alice
    shown = await preview(evening, retry_policy=policy)
    assert due(shown) == ["03-24T19:00", "03-26T08:00"]
    [problem] = shown["problems"]
    assert (problem["attempt"], problem["code"]) == (2, "waits_for_opening")
    assert "2026-03-26T08:00:00Z" in problem["message"]
    assert shown["ladder"][1]["quiet"] is True
    assert shown["policy"]["escalation_ladder"]["value"][0]["quiet"] is True
    assert shown["expires_at"] == "2026-03-27T19:00:00Z"


async def test_what_the_preview_shows_is_what_happens(evening: World) -> None:
    policy = quietly("alice@example.com", hours=36)
    asked = await evening.ask(retry_policy=policy)
    record = await evening.show(asked)
    assert asked["ladder"][1]["due_at"] == record["next_attempt_at"] == "2026-03-26T08:00:00Z"
    assert record["retry_policy"]["escalation_ladder"][0]["quiet"] is True
    await evening.advance(hours=36, minutes=59)
    assert evening.mailbox.mails == []
    await evening.advance(minutes=1)
    assert [mail.recipient for mail in evening.mailbox.mails] == ["alice@example.com"]
    await evening.advance(hours=34, minutes=59)
    assert (await evening.show(asked))["status"] == "open"
    await evening.advance(minutes=1)
    assert (await evening.show(asked))["status"] == "expired"


async def test_an_attempt_that_is_not_quiet_does_not_wait(evening: World) -> None:
    policy = quietly("alice@example.com", hours=36)
    policy["escalation_ladder"][0]["quiet"] = False
    shown = await preview(evening, retry_policy=policy)
    assert due(shown) == ["03-24T19:00", "03-26T07:00"]
    assert shown["problems"] == []
    assert "quiet" not in shown["ladder"][1]


@pytest.mark.parametrize("who", ["carol@example.com", "email:somebody@example.com"])
async def test_whoever_keeps_no_hours_is_always_there(evening: World, who: str) -> None:
    shown = await preview(evening, retry_policy=quietly(who, hours=36))
    assert (due(shown)[1], shown["problems"]) == ("03-26T07:00", [])


async def test_a_channel_has_no_hours(evening: World) -> None:
    rungs = [{"attempt": 2, "channel_hint": "slack", "quiet": True}]
    policy = {"max_attempts": 2, "interval_seconds": 6 * 3600, "escalation_ladder": rungs}
    assert due(await preview(evening, retry_policy=policy)) == ["03-24T19:00", "03-25T01:00"]


async def test_of_several_people_the_first_to_come_in_is_waited_for(evening: World) -> None:
    shown = await preview(evening, retry_policy=quietly("group:finance", hours=14))  # 09:00 UTC, Alice's holiday
    assert due(shown) == ["03-24T19:00", "03-25T13:00"]
    one_is_there = await preview(evening, retry_policy=quietly("group:finance", hours=19))
    assert due(one_is_there) == ["03-24T19:00", "03-25T14:00"]


async def test_nothing_waits_into_the_last_half_interval(evening: World) -> None:
    shown = await preview(evening, retry_policy=quietly("alice@example.com", hours=2))
    assert due(shown) == ["03-24T19:00", "03-24T22:00"]


async def test_attempts_that_come_to_one_opening_are_sent_once(evening: World) -> None:
    policy = quietly(*["bob@example.com"] * 4, attempts=6, hours=4)
    asked = await evening.ask(retry_policy=policy)
    assert due(asked) == ["03-24T19:00", *["03-25T13:00"] * 4, "03-25T15:00"]
    await evening.advance(hours=18)
    told = [e["payload"] for e in await evening.events(asked) if e["event_type"].endswith("renotified")]
    assert [(one["attempt"], one["skipped"]) for one in told] == [(5, [2, 3, 4])]
    assert len(evening.mailbox.mails) == 1


async def test_the_first_attempt_may_wait_too(evening: World) -> None:
    asked = await evening.ask(retry_policy=quietly("alice@example.com", attempts=1, hours=96, start=1))
    assert due(asked) == ["03-26T08:00"]
    assert evening.mailbox.mails == []
    await evening.advance(hours=36, minutes=59)
    assert evening.mailbox.mails == []
    await evening.advance(minutes=1)
    assert [mail.recipient for mail in evening.mailbox.mails] == ["alice@example.com"]


async def test_a_first_attempt_that_gives_way_is_never_sent(evening: World) -> None:
    policy = quietly("alice@example.com", "carol@example.com", hours=6, start=1)
    asked = await evening.ask(retry_policy=policy)
    assert due(asked) == ["03-25T01:00", "03-25T01:00"]
    await evening.advance(hours=6)
    assert [mail.recipient for mail in evening.mailbox.mails] == ["carol@example.com"]
    [told] = [e["payload"] for e in await evening.events(asked) if e["event_type"].endswith("renotified")]
    assert (told["attempt"], told["skipped"]) == (2, [1])


async def test_an_answer_before_the_opening_means_that_nobody_is_disturbed(evening: World) -> None:
    asked = await evening.ask(retry_policy=quietly("alice@example.com", attempts=1, hours=96, start=1))
    assert (await evening.answer(asked, "approve")).status_code == 200
    await evening.advance(hours=72)
    assert evening.mailbox.mails == []


async def test_an_agents_default_policy_may_be_quiet(evening: World) -> None:
    path = "/v1/agents/refund-agent/default-retry-policy"
    assert (await evening.call("PUT", path, json=quietly("alice@example.com", hours=36))).status_code == 200
    shown = await preview(evening)
    assert (due(shown)[1], shown["policy"]["escalation_ladder"]["from"]) == ("03-26T08:00", "agent")


async def test_the_platforms_policy_may_be_quiet(tmp_path: Path, sqlite_url: str) -> None:
    suspension = {"default_channel": "slack", "default_retry_policy": quietly("alice@example.com", hours=36)}
    clock = ManualClock(EVENING)
    async with running(tmp_path, sqlite_url, clock, people=PEOPLE, suspension=suspension) as world:
        shown = await preview(world)
        assert (due(shown)[1], shown["policy"]["escalation_ladder"]["from"]) == ("03-26T08:00", "platform")


@pytest.mark.parametrize("quiet", ["yes", 1, [], {}])
async def test_quiet_is_true_or_false(evening: World, quiet: Any) -> None:
    policy = quietly("alice@example.com")
    policy["escalation_ladder"][0]["quiet"] = quiet
    body = {"question": "Refund?", "response_type": "confirm", "retry_policy": policy}
    response = await evening.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422
    assert [field["path"] for field in response.json()["detail"]["fields"]] == [
        "retry_policy.escalation_ladder.0.quiet"
    ]
