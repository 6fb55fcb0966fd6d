"""Whom a question pages through PagerDuty, and what its incident says until it is resolved: a running service against
the sandbox.

Source: API.md §2, §3; facts on channels §C; docs/decisions/0023.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.sandbox.pagerduty.world import Incident, IncidentStatus, Service, User
from bot.sandbox.slack.world import Message as SlackMessage
from channels.pagerduty import channel
from core.domain.notice import Message, Purpose
from core.domain.people import Address
from core.inbound.reports import InboundReports
from tests.vendors.pagerduty import EventFault
from tests.world import OWN_PAGER_USER, World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALICE = User("PALICE", "Alice", "alice@example.com")
PAYMENTS, BOBS = "Q" * 32, "B" * 32
PAGING = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default"}
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}
BOB = {"name": "Bob", "email": "bob@example.com", "pagerduty_user_id": "PBOB"}


@pytest_asyncio.fixture(loop_scope="module")
async def world(quiet_room: World) -> AsyncIterator[World]:
    """PagerDuty knows nothing of other tests' questions; at the end it is as well, and has the same users, again."""
    pager = quiet_room.pager
    await pager.webhooks.answered()
    for seen in (pager.incidents, pager.events, pager.pages):
        seen.clear()
    users, token = dict(pager.account.users), pager.rest.token
    yield quiet_room
    pager.account.users, pager.rest.token, pager.rest.down_with = users, token, None
    pager.rest.limit_next(0)
    pager.rest.answering.set()
    pager.behave()


def add_service(world: World, name: str, routing_key: str) -> None:
    """The account has this one beside the default."""
    world.pager.account.services[routing_key] = Service(f"PSVC{name.upper()}", name, routing_key)


async def deliveries(world: World, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [item for item in await world.timeline(asked) if item["kind"] == "delivery"]


async def problems(world: World, **body: Any) -> list[str]:
    said = await world.call(
        "POST", "/v1/suspensions/preview", json={"question": "Go?", "response_type": "confirm", **body}
    )
    return [problem["code"] for problem in said.json()["problems"]]


def notes(incident: Incident) -> list[str]:
    return [note.content for note in incident.notes]


# --- Whom ---------------------------------------------------------------------------------------------------------


async def test_a_service_is_paged_by_its_own_key_and_each_is_resolved(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__services={"payments": PAYMENTS}) as world:
        add_service(world, "payments", PAYMENTS)
        ladder = [{"attempt": 2, "channel_hint": "pagerduty", "notify_to": "pagerduty:payments"}]
        asked = await world.ask(**PAGING, retry_policy=HOURLY | {"escalation_ladder": ladder})
        await world.advance(hours=1)
        assert [one.service.name for one in world.pager.incidents] == ["default", "payments"]
        assert len({event["dedup_key"] for event in world.pager.events}) == 1

        await world.answer(asked, "approve")
        await world.settle()

        assert not any(one.is_open for one in world.pager.incidents)
        for incident in world.pager.incidents:
            assert len([note for note in notes(incident) if "Answered “Approve refund”" in note]) == 1


async def test_a_person_with_an_integration_of_their_own_is_paged_by_it_alone(tmp_path: Path, sqlite_url: str) -> None:
    people = [BOB | {"pagerduty_routing_key": BOBS, "groups": ["finance"]}]
    async with running(tmp_path, sqlite_url, people=people) as world:
        add_service(world, "bobs", BOBS)
        assert await problems(world, channel_hint="pagerduty", notify_to="bob@example.com") == []
        asked = await world.ask(channel_hint="pagerduty", notify_to="bob@example.com")

        [incident] = world.pager.incidents
        assert incident.service.name == "bobs"
        assert incident.responders == []
        shown = str(await world.timeline(asked)) + str(world.pager.events[0]["payload"]) + asked["ref"]
        assert BOBS not in shown
        assert (await world.answer(asked, "approve", "second_operator")).status_code == 200
        await world.settle()
        assert not incident.is_open


async def test_a_person_without_one_is_called_to_the_default_services_incident(world: World) -> None:
    body = {"channel_hint": "pagerduty", "notify_to": "bob@example.com"}
    assert await problems(world, **body) == []
    asked = await world.ask(**body, responders=["bob@example.com"])

    [incident] = world.pager.incidents
    assert [user.id for user in incident.responders] == ["PBOB"]
    assert [(page.user.name, page.why) for page in world.pager.pages] == [("Alice", "triggered"), ("Bob", "responder")]
    assert (await world.answer(asked, "approve", "second_operator")).status_code == 200


async def test_a_rung_for_a_person_wakes_them_although_the_incident_is_open_and_a_reminder_nobody(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "pagerduty", "notify_to": "bob@example.com"}]
    ladder += [{"attempt": 3, "channel_hint": "pagerduty", "notify_to": "bob@example.com"}]
    asked = await world.ask(**PAGING, retry_policy=HOURLY | {"escalation_ladder": ladder})
    await world.advance(hours=1)

    [incident] = world.pager.incidents
    assert [(page.user.name, page.why) for page in world.pager.pages] == [("Alice", "triggered"), ("Bob", "responder")]
    await world.advance(hours=1)
    assert len(world.pager.pages) == 2
    assert [item["reason"] for item in await deliveries(world, asked)] == [None, "already_paging", "already_paging"]
    assert len(notes(incident)) == 2


