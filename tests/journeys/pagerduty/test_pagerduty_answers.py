"""Every way to answer in PagerDuty, and everything there that is no answer; what the incident's notes say of it.

Source: API.md §3, §6; facts on channels §C5, §C6, §F; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.sandbox.pagerduty.webhooks import Delivery, incident_data
from bot.sandbox.pagerduty.world import Incident, IncidentStatus, User
from tests.world import World, after, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
CAROL = User("PCAROL", "Carol", "carol@example.com")
EVE = User("PEVE", "Eve", "eve@elsewhere.example")
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}
EVERYBODY = ["alice@example.com", "bob@example.com", "carol@example.com"]


@pytest_asyncio.fixture(loop_scope="module")
async def world(room: World) -> World:
    """What PagerDuty was told in other tests is forgotten."""
    await room.settle()
    await room.pager.webhooks.answered()
    room.pager.incidents.clear()
    room.pager.webhooks.deliveries.clear()
    return room


@asynccontextmanager
async def set_up(folder: Path, url: str, **pagerduty: Any) -> AsyncIterator[World]:
    async with running(folder, url, **{f"pagerduty__{key}": value for key, value in pagerduty.items()}) as world:
        yield world


async def page(world: World, question: str = "Refund order 12345?", **fields: Any) -> tuple[dict[str, Any], Incident]:
    call = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default", "retry_policy": HOURLY}
    asked = await world.ask(question, **call | {"responders": EVERYBODY} | fields)
    world.pager.account.users |= {user.id: user for user in (CAROL, EVE)}
    return asked, await world.pager.expect_incident(asked["ref"])


async def is_open(world: World, asked: Mapping[str, Any]) -> bool:
    return (await world.intent(asked))["status"] == "suspended_awaiting_input"


async def refused(world: World, asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Who was turned away on the timeline, and why."""
    events = await world.events(asked)
    found = [one["payload"] for one in events if one["event_type"] == "intent.suspension_answer_refused"]
    return [(one["refused"], one["reason"]) for one in found]


async def notes(world: World, incident: Incident) -> list[str]:
    await world.settle()
    return [note.content for note in incident.notes if note.content.startswith("Handraise: ")]


# --- Claims -------------------------------------------------------------------------------------------------------


async def test_an_acknowledgement_holds_for_as_long_as_is_configured(tmp_path: Path, sqlite_url: str) -> None:
    async with set_up(tmp_path, sqlite_url, claim_seconds=600) as world:
        asked, incident = await page(world)

        await world.pager.acknowledge(incident, ALICE)

        assert (await world.show(asked))["claim_until"] == after(asked, minutes=10)


async def test_resolving_claims_answers_nothing_and_says_that_a_decision_is_missing(world: World) -> None:
    asked, incident = await page(world)

    assert (await world.pager.resolve(incident, BOB)).status_code == 202

    assert await is_open(world, asked)
    assert (await world.show(asked))["claimed_by"] == "bob@example.com"
    [said] = await notes(world, incident)
    assert f"{asked['ref']} still needs a decision" in said
    assert "1 for “Approve refund”, 2 for “Deny refund”" in said
    assert len(world.pager.incidents) == 1


async def test_a_resolved_incident_pages_once_more_where_that_is_configured(tmp_path: Path, sqlite_url: str) -> None:
    async with set_up(tmp_path, sqlite_url, retrigger_when_resolved=True) as world:
        asked, incident = await page(world)
        await world.pager.resolve(incident, ALICE)
        await world.settle()
        assert len(world.pager.incidents) == 2
        assert "paged once more" in (await notes(world, incident))[0]

        await world.pager.resolve(world.pager.incidents[1], ALICE)
        await world.settle()

        assert len(world.pager.incidents) == 2
        assert await is_open(world, asked)


async def test_our_own_resolve_is_nobodys_claim_and_no_missing_decision(world: World) -> None:
    asked, incident = await page(world)
    await world.answer(asked, "approve")
    await world.settle()
    await world.settle()

    assert incident.status is IncidentStatus.RESOLVED
    assert not any("still needs" in note for note in await notes(world, incident))


