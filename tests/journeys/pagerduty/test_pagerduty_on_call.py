"""Whoever is on call by a PagerDuty schedule is asked and may answer, on every channel, as of now and nobody else.

Source: API.md §2, "Whom to ask"; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.pagerduty.world import User
from tests.vendors.pagerduty import Shift
from tests.world import World, running

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
DORA = User("PDORA", "Dora", "dora@example.com")
SCHEDULE = "PSCHED1"
REFERENCE = f"pagerduty-schedule:{SCHEDULE}"
ALLOW = ["*@example.com", "group:*", "pagerduty:*", "pagerduty-schedule:*"]
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


@pytest.fixture
async def duty(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """Alice is on call for two hours, then Bob."""
    async with on_duty(tmp_path, sqlite_url) as world:
        yield world


@pytest.fixture
async def any_duty(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """The same on each database."""
    async with on_duty(tmp_path, database_url) as world:
        yield world


@asynccontextmanager
async def on_duty(folder: Path, url: str) -> AsyncIterator[World]:
    async with running(folder, url, recipients__allow=ALLOW) as world:
        handover = world.clock.now() + timedelta(hours=2)
        on_call(world, Shift(ALICE, None, handover), Shift(BOB, handover, None))
        yield world


def on_call(world: World, *shifts: Shift) -> None:
    world.pager.account.users |= {shift.user.id: shift.user for shift in shifts}
    world.pager.account.schedules[SCHEDULE] = list(shifts)


async def ask(world: World, channel: str, **fields: Any) -> dict[str, Any]:
    call = {"channel_hint": channel, "notify_to": REFERENCE, "responders": [REFERENCE], "retry_policy": HOURLY}
    return await world.ask(**call | fields)


async def reasons(world: World, asked: dict[str, Any]) -> list[str | None]:
    return [one.get("reason") for one in await world.timeline(asked) if one["kind"] == "delivery"]


# --- Asking -------------------------------------------------------------------------------------------------------


async def test_whoever_is_on_call_is_asked_in_slack_and_after_the_shift_the_next_one(any_duty: World) -> None:
    await ask(any_duty, "slack")
    conversations = {user: any_duty.slack.workspace.im_with(user).id for user in ("U0ALICE", "U0BOB")}
    assert [one.channel for one in any_duty.slack.workspace.posted()] == [conversations["U0ALICE"]]

    await any_duty.advance(hours=2)

    assert [one.channel for one in any_duty.slack.workspace.posted()][-1] == conversations["U0BOB"]


async def answered(world: World, asked: dict[str, Any], role: str) -> int:
    return (await world.answer(asked, "approve", role)).status_code


async def test_whoever_is_on_call_is_mailed_and_may_answer(any_duty: World) -> None:
    asked = await ask(any_duty, "email")

    await any_duty.mailbox.expect(to="alice@example.com", subject=asked["ref"])

    assert await answered(any_duty, asked, "operator") == 200


async def test_on_pagerduty_the_default_service_is_paged_and_the_person_on_call_answers(any_duty: World) -> None:
    asked = await ask(any_duty, "pagerduty")
    incident = await any_duty.pager.expect_incident(asked["ref"])

    await any_duty.pager.add_note(incident, BOB, "approve")
    assert (await any_duty.intent(asked))["status"] == "suspended_awaiting_input"
    await any_duty.pager.add_note(incident, ALICE, "approve")

    assert (await any_duty.told(asked))["data"]["responded_by"] == "alice@example.com"


async def test_only_the_lowest_level_is_asked_and_everybody_on_it(any_duty: World) -> None:
    on_call(any_duty, Shift(ALICE, level=2), Shift(BOB), Shift(DORA))

    await ask(any_duty, "email")

    assert {mail.recipient for mail in any_duty.mailbox.mails} == {"bob@example.com", "dora@example.com"}


async def test_somebody_who_is_not_in_the_directory_is_known_by_the_mailbox_there(duty: World) -> None:
    on_call(duty, Shift(DORA))

    asked = await ask(duty, "email")

    assert await duty.mailbox.expect(to="dora@example.com", subject=asked["ref"])


async def test_an_account_with_a_directory_persons_mailbox_is_not_that_person(duty: World) -> None:
    on_call(duty, Shift(User("PFAKE", "Mallory", "alice@example.com")))

    asked = await ask(duty, "email")

    assert duty.mailbox.mails == []
    assert await answered(duty, asked, "operator") == 403


async def test_while_nobody_is_on_call_it_waits_and_is_sent_as_soon_as_somebody_is(any_duty: World) -> None:
    on_call(any_duty)
    asked = await ask(any_duty, "email")
    assert any_duty.mailbox.mails == []

    on_call(any_duty, Shift(BOB))
    await any_duty.advance(minutes=3)

    assert [mail.recipient for mail in any_duty.mailbox.mails] == ["bob@example.com"]
    assert await answered(any_duty, asked, "second_operator") == 200


async def test_while_pagerduty_is_away_the_send_is_put_off_and_not_given_up(any_duty: World) -> None:
    any_duty.pager.rest.down_with = 500
    asked = await ask(any_duty, "email")
    assert any_duty.mailbox.mails == []

    any_duty.pager.rest.down_with = None
    await any_duty.advance(minutes=2)

    assert [mail.recipient for mail in any_duty.mailbox.mails] == ["alice@example.com"]
    assert "on_call_http_500" not in await reasons(any_duty, asked)


# --- Answering ----------------------------------------------------------------------------------------------------


async def test_nobody_but_the_one_on_call_may_answer_not_even_an_operator(any_duty: World) -> None:
    asked = await ask(any_duty, "email")

    assert await answered(any_duty, asked, "second_operator") == 403
    assert await answered(any_duty, asked, "operator") == 200


async def test_whoever_takes_a_shift_over_may_answer_a_minute_later_and_the_other_may_not(any_duty: World) -> None:
    asked = await ask(any_duty, "email")
    on_call(any_duty, Shift(BOB))

    await any_duty.advance(seconds=61)

    assert await answered(any_duty, asked, "operator") == 403
    assert await answered(any_duty, asked, "second_operator") == 200


async def test_the_end_of_a_shift_counts_to_the_second_whatever_is_kept(any_duty: World) -> None:
    asked = await ask(any_duty, "email")
    await any_duty.advance(hours=1, minutes=59, seconds=59)
    assert (
        await any_duty.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator", json={"seconds": 60})
    ).is_success

    any_duty.pager.rest.down_with = 500
    await any_duty.advance(seconds=2)

    assert await answered(any_duty, asked, "operator") == 403


async def test_while_pagerduty_is_away_what_it_said_last_counts_for_five_minutes(duty: World) -> None:
    first, second = await ask(duty, "email"), await ask(duty, "email")
    duty.pager.rest.down_with = 500

    await duty.advance(minutes=4)
    assert await answered(duty, first, "operator") == 200
    await duty.advance(minutes=2)

    assert await answered(duty, second, "operator") == 403


async def test_a_schedule_is_asked_at_most_once_a_minute(duty: World) -> None:
    asked = await ask(duty, "email")
    for _ in range(5):
        await answered(duty, asked, "second_operator")
    await duty.advance(seconds=61)
    await answered(duty, asked, "second_operator")

    assert duty.pager.rest.calls.count("GET /oncalls") == 2


async def test_without_an_api_token_a_schedule_is_refused_when_it_is_asked(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'handraise.db'}"
    async with running(tmp_path, url, recipients__allow=ALLOW, pagerduty__api_token=None) as world:
        asked = {"question": "?", "response_type": "text", "responders": [REFERENCE]}
        response = await world.call("POST", "/v1/suspensions", json=asked)

    assert response.status_code == 422
    assert response.json()["detail"]["fields"][0]["path"] == "responders.0"