async def test_an_incident_that_is_older_than_a_month_is_still_found(world: World) -> None:
    asked = await world.ask(**PAGING, timeout_seconds=40 * 86_400)
    await world.advance(days=35)
    await world.answer(asked, "approve")
    await world.settle()

    assert any("Answered" in note for note in notes(world.pager.incidents[0]))


async def test_somebody_whom_the_directory_does_not_know_is_looked_up_by_mail(world: World) -> None:
    world.pager.account.users["PDORA"] = User("PDORA", "Dora", "dora@example.com")
    await world.ask(channel_hint="pagerduty", notify_to="dora@example.com")

    assert [user.id for user in world.pager.incidents[0].responders] == ["PDORA"]


async def test_a_call_that_fails_is_made_again_and_pages_them_once(world: World) -> None:
    world.pager.rest.down_with = 503
    await world.ask(channel_hint="pagerduty", notify_to="bob@example.com")
    assert world.pager.incidents[0].responders == []
    world.pager.rest.down_with = None

    await world.advance(minutes=1)
    await world.advance(hours=1)

    assert [user.id for user in world.pager.incidents[0].responders] == ["PBOB"]


async def test_whom_nobody_can_call_is_warned_of_and_may_still_answer(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__from_email=None) as world:
        body = {"channel_hint": "pagerduty", "notify_to": "bob@example.com"}
        assert await problems(world, **body) == ["pages_service_only"]
        asked = await world.ask(**body, responders=["bob@example.com"])

        assert world.pager.incidents[0].responders == []
        assert (await world.answer(asked, "approve", "second_operator")).status_code == 200


async def test_a_group_is_one_page_beside_those_who_have_a_pager_of_their_own(tmp_path: Path, sqlite_url: str) -> None:
    alice = {"name": "Alice", "email": "alice@example.com", "pagerduty_user_id": "PALICE", "groups": ["finance"]}
    people = [alice, BOB | {"pagerduty_routing_key": BOBS, "groups": ["finance"]}]
    async with running(tmp_path, sqlite_url, people=people) as world:
        add_service(world, "bobs", BOBS)
        await world.ask(channel_hint="pagerduty", notify_to="group:finance")

        assert sorted(one.service.name for one in world.pager.incidents) == ["bobs", "default"]
        assert all(one.responders == [] for one in world.pager.incidents)


# --- Again --------------------------------------------------------------------------------------------------------


async def test_a_later_attempt_at_an_open_incident_pages_nobody_and_is_noted(world: World) -> None:
    asked = await world.ask(**PAGING, retry_policy=HOURLY)
    await world.advance(hours=2)

    [incident] = world.pager.incidents
    assert len(world.pager.pages) == 1
    assert [item["reason"] for item in await deliveries(world, asked)] == [None, "already_paging", "already_paging"]
    second, third = notes(incident)
    assert second.startswith("Handraise: Reminder (2 of 3)")
    assert third.startswith("Handraise: URGENT: final reminder")
    assert asked["ref"] in second


async def test_a_later_attempt_after_somebody_resolved_it_by_hand_pages_anew(world: World) -> None:
    asked = await world.ask(**PAGING, retry_policy=HOURLY)
    await world.pager.resolve(world.pager.incidents[0], ALICE)
    await world.advance(hours=1)

    assert [one.is_open for one in world.pager.incidents] == [False, True]
    assert [item["reason"] for item in await deliveries(world, asked)] == [None, None]
    await world.answer(asked, "approve")
    await world.settle()
    assert not any(one.is_open for one in world.pager.incidents)