async def test_a_merged_incident_is_not_a_resolved_one(world: World) -> None:
    first, incident = await page(world, "First?")
    second, other = await page(world, "Second?")

    world.pager.merge(other, incident)
    await world.pager.acknowledge(incident, ALICE)

    assert [(await world.show(one))["claimed_by"] for one in (first, second)] == ["alice@example.com"] * 2
    assert await notes(world, other) == []


async def test_reopening_gives_the_claim_of_whoever_resolved_it_back(world: World) -> None:
    asked, incident = await page(world)
    await world.pager.resolve(incident, BOB)

    await world.pager.reopen(incident, ALICE)

    assert (await world.show(asked))["claimed_by"] is None


# --- Notes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text", "value"),
    [
        ({}, "approve", "approve"),
        ({}, "2", "deny"),
        ({"response_type": "confirm"}, "yes", "yes"),
        ({"response_type": "text"}, "{ref} half of it", "half of it"),
        ({"response_type": "form", "context": {"amount": 5}}, "{ref}\namount: 250", {"amount": "250"}),
    ],
)
async def test_a_note_answers_as_the_page_says(world: World, fields: dict[str, Any], text: str, value: Any) -> None:
    asked, incident = await page(world, **fields)

    assert (await world.pager.add_note(incident, BOB, text.format(ref=asked["ref"]))).status_code == 202

    told = (await world.told(asked))["data"]
    assert (told["value"], told["responded_by"], told["channel"]) == (value, "bob@example.com", "pagerduty")
    [said] = await notes(world, incident)
    assert "by bob@example.com via PagerDuty" in said


async def test_a_late_note_is_told_who_answered_and_changes_nothing(world: World) -> None:
    asked, incident = await page(world)
    await world.pager.add_note(incident, ALICE, "approve")

    assert (await world.pager.add_note(incident, BOB, "deny")).status_code == 202

    assert (await world.told(asked))["data"]["value"] == "approve"
    [late] = [note for note in await notes(world, incident) if "bob@example.com" in note]
    assert "had ended before bob@example.com answered" in late
    assert "Answered “Approve refund” by alice@example.com" in late


@pytest.mark.parametrize("done", ["incident.acknowledged", "incident.resolved"])
async def test_what_is_done_to_an_incident_after_the_answer_changes_nothing_and_is_not_spoken_of(
    world: World, done: str
) -> None:
    asked, incident = await page(world)
    assert (await world.answer(asked, "approve")).status_code == 200
    said, events = await notes(world, incident), await world.events(asked)

    assert (await world.pager.say(done, incident_data(incident), BOB)).status_code == 202

    assert await notes(world, incident) == said
    assert await world.events(asked) == events
    assert (await world.show(asked))["claimed_by"] is None


async def test_after_silence_a_late_note_is_told_what_the_agent_went_on_with(world: World) -> None:
    fallback = {"fallback_policy": "complete_with_fallback", "fallback_value": "deny"}
    asked, incident = await page(world, **fallback, retry_policy=None, timeout_seconds=3600)
    await world.advance(hours=1)
    assert not await is_open(world, asked)

    await world.pager.add_note(incident, BOB, "approve")

    assert any("The agent went on with “Deny refund”" in one for one in await notes(world, incident) if "before" in one)


async def test_one_of_several_answers_is_confirmed_in_the_incident(world: World) -> None:
    asked, incident = await page(world, answers_required=2)

    await world.pager.add_note(incident, BOB, "approve")

    assert any("bob@example.com: Recorded: “Approve refund”. 2 people" in one for one in await notes(world, incident))
    assert await is_open(world, asked)


