"""What people do in PagerDuty, and what becomes of the question: real signed webhooks into a running service.

Source: API.md §3 (claims), §6; facts on channels §C, §F; https://developer.pagerduty.com/docs/webhooks-behavior.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio

from bot.sandbox.pagerduty.webhooks import Delivery, envelope, incident_data, signature
from bot.sandbox.pagerduty.world import Incident, IncidentStatus, User
from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
CAROL = User("PCAROL", "Carol", "carol@example.com")
STRANGER = User("PEVE", "Eve", "eve@elsewhere.example")
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


@pytest_asyncio.fixture(loop_scope="module")
async def world(room: World) -> World:
    """What PagerDuty and the agent were told in other tests is forgotten."""
    await room.settle()
    await room.pager.webhooks.answered()
    room.pager.webhooks.deliveries.clear()
    room.agent.resumed.clear()
    return room


async def page(world: World, question: str = "Refund order 12345?", **fields: Any) -> tuple[dict[str, Any], Incident]:
    """A question that pages; Alice, Bob and Carol may answer it."""
    fields = {"responders": ["alice@example.com", "bob@example.com", "carol@example.com"]} | fields
    asked = await world.ask(
        question, channel_hint="pagerduty", notify_to="pagerduty:default", retry_policy=HOURLY, **fields
    )
    world.pager.account.users |= {user.id: user for user in (CAROL, STRANGER)}
    return asked, await world.pager.expect_incident(asked["ref"])


async def knock(world: World, raw: bytes, **headers: str) -> httpx.Response:
    return await world.http.post(f"{world.url}/pagerduty/webhooks", content=raw, headers=headers)


def signed(world: World, raw: bytes) -> dict[str, str]:
    return {"X-PagerDuty-Signature": signature(raw, world.pager.webhooks.secrets)}


async def is_open(world: World, asked: dict[str, Any]) -> bool:
    return (await world.intent(asked))["status"] == "suspended_awaiting_input"


# --- Acknowledging ------------------------------------------------------------------------------------------------


async def test_an_acknowledgement_claims_for_half_an_hour_and_answers_nothing(world: World) -> None:
    asked, incident = await page(world)

    assert (await world.pager.acknowledge(incident, ALICE)).status_code == 202

    shown = await world.show(asked)
    assert shown["claimed_by"] == "alice@example.com"
    assert shown["claim_until"] == after(asked, minutes=30)
    assert await is_open(world, asked)


async def test_an_acknowledgement_that_arrives_late_holds_no_longer_than_it_would_have(world: World) -> None:
    asked, incident = await page(world)
    late = envelope("incident.acknowledged", incident_data(incident), ALICE, world.clock.now() - timedelta(minutes=20))
    stale = envelope("incident.acknowledged", incident_data(incident), BOB, world.clock.now() - timedelta(minutes=31))

    assert (await world.pager.webhooks.send(stale)).status_code == 202
    assert (await world.show(asked))["claimed_by"] is None
    assert (await world.pager.webhooks.send(late)).status_code == 202
    assert (await world.show(asked))["claim_until"] == after(asked, minutes=10)


async def test_giving_an_acknowledgement_back_releases_the_claim(world: World) -> None:
    asked, incident = await page(world)
    await world.pager.acknowledge(incident, ALICE)

    assert (await world.pager.unacknowledge(incident)).status_code == 202

    assert (await world.show(asked))["claimed_by"] is None


async def test_a_claim_made_elsewhere_survives_pagerdutys_acknowledgement_timeout(world: World) -> None:
    asked, incident = await page(world)
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    await world.call("POST", path, "operator", json={"seconds": 600})

    assert (await world.pager.acknowledge(incident, BOB)).status_code == 202
    assert (await world.pager.unacknowledge(incident)).status_code == 202

    assert (await world.show(asked))["claimed_by"] == "alice@example.com"


async def test_somebody_without_a_pagerduty_id_is_known_by_the_mailbox_there(world: World) -> None:
    asked, incident = await page(world)

    await world.pager.acknowledge(incident, CAROL)

    assert (await world.show(asked))["claimed_by"] == "carol@example.com"


async def test_strangers_and_automations_claim_nothing(world: World) -> None:
    asked, incident = await page(world)

    assert (await world.pager.acknowledge(incident, STRANGER)).status_code == 202
    nobody = envelope("incident.acknowledged", incident_data(incident), None, world.clock.now())
    assert (await world.pager.webhooks.send(nobody)).status_code == 202

    assert (await world.show(asked))["claimed_by"] is None


def marked(*marks: str) -> list[dict[str, Any]]:
    """Choices go and stop; those in ``marks`` are what an acknowledgement means."""
    return [
        {"value": value, "label": value.title(), "metadata": {"on_acknowledge": value in marks}}
        for value in ("go", "stop")
    ]


async def test_an_acknowledgement_is_the_answer_that_the_agent_has_marked(world: World) -> None:
    asked, incident = await page(world, choices=marked("go"))

    assert (await world.pager.acknowledge(incident, ALICE)).status_code == 202
    await world.settle()

    resumed = await world.agent.expect()
    assert (resumed.value, resumed.responded_by, resumed.channel) == ("go", "alice@example.com", "pagerduty")
    assert incident.status is IncidentStatus.RESOLVED
    assert not await is_open(world, asked)


async def test_two_marked_choices_are_one_too_many(world: World) -> None:
    asked, incident = await page(world, choices=marked("go", "stop"))

    await world.pager.acknowledge(incident, ALICE)

    assert await is_open(world, asked)
    assert (await world.show(asked))["claimed_by"] == "alice@example.com"


async def test_one_acknowledgement_never_answers_two_questions(world: World) -> None:
    first, incident = await page(world, "First?", choices=marked("go"))
    second, other = await page(world, "Second?", choices=marked("go"))
    world.pager.merge(other, incident)

    await world.pager.acknowledge(incident, ALICE)

    assert await is_open(world, first) and await is_open(world, second)
    assert [(await world.show(one))["claimed_by"] for one in (first, second)] == ["alice@example.com"] * 2


# --- Notes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "value"), [("2", "deny"), ("approve", "approve"), ("Deny refund\nReason: too much", "deny")]
)
async def test_a_note_by_a_responder_answers(world: World, note: str, value: str) -> None:
    _, incident = await page(world)

    assert (await world.pager.add_note(incident, BOB, note)).status_code == 202
    await world.settle()

    resumed = await world.agent.expect()
    assert (resumed.value, resumed.responded_by, resumed.channel) == (value, "bob@example.com", "pagerduty")
    assert incident.status is IncidentStatus.RESOLVED


async def test_a_note_that_says_only_that_somebody_is_on_it_claims(world: World) -> None:
    asked, incident = await page(world)

    assert (await world.pager.add_note(incident, ALICE, "I'm on it.")).status_code == 202

    assert (await world.show(asked))["claimed_by"] == "alice@example.com"
    assert await is_open(world, asked)


@pytest.mark.parametrize(
    "note",
    [
        "on it, approve",
        "approve or deny?",
        "approval rates look low",
        "the customer called twice",
        "3",
        "approve if paid",
    ],
)
async def test_a_note_in_doubt_changes_nothing(world: World, note: str) -> None:
    asked, incident = await page(world)

    assert (await world.pager.add_note(incident, ALICE, note)).status_code == 202

    assert await is_open(world, asked)


@pytest.mark.parametrize("author", [STRANGER, None])
async def test_a_note_by_somebody_else_changes_nothing(world: World, author: User | None) -> None:
    asked, incident = await page(world)

    assert (await world.pager.add_note(incident, author, "approve")).status_code == 202

    assert await is_open(world, asked)


async def test_a_person_who_may_not_answer_is_not_an_error_to_pagerduty(world: World) -> None:
    asked, incident = await page(world, responders=["alice@example.com"])

    assert (await world.pager.add_note(incident, BOB, "approve")).status_code == 202

    assert await is_open(world, asked)


async def test_a_note_that_came_in_pieces_changes_nothing(world: World) -> None:
    asked, incident = await page(world)

    assert (await world.pager.add_note(incident, ALICE, "approve" + "\n" * 60_000)).status_code == 202

    assert await is_open(world, asked)


async def test_a_second_answer_is_too_late_and_changes_nothing(world: World) -> None:
    _, incident = await page(world)
    await world.pager.add_note(incident, ALICE, "approve")

    assert (await world.pager.add_note(incident, BOB, "deny")).status_code == 202
    await world.settle()

    assert [(await world.agent.expect()).value, len(world.agent.resumed)] == ["approve", 1]


async def test_where_questions_share_an_incident_a_note_has_to_name_its_own(world: World) -> None:
    first, incident = await page(world, "First?")
    second, other = await page(world, "Second?")
    world.pager.merge(other, incident)

    await world.pager.add_note(incident, ALICE, "approve")
    assert await is_open(world, first) and await is_open(world, second)

    await world.pager.add_note(incident, ALICE, f"{second['ref']} approve")
    assert await is_open(world, first)
    assert not await is_open(world, second)


async def test_a_free_answer_names_its_question_and_a_remark_is_none(world: World) -> None:
    asked, incident = await page(world, response_type="text")

    await world.pager.add_note(incident, ALICE, "Looking at the logs, this customer is new.")
    assert await is_open(world, asked)

    await world.pager.add_note(incident, ALICE, f"{asked['ref']}: refund half of it")
    await world.settle()
    assert (await world.agent.expect()).value == "refund half of it"


async def test_resolving_the_incident_is_no_answer(world: World) -> None:
    asked, incident = await page(world)

    assert (await world.pager.resolve(incident, ALICE)).status_code == 202

    assert await is_open(world, asked)


# --- What PagerDuty may send besides ------------------------------------------------------------------------------


async def test_a_repeated_webhook_is_done_once(world: World) -> None:
    asked, incident = await page(world)
    await world.pager.acknowledge(incident, ALICE)
    await world.pager.unacknowledge(incident)
    acknowledged = next(one for one in world.pager.webhooks.deliveries if "incident.ack" in one.event["event_type"])

    assert (await world.pager.webhooks.deliver(acknowledged)).status_code == 202
    under_another_id = Delivery("another-webhook-id", acknowledged.event, acknowledged.raw)
    assert (await world.pager.webhooks.deliver(under_another_id)).status_code == 202

    assert (await world.show(asked))["claimed_by"] is None


async def test_an_event_older_than_pagerduty_repeats_is_ignored(world: World) -> None:
    asked, incident = await page(world, choices=marked("go"))
    long_ago = world.clock.now() - timedelta(hours=49, seconds=1)

    replay = envelope("incident.acknowledged", incident_data(incident), ALICE, long_ago)

    assert (await world.pager.webhooks.send(replay)).status_code == 202
    assert await is_open(world, asked)


async def test_an_event_that_waited_out_our_outage_still_counts(world: World) -> None:
    asked, incident = await page(world, choices=marked("go"))
    yesterday = world.clock.now() - timedelta(hours=47)

    await world.pager.webhooks.send(envelope("incident.acknowledged", incident_data(incident), ALICE, yesterday))

    assert not await is_open(world, asked)


@pytest.mark.parametrize(
    "header", [None, "", "v1=", "v1=" + "0" * 64, "v0=" + "0" * 64, "v1=\u00fc".encode("latin-1").decode("latin-1")]
)
async def test_a_webhook_that_is_not_signed_is_401_and_changes_nothing(world: World, header: str | None) -> None:
    asked, incident = await page(world, choices=marked("go"))
    raw = json.dumps(envelope("incident.acknowledged", incident_data(incident), ALICE, world.clock.now())).encode()
    headers = {} if header is None else {b"X-PagerDuty-Signature": header.encode("latin-1")}

    response = await world.http.post(f"{world.url}/pagerduty/webhooks", content=raw, headers=headers)

    assert response.status_code == 401
    assert await is_open(world, asked)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"event": null}',
        b'{"event": {"event_type": "pagey.ping", "data": {"message": "Hello"}}}',
        b'{"event": {"event_type": ["incident.acknowledged"], "data": 5, "agent": "x"}}',
        b'{"event": {"event_type": "incident.acknowledged", "data": {"id": "../../x"}, "agent": {"id": 1}}}',
    ],
)
async def test_whatever_is_signed_is_accepted(world: World, raw: bytes) -> None:
    assert (await knock(world, raw, **signed(world, raw))).status_code == 202


async def test_an_incident_that_is_not_ours_is_accepted_and_changes_nothing(world: World) -> None:
    asked, _ = await page(world)
    event = {"routing_key": next(iter(world.pager.account.services)), "event_action": "trigger", "dedup_key": "disk"}
    payload = {"summary": "Disk full", "source": "db1", "severity": "critical"}
    incident = world.pager.account.trigger({**event, "payload": payload}).incident

    assert (await world.pager.acknowledge(incident, ALICE)).status_code == 202
    assert (await world.pager.add_note(incident, ALICE, "approve")).status_code == 202

    world.pager.incidents.remove(incident)
    assert (await world.pager.acknowledge(incident, ALICE)).status_code == 202
    assert (await world.show(asked))["claimed_by"] is None


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_while_pagerduty_can_not_be_asked_it_has_to_come_again(world: World, status: int) -> None:
    asked, incident = await page(world)
    world.pager.rest.down_with = status
    try:
        assert (await world.pager.add_note(incident, ALICE, "approve")).status_code == 503
        assert await is_open(world, asked)
    finally:
        world.pager.rest.down_with = None

    await world.advance(seconds=20)  # after a 429 it is left alone for so long
    assert (await world.pager.webhooks.deliver(world.pager.webhooks.deliveries[-1])).status_code == 202
    assert not await is_open(world, asked)


@contextlib.contextmanager
def schema_changed(world: World, change: str, back: str) -> Iterator[None]:
    """For as long as the block lasts."""
    path = world.service.database.path
    assert path is not None
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(change)
        try:
            yield
        finally:
            conn.execute(back)


async def test_while_the_database_fails_pagerduty_has_to_come_again(world: World) -> None:
    asked, incident = await page(world)

    with schema_changed(world, "ALTER TABLE seen RENAME TO seen_away", "ALTER TABLE seen_away RENAME TO seen"):
        assert (await world.pager.add_note(incident, ALICE, "approve")).status_code == 503
        assert await is_open(world, asked)

    assert (await world.pager.webhooks.deliver(world.pager.webhooks.deliveries[-1])).status_code == 202
    assert not await is_open(world, asked)


async def test_a_crash_between_the_answer_and_its_remembering_loses_and_doubles_nothing(world: World) -> None:
    asked, incident = await page(world)
    ours = "NEW.channel = 'pagerduty'"
    crash = f"CREATE TRIGGER crash BEFORE INSERT ON seen WHEN {ours} BEGIN SELECT RAISE(ABORT, 'no'); END"

    with schema_changed(world, crash, "DROP TRIGGER crash"):
        assert (await world.pager.add_note(incident, ALICE, "approve")).status_code == 503
        assert not await is_open(world, asked)

    assert (await world.pager.webhooks.deliver(world.pager.webhooks.deliveries[-1])).status_code == 202
    await world.settle()
    assert [(await world.agent.expect()).value, len(world.agent.resumed)] == ["approve", 1]
