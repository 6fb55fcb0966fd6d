"""PagerDuty's REST API away, slow, or asked too often; and incidents that are somebody else's: what goes on.

Source: facts on channels §C2, §C4, §F; docs/decisions/0024, 0027.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.pagerduty.world import Incident, User
from tests.world import ROUTING_KEY, UNHURRIED, World, running

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
PEOPLE = ["alice@example.com", "bob@example.com"]
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}
OPS = "ops@example.com"


@pytest.fixture
async def watched(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """A service whose operators are told by mail."""
    async with running(tmp_path, sqlite_url, alerts={"notify": [f"email:{OPS}"]}) as world:
        yield world


async def page(world: World, question: str = "Refund?", **fields: Any) -> tuple[dict[str, Any], Incident]:
    call = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default", "responders": PEOPLE, "retry_policy": HOURLY}
    asked = await world.ask(question, **call | fields)
    return asked, await world.pager.expect_incident(asked["ref"])


async def early(world: World, **fields: Any) -> tuple[dict[str, Any], Incident, list[Any]]:
    """A page that no webhook has told of, and whose alerts PagerDuty's list does not have yet."""
    door, world.pager.webhooks.url = world.pager.webhooks.url, None
    asked, incident = await page(world, **fields)
    world.pager.webhooks.url = door
    incident.title, alerts, incident.alerts = "Refund?", incident.alerts, []
    return asked, incident, alerts


def foreign(world: World) -> Incident:
    event = {"routing_key": ROUTING_KEY, "event_action": "trigger", "dedup_key": "disk"}
    payload = {"summary": "Disk full", "source": "db1", "severity": "critical"}
    return world.pager.account.trigger({**event, "payload": payload}).incident


def asked_about(world: World, incident: Incident) -> int:
    return world.pager.rest.calls.count(f"GET /incidents/{incident.id}/alerts")


# --- The clock goes on --------------------------------------------------------------------------------------------


async def test_while_the_api_is_silent_what_waits_for_it_holds_no_attempt_back(world: World) -> None:
    _, incident, _ = await early(world, retry_policy=None, timeout_seconds=86_400)
    for user in (ALICE, BOB):
        await world.pager.add_note(incident, user, "approve")
    await world.ask("By mail?", channel_hint="email", retry_policy=HOURLY)
    world.pager.rest.answering.clear()
    world.clock.move_by(timedelta(hours=1))

    async with asyncio.timeout(UNHURRIED.total_seconds() / 2):  # one call that nobody answers takes longer
        await world.service.look()
        await world.service.lanes.empty()

    assert len([mail for mail in world.mailbox.mails if "By mail?" in mail.subject]) == 2
    world.pager.rest.answering.set()


async def test_an_answer_that_waits_for_the_api_outlives_its_outage(world: World) -> None:
    asked, incident, alerts = await early(world)
    await world.pager.add_note(incident, BOB, "approve")
    world.pager.rest.down_with = 500
    await world.advance(hours=2)

    world.pager.rest.down_with, incident.alerts = None, alerts
    await world.advance(minutes=5)

    assert (await world.told(asked))["data"]["responded_by"] == "bob@example.com"


async def test_of_two_answers_to_an_unknown_incident_the_earlier_one_counts_whoever_looks(world: World) -> None:
    """The second comes when the first is looked at rarely by now."""
    asked, incident, alerts = await early(world)
    await world.pager.add_note(incident, BOB, "deny")
    await world.advance(minutes=2)
    await world.pager.add_note(incident, ALICE, "approve")
    incident.alerts = alerts

    await world.advance(seconds=6)

    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_while_the_api_is_away_a_later_answer_does_not_overtake_one_that_waits(world: World) -> None:
    asked, incident, alerts = await early(world)
    await world.pager.add_note(incident, BOB, "deny")
    incident.alerts = alerts
    world.pager.rest.limit_next(1)

    assert (await world.pager.add_note(incident, ALICE, "approve")).status_code == 503
    await world.advance(seconds=30)
    await world.pager.webhooks.retry()

    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_an_unknown_incident_is_asked_about_once_for_a_webhook_whatever_waits_for_it(world: World) -> None:
    _, incident, _ = await early(world)
    for number in range(4):
        await world.pager.add_note(incident, ALICE, f"remark {number}")
    before = asked_about(world, incident)

    await world.pager.add_note(incident, ALICE, "approve")

    assert asked_about(world, incident) - before == 1


