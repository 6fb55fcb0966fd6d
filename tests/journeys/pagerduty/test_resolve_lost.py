"""A vendor's 202 is not the end: a resolve that PagerDuty loses is sent again until the incident is gone.

Source: API.md §3, §6; facts on channels §F ("resolve lost"); docs/decisions/0096.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.pagerduty.world import Incident, User
from tests.vendors.pagerduty import EventFault, PagerDutySandbox
from tests.world import World, running

OPS = "ops@example.com"
ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
PAGING = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default"}
GOES_ON = "pagerduty goes on about a question that has ended"


@pytest.fixture
async def paged(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    async with watched(tmp_path, database_url) as world:
        yield world


def watched(folder: Path, url: str, **settings: Any) -> Any:
    """A service whose operators are told by mail."""
    return running(folder, url, alerts={"notify": [f"email:{OPS}"]}, **settings)


async def answered(world: World, *faults: EventFault) -> Incident:
    """The newest incident, by which a question was asked that has just been answered. Its resolves meet ``faults``."""
    asked = await world.ask(**PAGING)
    world.pager.fail_next(*faults)
    await world.answer(asked, "approve")
    await world.settle()
    return world.pager.incidents[-1]


def resolves(world: World) -> int:
    """How many were accepted, but for those that were lost."""
    return sum(event["event_action"] == "resolve" for event in world.pager.events)


def told(world: World) -> list[str]:
    return [mail.subject for mail in world.mailbox.of(OPS)]


# --- No word that it is gone --------------------------------------------------------------------------------------


async def test_a_resolve_that_is_lost_is_sent_again_after_five_minutes(paged: World) -> None:
    incident = await answered(paged, EventFault.LOST)
    await paged.advance(minutes=4)
    assert incident.is_open

    await paged.advance(minutes=2)

    assert not incident.is_open
    assert len([note for note in incident.notes if "Answered" in note.content]) == 1
    assert told(paged) == []


async def test_a_resolve_that_is_done_is_not_sent_again(paged: World) -> None:
    incident = await answered(paged)
    assert not incident.is_open

    await paged.advance(hours=2)

    assert resolves(paged) == 1


async def test_a_question_whose_incident_somebody_has_resolved_waits_for_nothing(paged: World) -> None:
    asked = await paged.ask(**PAGING)
    await paged.pager.resolve(paged.pager.incidents[0], BOB)
    await paged.answer(asked, "approve")

    await paged.advance(hours=2)

    assert resolves(paged) == 1


async def test_after_four_resolves_that_were_lost_the_operators_are_told_once(paged: World) -> None:
    before = paged.pager.tries + 1  # the page itself
    incident = await answered(paged, *[EventFault.LOST] * 20)
    tries = []
    for minutes in (4, 2, 8, 3, 17, 4, 120):
        await paged.advance(minutes=minutes)
        tries.append(paged.pager.tries - before)

    assert tries == [1, 2, 2, 3, 3, 4, 4]
    assert incident.is_open
    assert told(paged) == [GOES_ON]


async def test_of_two_services_one_that_was_lost_is_resolved_again(tmp_path: Path, sqlite_url: str) -> None:
    payments = "Q" * 32
    async with watched(tmp_path, sqlite_url, pagerduty__services={"payments": payments}) as world:
        account = PagerDutySandbox({"default": "R" * 32, "payments": payments}).account
        world.pager.account.services[payments] = account.services[payments]
        rungs = [{"attempt": 2, "channel_hint": "pagerduty", "notify_to": "pagerduty:payments"}]
        policy = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": rungs}
        asked = await world.ask(**PAGING, retry_policy=policy)
        await world.advance(hours=1)
        world.pager.fail_next(EventFault.LOST)
        await world.answer(asked, "approve")
        await world.settle()
        assert sorted(one.is_open for one in world.pager.incidents) == [False, True]

        await world.advance(minutes=6)

        assert not any(one.is_open for one in world.pager.incidents)


async def grouped(world: World) -> tuple[dict[str, Any], dict[str, Any], Incident]:
    """Two questions on one incident, of which the door has heard that they are."""
    world.pager.account.grouping.add("default")
    first, second = await world.ask("First?", **PAGING), await world.ask("Second?", **PAGING)
    [incident] = world.pager.incidents
    await world.advance(minutes=11)
    await world.pager.acknowledge(incident, ALICE)
    await world.settle()
    return first, second, incident


async def test_an_incident_that_an_open_question_keeps_open_is_left_alone(paged: World) -> None:
    first, second, incident = await grouped(paged)
    await paged.answer(first, "approve")
    await paged.advance(hours=1)
    assert (incident.is_open, resolves(paged)) == (True, 1)

    await paged.answer(second, "approve")
    await paged.advance(hours=1)

    assert (incident.is_open, resolves(paged)) == (False, 2)
    assert GOES_ON not in told(paged)


async def test_of_two_questions_on_one_incident_the_end_of_the_second_makes_up_for_the_first(paged: World) -> None:
    first, second, incident = await grouped(paged)
    paged.pager.fail_next(EventFault.LOST)
    await paged.answer(first, "approve")
    await paged.advance(hours=1)

    await paged.answer(second, "approve")
    await paged.settle()
    assert incident.is_open
    await paged.advance(minutes=6)

    assert not incident.is_open


async def test_what_was_merged_into_another_incident_is_waited_for_there(paged: World) -> None:
    first, second = await paged.ask("First?", **PAGING), await paged.ask("Second?", **PAGING)
    merged, into = paged.pager.incidents
    paged.pager.merge(merged, into)
    await paged.settle()
    await paged.answer(second, "approve")
    await paged.settle()
    paged.pager.fail_next(EventFault.LOST)
    await paged.answer(first, "approve")
    await paged.settle()
    assert into.is_open

    await paged.advance(minutes=6)

    assert not into.is_open
    await paged.advance(hours=2)
    assert told(paged) == []


async def test_a_service_that_dies_meanwhile_resolves_again_when_it_is_back(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url) as world:
        incident = await answered(world, EventFault.LOST)
        pager, clock = world.pager, world.clock
    clock.move_by(timedelta(minutes=6))
    assert incident.is_open

    async with watched(tmp_path, sqlite_url, clock=clock) as world:
        await world.settle()

        assert [event["event_action"] for event in world.pager.events] == ["resolve"]
        assert world.pager.events[0]["dedup_key"] == pager.events[0]["dedup_key"]


# --- Something is heard of it -------------------------------------------------------------------------------------

Happens = Callable[[PagerDutySandbox, Incident], Awaitable[object]]
HAPPENS: dict[str, Happens] = {
    "acknowledged": lambda pager, incident: pager.acknowledge(incident, ALICE),
    "escalated": lambda pager, incident: pager.escalate(incident),
    "reassigned": lambda pager, incident: pager.reassign(incident, ALICE, BOB),
    "annotated": lambda pager, incident: pager.add_note(incident, BOB, "what is this?"),
    "a responder is added": lambda pager, incident: pager.add_responder(incident, ALICE, BOB),
}


@pytest.mark.parametrize("what", HAPPENS)
async def test_whatever_happens_to_the_incident_after_the_end_resolves_it_again_at_once(
    what: str, tmp_path: Path, sqlite_url: str
) -> None:
    async with watched(tmp_path, sqlite_url) as world:
        incident = await answered(world, EventFault.LOST)
        await world.advance(minutes=2)
        assert incident.is_open

        await HAPPENS[what](world.pager, incident)
        await world.settle()

        assert not incident.is_open


async def test_an_incident_that_is_reopened_days_later_is_resolved_again(paged: World) -> None:
    incident = await answered(paged)
    await paged.advance(days=3)

    await paged.pager.reopen(incident, BOB)
    await paged.settle()

    assert not incident.is_open


async def test_it_is_resolved_again_once_a_minute_at_most(paged: World) -> None:
    incident = await answered(paged, *[EventFault.LOST] * 20)
    await paged.advance(minutes=2)
    before = paged.pager.tries
    for _ in range(5):
        await paged.pager.acknowledge(incident, ALICE)
        await paged.pager.unacknowledge(incident)
        await paged.advance(seconds=5)

    assert paged.pager.tries == before + 1


async def test_what_is_said_of_a_resolved_incident_resolves_nothing(paged: World) -> None:
    incident = await answered(paged)
    await paged.advance(minutes=10)

    await paged.pager.add_note(incident, BOB, "thanks")
    await paged.settle()

    assert resolves(paged) == 1


async def test_a_webhook_from_before_the_end_that_comes_late_resolves_nothing(paged: World) -> None:
    asked = await paged.ask(**PAGING)
    [incident] = paged.pager.incidents
    paged.pager.webhooks.hold_back()
    await paged.pager.acknowledge(incident, ALICE)
    await paged.advance(seconds=30)
    await paged.answer(asked, "approve")
    await paged.advance(minutes=2)

    await paged.pager.webhooks.release()
    await paged.advance(minutes=2)

    assert resolves(paged) == 1


# --- Without webhooks, without a token ----------------------------------------------------------------------------

DEAF: dict[str, Any] = {"pagerduty__webhook_secrets": []}
MUTE: dict[str, Any] = {"pagerduty__api_token": None}


async def test_without_webhooks_pagerduty_is_asked_whether_it_is_gone(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url, **DEAF) as world:
        incident = await answered(world, EventFault.LOST)
        await world.advance(minutes=6)
        assert not incident.is_open

        await world.advance(hours=3)

        assert resolves(world) == 2  # of which the second was sent while it was asked
        assert told(world) == []


async def test_without_webhooks_and_token_it_is_resolved_once_more(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url, **DEAF, **MUTE) as world:
        incident = await answered(world, EventFault.LOST)
        await world.advance(minutes=6)
        assert not incident.is_open

        await world.advance(hours=3)

        assert (resolves(world), told(world)) == (1, [])


async def test_with_webhooks_alone_what_an_incidents_title_says_is_enough(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url, **MUTE) as world:
        incident = await answered(world, EventFault.LOST)
        await world.advance(minutes=2)
        await world.pager.escalate(incident)
        await world.settle()
        assert not incident.is_open

        await world.advance(hours=2)

        assert (resolves(world), told(world)) == (1, [])