async def test_without_a_token_a_later_attempt_is_taken_to_page_already(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__api_token=None) as world:
        asked = await world.ask(**PAGING, retry_policy=HOURLY)
        await world.advance(hours=1)

        assert [item["reason"] for item in await deliveries(world, asked)] == [None, "already_paging"]
        assert notes(world.pager.incidents[0]) == []


@pytest.mark.slow
async def test_an_api_that_does_not_answer_holds_no_later_attempt_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "LOOK_SECONDS", 2.0)
    asked = await world.ask(**PAGING, retry_policy=HOURLY)
    world.pager.rest.answering.clear()
    later = asyncio.create_task(world.advance(hours=1))
    await world.pager.account.until(lambda: len(world.pager.events) == 2 or None)
    world.pager.rest.answering.set()
    await later

    assert [item["status"] for item in await deliveries(world, asked)] == ["delivered", "delivered"]


# --- What it says -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "severities"),
    [
        ({}, ["error", "error", "error"]),
        ({"decision_record": {"risk": 0.9}}, ["critical", "critical", "critical"]),
        ({"decision_record": {"risk": 0.6}, "context": {"risk": "low"}}, ["critical", "critical", "critical"]),
        ({"context": {"risk": "high"}}, ["critical", "critical", "critical"]),
        ({"context": {"risk": "medium"}}, ["warning", "warning", "error"]),
        ({"context": {"risk": "low"}}, ["info", "info", "error"]),
        ({"context": {"risk": "who knows"}}, ["error", "error", "error"]),
    ],
)
async def test_the_severity_is_the_stated_risk_and_the_last_attempt_is_always_heard(
    world: World, said: dict[str, Any], severities: list[str]
) -> None:
    await world.ask(**PAGING, retry_policy=HOURLY, **said)
    await world.advance(hours=2)

    assert [event["payload"]["severity"] for event in world.pager.events] == severities


@pytest.mark.parametrize("risk", [None, "low", "critical"])
async def test_a_rung_says_how_severe_its_own_attempt_is(world: World, risk: str | None) -> None:
    rungs = [{"attempt": 2, "severity": "warning"}, {"attempt": 3, "severity": "critical"}]
    first = {None: "error", "low": "info", "critical": "critical"}[risk]
    asked = await world.ask(**PAGING, retry_policy=HOURLY | {"escalation_ladder": rungs}, context={"risk": risk})
    await world.advance(hours=2)

    assert [event["payload"]["severity"] for event in world.pager.events] == [first, "warning", "critical"]
    shown = (await world.show(asked))["retry_policy"]["escalation_ladder"]
    assert [rung["severity"] for rung in shown] == ["warning", "critical"]


async def test_a_rung_may_be_critical_in_the_platforms_ladder(tmp_path: Path, sqlite_url: str) -> None:
    policy = HOURLY | {"escalation_ladder": [{"attempt": 2, "channel_hint": "pagerduty", "severity": "critical"}]}
    suspension = {"default_channel": "slack", "default_retry_policy": policy}
    async with running(tmp_path, sqlite_url, suspension=suspension) as world:
        await world.ask()
        await world.advance(hours=2)
        assert [event["payload"]["severity"] for event in world.pager.events] == ["critical"]


async def test_a_severity_that_pagerduty_does_not_know_is_refused(world: World) -> None:
    policy = HOURLY | {"escalation_ladder": [{"attempt": 3, "severity": "high"}]}
    body = {"question": "Go on?", "response_type": "confirm", "retry_policy": policy}
    response = await world.call("POST", "/v1/suspensions", json=body)

    assert response.status_code == 422
    assert [field["path"] for field in response.json()["detail"]["fields"]] == [
        "retry_policy.escalation_ladder.0.severity"
    ]


async def test_the_incident_links_to_the_page_that_asks_to_sign_in(world: World) -> None:
    asked = await world.ask(channel_hint="pagerduty", notify_to="bob@example.com")

    event = world.pager.events[0]
    assert event["client_url"].endswith(f"/q/{asked['ref']}")
    assert [link["href"] for link in event["links"]] == [event["client_url"]]
    assert "/a/" not in str(event)
    assert asked["suspension_id"] not in str(event)


# --- Back ---------------------------------------------------------------------------------------------------------


async def paged_and_shown_in_slack(world: World) -> tuple[dict[str, Any], SlackMessage]:
    """In Slack first; an hour later PagerDuty too."""
    ladder = [{"attempt": 2, "channel_hint": "pagerduty", "notify_to": "pagerduty:default"}]
    asked = await world.ask(retry_policy={"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": ladder})
    message = await world.slack.expect_message("Refund order 12345?")
    await world.advance(hours=1)
    assert [one.is_open for one in world.pager.incidents] == [True]
    return asked, message