@pytest.mark.parametrize(
    ("who", "text", "reason"),
    [
        (EVE, "approve", ("eve@elsewhere.example", "not_a_responder")),
        (None, "approve", ("pagerduty", "not_a_person")),
        (ALICE, "approve" + "\n" * 60_000, ("pagerduty:PALICE", "trimmed_note")),
        (User("PGONE", "Gone", "gone@example.com"), "approve", ("pagerduty:PGONE", "unknown_person")),
    ],
)
async def test_what_may_never_answer_is_a_line_on_the_timeline(
    world: World, who: User | None, text: str, reason: tuple[str, str]
) -> None:
    asked, incident = await page(world)

    for _ in range(2):
        assert (await world.pager.add_note(incident, who, text)).status_code == 202

    assert await is_open(world, asked)
    assert await refused(world, asked) == [reason]


async def test_our_own_note_is_never_an_answer_whoever_it_is_written_by(world: World) -> None:
    asked, incident = await page(world)

    assert (await world.pager.add_note(incident, ALICE, "Handraise: approve")).status_code == 202

    assert await is_open(world, asked)


async def test_whoever_writes_something_else_is_told_once_how_to_answer(world: World) -> None:
    asked, incident = await page(world)

    await world.pager.add_note(incident, ALICE, "What is this about?")
    await world.pager.add_note(incident, BOB, "I don't know")

    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert f"not read as an answer to {asked['ref']}" in said


async def test_where_questions_share_an_incident_the_note_is_asked_for_its_ref(world: World) -> None:
    first, incident = await page(world, "First?")
    second, other = await page(world, "Second?")
    world.pager.merge(other, incident)

    await world.pager.add_note(incident, ALICE, "approve")

    assert await is_open(world, first) and await is_open(world, second)
    [said] = await notes(world, incident)
    assert first["ref"] in said and second["ref"] in said
    await world.pager.add_note(incident, ALICE, f"{second['ref']} approve")
    assert await is_open(world, first) and not await is_open(world, second)


async def test_an_answer_never_goes_by_what_an_incident_was_about_before(world: World) -> None:
    """It is asked again, since alerts may have been merged into it: Alice looks at two questions."""
    first, incident = await page(world, "First?")
    await world.pager.acknowledge(incident, ALICE)
    second, other = await page(world, "Second?")
    world.pager.account.merge(other, incident)  # and the webhook about it is late

    await world.pager.add_note(incident, ALICE, "approve")

    assert await is_open(world, first) and await is_open(world, second)