# --- Somebody else's ----------------------------------------------------------------------------------------------


async def test_of_somebody_elses_incident_the_api_is_asked_once_a_minute(world: World) -> None:
    incident = foreign(world)
    for _ in range(5):
        await world.pager.acknowledge(incident, ALICE)
        await world.pager.unacknowledge(incident)
    assert asked_about(world, incident) == 1

    await world.advance(seconds=61)
    await world.pager.acknowledge(incident, ALICE)

    assert asked_about(world, incident) == 2


async def test_an_incident_that_our_page_joins_is_ours_a_minute_later(world: World) -> None:
    incident = foreign(world)
    await world.pager.acknowledge(incident, ALICE)
    world.pager.account.grouping.add("default")
    asked = await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default", responders=PEOPLE)
    await world.advance(seconds=61)

    await world.pager.acknowledge(incident, ALICE)

    assert (await world.show(asked))["claimed_by"] == "alice@example.com"


# --- Asked too often, or away -------------------------------------------------------------------------------------


async def test_an_api_that_is_asked_too_often_is_left_alone_as_long_as_it_says(world: World) -> None:
    _, incident = await page(world)
    await world.pager.webhooks.answered()
    world.pager.rest.limit_next(1, reset_seconds=30)
    before = len(world.pager.rest.calls)

    for text in ("approve", "deny", "approve"):
        assert (await world.pager.add_note(incident, ALICE, text)).status_code == 503
    assert len(world.pager.rest.calls) - before == 1

    await world.advance(seconds=30)
    await world.pager.webhooks.retry()
    assert len(world.pager.rest.calls) - before > 1


async def test_lost_api_connections_refuse_no_webhook(world: World) -> None:
    asked, incident = await page(world)
    await world.pager.webhooks.answered()
    world.pager.rest.drop_next(1)
    assert (await world.pager.add_note(incident, BOB, "deny")).status_code == 202
    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_after_a_webhook_that_the_api_failed_the_next_one_is_taken(world: World) -> None:
    _, incident = await page(world)
    await world.pager.webhooks.answered()
    world.pager.rest.drop_next(2)
    statuses = [(await world.pager.add_note(incident, who, "approve")).status_code for who in (BOB, ALICE)]
    assert statuses == [503, 202]


async def test_while_the_api_is_away_an_acknowledgement_claims_by_the_title_and_a_note_has_to_come_again(
    world: World,
) -> None:
    door, world.pager.webhooks.url = world.pager.webhooks.url, None
    asked, incident = await page(world)
    world.pager.webhooks.url = door
    world.pager.rest.down_with = 500

    assert (await world.pager.acknowledge(incident, ALICE)).status_code == 202
    assert (await world.pager.add_note(incident, ALICE, "approve")).status_code == 503

    shown = await world.show(asked)
    assert (shown["claimed_by"], shown["status"]) == ("alice@example.com", "open")


# --- Arrivals -----------------------------------------------------------------------------------------------------


async def test_a_page_that_the_door_hears_of_while_the_api_is_away_has_arrived(watched: World) -> None:
    watched.pager.rest.down_with = 500
    await page(watched)
    await watched.pager.webhooks.answered()
    await watched.advance(minutes=10)

    assert not any("nothing came of it" in mail.subject for mail in watched.mailbox.of(OPS))


@pytest.mark.parametrize("told", [True, False])
async def test_without_a_token_a_page_has_arrived_once_a_webhook_names_it_and_not_before(
    tmp_path: Path, sqlite_url: str, told: bool
) -> None:
    setup = {"alerts": {"notify": [f"email:{OPS}"]}, "pagerduty__api_token": None}
    async with running(tmp_path, sqlite_url, **setup) as world:
        if not told:
            world.pager.webhooks.url = None
        await page(world)
        await world.pager.webhooks.answered()
        await world.advance(minutes=10)

        alarmed = any("nothing came of it" in mail.subject for mail in world.mailbox.of(OPS))
        assert alarmed is not told