async def test_answered_in_slack_the_incident_says_by_whom_and_then_is_resolved(world: World) -> None:
    asked, message = await paged_and_shown_in_slack(world)
    await world.press("U0ALICE", message, "Approve refund")

    [incident] = world.pager.incidents
    assert incident.status is IncidentStatus.RESOLVED
    [note] = incident.notes
    assert note.content.startswith("Handraise: Answered “Approve refund” by alice@example.com via Slack")
    assert asked["ref"] in note.content
    assert note.user == OWN_PAGER_USER
    assert incident.log == ["trigger", "annotate", "resolve"]


@pytest.mark.parametrize("trouble", ["down", "limited", "silent", "forbidden"])
async def test_a_note_that_fails_never_holds_the_resolve_back_and_follows_it(
    world: World, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, _ = await paged_and_shown_in_slack(world)
    rest = world.pager.rest
    match trouble:
        case "down":
            rest.down_with = 500
        case "limited":
            rest.limit_next(3)
        case "silent":
            monkeypatch.setattr(channel, "NOTE_SECONDS", 0.6)
            rest.answering.clear()
        case "forbidden":
            rest.token, kept = rest.read_only_token, rest.token
    await world.answer(asked, "approve")
    [incident] = world.pager.incidents
    await world.pager.expect_incident(asked["ref"], IncidentStatus.RESOLVED)
    assert notes(incident) == []

    rest.down_with = None
    rest.answering.set()
    await world.settle()
    await world.advance(minutes=10)
    if trouble == "forbidden":
        rest.token = kept
    else:
        assert len(notes(incident)) == 1


async def test_a_resolve_that_is_tried_again_notes_once(world: World) -> None:
    asked = await world.ask(**PAGING)
    world.pager.fail_next(EventFault.SERVER_ERROR, EventFault.DROP_AFTER_STORING)
    await world.answer(asked, "deny")
    await world.settle()
    await world.advance(minutes=5)

    [incident] = world.pager.incidents
    assert not incident.is_open
    assert len(notes(incident)) == 1


@pytest.mark.parametrize("end", ["expired", "cancelled"])
async def test_any_other_end_resolves_too_and_says_so(world: World, end: str) -> None:
    asked = await world.ask(**PAGING, timeout_seconds=3600)
    if end == "cancelled":
        await world.call(
            "POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={"reason": "no longer needed"}
        )
    await world.advance(hours=2)

    [incident] = world.pager.incidents
    assert not incident.is_open
    [note] = notes(incident)
    assert ("Cancelled by refund-agent" if end == "cancelled" else "Nobody answered by") in note


async def test_a_note_of_ours_that_comes_back_by_webhook_answers_nothing(world: World) -> None:
    """``From`` may name somebody who may answer: what we write in their name is not their word."""
    asked = await world.ask("Go on?", response_type="confirm", **PAGING)
    await world.pager.add_note(world.pager.incidents[0], ALICE, "Handraise: yes")

    assert (await world.show(asked))["status"] == "open"


async def test_a_word_for_one_incident_is_a_note_there_and_wakes_nobody(world: World) -> None:
    asked = await world.ask(**PAGING)
    [incident] = world.pager.incidents
    pages = len(world.pager.pages)
    await tell(world, asked, f"incident/{incident.id}", "Recorded “Approve” by alice@example.com.")
    await tell(world, asked, "default", "Too late: bob@example.com had answered.")

    assert notes(incident) == [
        "Handraise: Recorded “Approve” by alice@example.com.",
        "Handraise: Too late: bob@example.com had answered.",
    ]
    assert len(world.pager.pages) == pages


async def test_a_note_in_doubt_is_not_written_twice(world: World) -> None:
    asked = await world.ask(**PAGING)
    [incident] = world.pager.incidents
    world.pager.rest.cut_off_next()
    await tell(world, asked, f"incident/{incident.id}", "Recorded.")
    await world.advance(minutes=1)

    assert notes(incident) == ["Handraise: Recorded."]


async def tell(world: World, asked: Mapping[str, Any], place: str, text: str) -> None:
    message = Message(Purpose.CONFIRMATION, "Re:", text, ref=asked["ref"])
    incoming = InboundReports(world.service.database, world.service.transitions, world.clock)
    await incoming.tell(message, Address("pagerduty", place), asked["suspension_id"])
    await world.settle()
