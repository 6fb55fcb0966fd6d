"""On call by PagerDuty's schedules: nobody, a stranger, somebody who has answered; PagerDuty away; alerts.

Source: API.md §2, "Whom to ask"; docs/decisions/0024, 0027.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.pagerduty.world import User
from tests.vendors.pagerduty import Shift
from tests.world import World, running

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
DORA = User("PDORA", "Dora", "dora@example.com")
EVE = User("PEVE", "Eve", "eve@elsewhere.example")
SCHEDULE = "PSCHED1"
REFERENCE = f"pagerduty-schedule:{SCHEDULE}"
ALLOW = ["*@example.com", "group:*", "pagerduty:*", "pagerduty-schedule:*"]
OPS = "ops@example.com"
LADDER = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "slack", "notify_to": "slack:C0OPS"},
        {"attempt": 3, "channel_hint": "email", "notify_to": "alice@example.com"},
    ],
}


@pytest.fixture
async def duty(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    async with set_up(tmp_path, sqlite_url) as world:
        yield world


@asynccontextmanager
async def set_up(folder: Path, url: str, *shifts: Shift, **settings: Any) -> AsyncIterator[World]:
    """With whoever ``shifts`` say on call; the operators are told by mail."""
    settings = {"alerts": {"notify": [f"email:{OPS}"]}, "recipients__allow": ALLOW} | settings
    async with running(folder, url, **settings) as world:
        on_call(world, *shifts)
        yield world


def on_call(world: World, *shifts: Shift) -> None:
    world.pager.account.users |= {shift.user.id: shift.user for shift in shifts}
    world.pager.account.schedules[SCHEDULE] = list(shifts)


async def ask(world: World, **fields: Any) -> dict[str, Any]:
    call = {"channel_hint": "email", "notify_to": REFERENCE, "responders": [REFERENCE], "retry_policy": LADDER}
    return await world.ask(**call | fields)


def told(world: World) -> list[str]:
    return [mail.subject for mail in world.mailbox.of(OPS)]


# --- Nobody -------------------------------------------------------------------------------------------------------


async def test_while_nobody_is_on_call_the_ladder_goes_on_and_the_operators_hear_of_it(duty: World) -> None:
    asked = await ask(duty)
    assert told(duty) == ["Notices by email wait (nobody_on_call)"]

    await duty.advance(hours=1)

    assert (await duty.show(asked))["attempt"] == 2
    assert "Refund" in duty.slack.workspace.posted()[-1].text


async def test_while_pagerduty_is_away_the_ladder_goes_on(duty: World) -> None:
    duty.pager.rest.down_with = 500
    asked = await ask(duty)
    await duty.advance(hours=1)

    assert (await duty.show(asked))["attempt"] == 2
    assert len(duty.slack.workspace.posted()) == 1


async def test_a_token_that_is_refused_moves_the_ladder_at_once(duty: World) -> None:
    duty.pager.rest.token = "another"
    asked = await ask(duty)

    assert (await duty.show(asked))["attempt"] == 2
    assert "Notices by email are refused (on_call_http_401)" in told(duty)


# --- A stranger ---------------------------------------------------------------------------------------------------


async def test_a_stranger_on_call_is_not_asked_and_the_next_attempt_is_due_at_once(duty: World) -> None:
    on_call(duty, Shift(EVE))
    asked = await ask(duty)

    assert duty.mailbox.of("eve@elsewhere.example") == []
    assert (await duty.show(asked))["attempt"] == 2
    assert "Notices by email are refused (on_call_not_allowed)" in told(duty)


async def test_a_stranger_on_call_may_not_answer(duty: World) -> None:
    on_call(duty, Shift(EVE), Shift(BOB))
    asked = await ask(duty, channel_hint="pagerduty")
    incident = await duty.pager.expect_incident(asked["ref"])

    await duty.pager.add_note(incident, EVE, "approve")
    assert (await duty.show(asked))["status"] == "open"
    await duty.pager.add_note(incident, BOB, "approve")

    assert (await duty.told(asked))["data"]["responded_by"] == "bob@example.com"


async def test_somebody_of_the_directory_is_asked_although_only_the_schedule_is_on_the_list(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with set_up(tmp_path, sqlite_url, Shift(BOB), Shift(DORA), recipients__allow=[REFERENCE]) as world:
        await ask(world, retry_policy=None, timeout_seconds=60)

        assert [mail.recipient for mail in world.mailbox.mails] == ["bob@example.com"]


# --- Several answers ----------------------------------------------------------------------------------------------


async def test_whoever_is_on_call_and_has_answered_is_not_asked_again_and_the_ladder_keeps_its_times(
    duty: World,
) -> None:
    on_call(duty, Shift(BOB))
    policy = {"max_attempts": 4, "interval_seconds": 3600}
    responders = [REFERENCE, "alice@example.com"]
    asked = await ask(duty, answers_required=2, responders=responders, retry_policy=policy)
    assert (await duty.answer(asked, "approve", "second_operator")).status_code == 202

    await duty.advance(hours=1)

    assert (await duty.show(asked))["attempt"] == 2
    assert len(duty.mailbox.of("bob@example.com")) == 1
    assert not any("nobody could be reached" in subject for subject in told(duty))


# --- PagerDuty's schedules, and ours ------------------------------------------------------------------------------


async def test_a_schedule_on_pagerduty_is_warned_of_where_nobody_can_be_called(tmp_path: Path, sqlite_url: str) -> None:
    async with set_up(tmp_path, sqlite_url, Shift(BOB), pagerduty__from_email=None) as world:
        body = {"question": "Go?", "response_type": "confirm", "channel_hint": "pagerduty", "notify_to": REFERENCE}
        shown = (await world.call("POST", "/v1/suspensions/preview", json=body)).json()

        assert [problem["code"] for problem in shown["problems"]] == ["pages_service_only"]
        assert shown["ladder"][0]["recipients"] == [REFERENCE]


async def test_what_is_hidden_is_hidden_from_whoever_is_on_call_too(duty: World) -> None:
    on_call(duty, Shift(BOB))
    await ask(duty, question="Charge 4111 1111 1111 1111?")

    assert "4111" not in str(duty.mailbox.mails[0])


async def test_an_alert_to_a_schedule_reaches_whoever_is_on_call_without_an_account_in_slack(
    tmp_path: Path, sqlite_url: str
) -> None:
    alerts = {"notify": [REFERENCE]}
    other = {"alerts": alerts, "pagerduty__routing_key": "X" * 32}
    async with set_up(tmp_path, sqlite_url, Shift(DORA), **other) as world:
        await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default")

        subjects = [mail.subject for mail in world.mailbox.of("dora@example.com")]
        assert "Notices by pagerduty are refused (http_400)" in subjects


async def test_schedules_that_nobody_has_heard_of_do_not_each_ask_an_api_that_is_asked_too_often(duty: World) -> None:
    duty.pager.rest.limit_next(100)
    for number in range(5):
        await ask(duty, notify_to=f"pagerduty-schedule:PMADEUP{number}")

    assert duty.pager.rest.calls.count("GET /oncalls") == 1