async def test_a_title_that_names_a_question_is_good_for_a_claim_and_never_for_an_answer(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with set_up(tmp_path, sqlite_url, api_token=None) as world:
        asked, incident = await page(world)

        await world.pager.acknowledge(incident, ALICE)
        await world.pager.add_note(incident, ALICE, "approve")

        assert (await world.show(asked))["claimed_by"] == "alice@example.com"
        assert await is_open(world, asked)


async def test_an_incident_with_a_key_of_its_own_needs_no_list_of_alerts(tmp_path: Path, sqlite_url: str) -> None:
    async with set_up(tmp_path, sqlite_url, api_token=None) as world:
        world.pager.account.without_alerts.add("default")
        asked, incident = await page(world)
        assert incident.incident_key is not None

        await world.pager.acknowledge(incident, ALICE)
        await world.pager.add_note(incident, BOB, "approve")

        assert (await world.told(asked))["data"]["responded_by"] == "bob@example.com"


# --- The decision field -------------------------------------------------------------------------------------------


async def test_the_decision_field_answers_and_no_other_field_does(tmp_path: Path, sqlite_url: str) -> None:
    async with set_up(tmp_path, sqlite_url, decision_field="handraise_decision") as world:
        asked, incident = await page(world)
        await world.pager.set_fields(incident, BOB, team="approve")
        await world.pager.set_fields(incident, None, handraise_decision="approve")
        assert await is_open(world, asked)
        await world.pager.set_fields(incident, ALICE, team="payments")  # the other one is set still, by nobody
        assert await is_open(world, asked)

        assert (await world.pager.set_fields(incident, BOB, handraise_decision="Deny refund")).status_code == 202

        told = (await world.told(asked))["data"]
        assert (told["value"], told["responded_by"]) == ("deny", "bob@example.com")
        assert await refused(world, asked) == [("pagerduty", "not_a_person")]


async def test_without_a_configured_field_no_field_answers(world: World) -> None:
    asked, incident = await page(world)

    await world.pager.set_fields(incident, BOB, handraise_decision="approve")

    assert await is_open(world, asked)


# --- Whoever it is assigned to ------------------------------------------------------------------------------------


@pytest.mark.parametrize("may", [True, False])
async def test_whoever_an_incident_is_reassigned_to_answers_only_where_that_is_configured(
    tmp_path: Path, sqlite_url: str, may: bool
) -> None:
    async with set_up(tmp_path, sqlite_url, assignees_may_answer=may) as world:
        asked, incident = await page(world, responders=["alice@example.com"])
        await world.pager.add_note(incident, CAROL, "approve")
        assert await is_open(world, asked)

        await world.pager.reassign(incident, ALICE, CAROL)
        await world.pager.add_note(incident, CAROL, "approve")

        assert await is_open(world, asked) is not may


async def test_whoever_it_was_assigned_to_before_and_strangers_may_not(tmp_path: Path, sqlite_url: str) -> None:
    async with set_up(tmp_path, sqlite_url, assignees_may_answer=True) as world:
        asked, incident = await page(world, responders=["alice@example.com"])
        await world.pager.reassign(incident, ALICE, CAROL)
        await world.pager.reassign(incident, ALICE, EVE)

        await world.pager.add_note(incident, CAROL, "approve")
        await world.pager.add_note(incident, EVE, "approve")

        assert await is_open(world, asked)


# --- Who somebody is ----------------------------------------------------------------------------------------------


async def test_an_account_that_turns_up_with_another_mailbox_is_nobody_and_the_operators_hear_of_it(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, alerts={"notify": ["ops@example.com"]}) as world:
        first, incident = await page(world)
        mallory = User("PMALLORY", "Alice", "dave@example.com")
        world.pager.account.users[mallory.id] = mallory
        await world.pager.add_note(incident, mallory, "approve")
        await world.advance(hours=25)
        second, other = await page(world, "Second?")

        world.pager.account.users[mallory.id] = User(mallory.id, "Alice", "carol@example.com")
        await world.pager.add_note(other, mallory, "approve")
        await world.settle()

        assert await is_open(world, second)
        assert any("another_mailbox" in mail.subject for mail in world.mailbox.of("ops@example.com"))
        assert await refused(world, first) == [("dave@example.com", "not_a_responder")]


async def test_an_account_with_the_mailbox_of_somebody_whom_the_directory_knows_by_another_is_nobody(
    world: World,
) -> None:
    asked, incident = await page(world)
    fake = User("PFAKE", "Alice", "alice@example.com")
    world.pager.account.users[fake.id] = fake
    try:
        await world.pager.add_note(incident, fake, "approve")
    finally:
        del world.pager.account.users[fake.id]

    assert await is_open(world, asked)
    assert await refused(world, asked) == [("pagerduty:PFAKE", "unknown_person")]


# --- The door -----------------------------------------------------------------------------------------------------


async def test_the_operators_hear_of_the_first_bad_signature_and_then_once_an_hour(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, alerts={"notify": ["ops@example.com"]}) as world:
        for minutes in (0, 1, 2, 60):
            await world.advance(minutes=minutes)
            response = await world.http.post(f"{world.url}/pagerduty/webhooks", content=b"{}")
            assert response.status_code == 401
            await world.settle()

        assert [mail.subject for mail in world.mailbox.of("ops@example.com")] == [
            "Webhooks from pagerduty are refused (wrong signature)"
        ] * 2


async def test_a_replay_under_other_ids_changes_nothing(world: World) -> None:
    asked, incident = await page(world)
    await world.pager.acknowledge(incident, ALICE)
    await world.pager.unacknowledge(incident)
    [first] = [one for one in world.pager.webhooks.deliveries if one.event["event_type"] == "incident.acknowledged"]

    assert (await world.pager.webhooks.deliver(Delivery("other", first.event, first.raw))).status_code == 202

    assert (await world.show(asked))["claimed_by"] is None
