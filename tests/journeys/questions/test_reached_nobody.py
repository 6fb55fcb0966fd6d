"""A rung that reaches nobody costs no interval: the next attempt is due at once, and the timeline says why.

Source: API.md §3; docs/decisions/0095.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.pagerduty.world import User
from tests.cli import handraise
from tests.journeys.service.test_reload import Office
from tests.vendors.pagerduty import Shift
from tests.world import World, running

BOB = User("PBOB", "Bob", "bob@example.com")
DORA = User("PDORA", "Dora", "dora@example.com")
SCHEDULE = "PSCHED1"
REFERENCE = f"pagerduty-schedule:{SCHEDULE}"
ALLOW = ["*@example.com", "group:*", "slack:C0*", "pagerduty-schedule:*"]
OPS = "ops@example.com"
LADDER = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 1, "channel_hint": "email", "notify_to": REFERENCE},
        {"attempt": 2, "channel_hint": "slack", "notify_to": "slack:C0OPS"},
        {"attempt": 3, "channel_hint": "email", "notify_to": "alice@example.com"},
    ],
}
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


@pytest.fixture
async def office(tmp_path: Path, database_url: str) -> AsyncIterator[Office]:
    """Nobody is on call; the operators are told by mail."""
    alerts = {"notify": [f"email:{OPS}"]}
    async with running(tmp_path, database_url, recipients__allow=ALLOW, alerts=alerts) as world:
        on_call(world)
        yield Office(world, tmp_path)


def on_call(world: World, *shifts: Shift) -> None:
    world.pager.account.users |= {shift.user.id: shift.user for shift in shifts}
    world.pager.account.schedules[SCHEDULE] = list(shifts)


async def reached_nobody(world: World, asked: dict[str, Any]) -> list[tuple[int, list[str]]]:
    """The attempts of which the timeline says so, and why."""
    return [
        (entry["payload"]["attempt"], entry["payload"]["reasons"])
        for entry in await world.timeline(asked)
        if entry["kind"] == "event" and entry["type"] == "intent.suspension_reached_nobody"
    ]


async def renotified(world: World, asked: dict[str, Any]) -> list[tuple[str, int]]:
    return [
        (event["created_at"][11:16], event["payload"]["attempt"])
        for event in await world.events(asked)
        if event["event_type"] == "intent.suspension_renotified"
    ]


def told(world: World, asked: dict[str, Any]) -> list[str]:
    """What the operators were told of this question."""
    return [mail.subject for mail in world.mailbox.of(OPS) if asked["ref"] in mail.subject]


# --- An on-call schedule ------------------------------------------------------------------------------------------


async def test_where_nobody_is_on_call_the_next_attempt_is_due_at_once_and_later_times_stay(office: Office) -> None:
    world = office.world
    asked = await world.ask(retry_policy=LADDER)

    assert await renotified(world, asked) == [("10:00", 2)]
    assert [message.channel for message in world.slack.workspace.posted()] == ["C0OPS"]
    assert await reached_nobody(world, asked) == [(1, ["nobody_on_call"])]
    assert (await world.show(asked))["next_attempt_at"] == "2026-03-24T12:00:00Z"
    await world.advance(hours=2)
    assert await renotified(world, asked) == [("10:00", 2), ("12:00", 3)]
    assert told(world, asked) == []


async def test_whoever_comes_on_call_meanwhile_is_asked_all_the_same(office: Office) -> None:
    world = office.world
    asked = await world.ask(retry_policy=LADDER)
    on_call(world, Shift(BOB))

    await world.advance(minutes=2)

    assert [mail.recipient for mail in world.mailbox.mails if asked["ref"] in mail.subject] == ["bob@example.com"]
    assert (await world.answer(asked, "approve", "second_operator")).status_code == 200


async def test_after_the_last_attempt_the_operators_are_told_once_however_long_nobody_is_there(office: Office) -> None:
    world = office.world
    asked = await world.ask(channel_hint="email", notify_to=REFERENCE, responders=[REFERENCE], retry_policy=HOURLY)

    await world.advance(minutes=10)
    world.pager.rest.down_with = 500
    await world.advance(minutes=10)
    world.pager.rest.down_with = None
    await world.advance(minutes=39)

    assert await renotified(world, asked) == [("10:00", 2), ("10:00", 3)]
    assert await reached_nobody(world, asked) == [(number, ["nobody_on_call"]) for number in (1, 2, 3)]
    assert told(world, asked) == [f"[{asked['ref']}] nobody could be reached"]


async def test_one_who_is_reached_beside_an_empty_schedule_is_enough_to_wait_for(office: Office) -> None:
    world = office.world
    responders = [REFERENCE, "alice@example.com"]
    asked = await world.ask(channel_hint="email", responders=responders, retry_policy=HOURLY)

    await world.advance(minutes=59)

    assert (await renotified(world, asked), await reached_nobody(world, asked)) == ([], [])


async def test_nobody_on_call_and_the_others_refused_is_nobody(office: Office) -> None:
    world = office.world
    world.mailbox.refuse("alice@example.com")
    responders = [REFERENCE, "alice@example.com"]
    rungs = [{"attempt": 2, "channel_hint": "slack", "notify_to": "slack:C0OPS"}]
    policy = {**HOURLY, "escalation_ladder": rungs}
    asked = await world.ask(channel_hint="email", responders=responders, retry_policy=policy)

    assert await renotified(world, asked) == [("10:00", 2)]
    [(attempt, reasons)] = await reached_nobody(world, asked)
    assert (attempt, len(reasons), reasons[0]) == (1, 2, "nobody_on_call")


async def test_while_somebody_is_on_it_the_timeline_says_so_and_the_next_attempt_waits(office: Office) -> None:
    world = office.world
    rungs = [{"attempt": 2, "channel_hint": "email", "notify_to": REFERENCE}]
    asked = await world.ask(responders=["alice@example.com"], retry_policy={**HOURLY, "escalation_ladder": rungs})
    await world.advance(minutes=59)
    world.pager.rest.down_with = 500
    await world.advance(minutes=1)
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    await world.call("POST", path, "operator", json={"seconds": 600})
    world.pager.rest.down_with = None
    await world.advance(minutes=5)
    assert await reached_nobody(world, asked) == [(2, ["nobody_on_call"])]
    assert await renotified(world, asked) == [("11:00", 2)]

    await world.advance(minutes=5)

    assert await renotified(world, asked) == [("11:00", 2), ("11:10", 3)]


# --- Groups and people --------------------------------------------------------------------------------------------


async def test_a_group_that_has_lost_its_members_costs_no_interval(office: Office) -> None:
    world = office.world
    rungs = [
        {"attempt": 2, "channel_hint": "email", "notify_to": "group:finance"},
        {"attempt": 3, "channel_hint": "slack", "notify_to": "slack:C0OPS"},
    ]
    asked = await world.ask(retry_policy={**HOURLY, "escalation_ladder": rungs})
    people = [{**one, "groups": ["elsewhere"]} for one in office.written["people"]]
    await office.reload(people=people, groups={"finance": []})

    await world.advance(hours=1)

    assert await renotified(world, asked) == [("11:00", 2), ("11:00", 3)]
    assert await reached_nobody(world, asked) == [(2, ["group_empty"])]


async def test_somebody_whom_the_channel_reaches_no_longer_costs_no_interval(office: Office) -> None:
    world = office.world
    rungs = [
        {"attempt": 2, "channel_hint": "slack", "notify_to": "carol@example.com"},
        {"attempt": 3, "channel_hint": "email", "notify_to": "alice@example.com"},
    ]
    asked = await world.ask(retry_policy={**HOURLY, "escalation_ladder": rungs})
    await office.reload(people=[one for one in office.written["people"] if one["name"] != "Carol"])

    await world.advance(hours=1)

    assert await renotified(world, asked) == [("11:00", 2), ("11:00", 3)]
    assert await reached_nobody(world, asked) == [(2, ["recipient_unreachable"])]


async def test_the_command_line_shows_which_attempt_reached_nobody_and_why(office: Office) -> None:
    world = office.world
    asked = await world.ask(retry_policy=LADDER)

    shown, listed = await handraise(world, "show", asked["ref"]), await handraise(world, "timeline", asked["ref"])

    [first] = [line for line in shown.lines if "attempt 1" in line]
    assert first.split()[0] == "✗"
    assert first.endswith("reached nobody (nobody_on_call)")
    assert any(line.endswith("intent.suspension_reached_nobody  attempt 1: nobody_on_call") for line in listed.lines)


# --- What can be known before -------------------------------------------------------------------------------------


async def warnings(world: World, **fields: Any) -> list[tuple[int, str, str]]:
    """The same of the preview and of the question itself, in words that name the schedule."""
    body = {"question": "Go?", "response_type": "confirm", **fields}
    shown = (await world.call("POST", "/v1/suspensions/preview", json=body)).json()
    asked = (await world.call("POST", "/v1/suspensions", json=body)).json()
    assert asked["problems"] == shown["problems"]
    return [(one["attempt"], one["code"], one["severity"]) for one in shown["problems"]]


async def test_a_schedule_without_anybody_is_warned_of_before_and_when_it_is_asked(office: Office) -> None:
    assert await warnings(office.world, retry_policy=LADDER) == [(1, "nobody_on_call", "warning")]


async def test_a_channel_that_does_not_reach_whoever_is_on_call_is_warned_of(office: Office) -> None:
    on_call(office.world, Shift(DORA))
    rungs = [{"attempt": 2, "channel_hint": "slack", "notify_to": REFERENCE}]
    policy = {**HOURLY, "max_attempts": 2, "escalation_ladder": rungs}

    assert await warnings(office.world, retry_policy=policy) == [(2, "on_call_unreachable", "warning")]


async def test_who_is_on_call_is_no_problem_and_nor_is_what_nobody_says(office: Office) -> None:
    on_call(office.world, Shift(BOB))
    assert await warnings(office.world, retry_policy=LADDER) == []

    await office.world.advance(minutes=10)
    office.world.pager.rest.down_with = 500

    assert await warnings(office.world, retry_policy=LADDER) == []


async def test_a_group_without_members_is_warned_of(office: Office) -> None:
    await office.reload(groups={"nobody": []})
    rungs = [{"attempt": 2, "channel_hint": "email", "notify_to": "group:nobody"}]
    policy = {**HOURLY, "max_attempts": 2, "escalation_ladder": rungs}

    assert await warnings(office.world, retry_policy=policy) == [(2, "recipient_unreachable", "warning")]


async def test_a_repeated_request_is_told_the_same_problems(office: Office) -> None:
    world = office.world
    body = {"question": "Go?", "response_type": "confirm", "retry_policy": LADDER}
    headers = {"Idempotency-Key": "once"}
    first = await world.call("POST", "/v1/suspensions", json=body, headers=headers)
    on_call(world, Shift(BOB))
    await world.advance(minutes=2)

    again = await world.call("POST", "/v1/suspensions", json=body, headers=headers)

    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json()["problems"] == first.json()["problems"] != []
