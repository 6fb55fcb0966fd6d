"""Several questions on one incident, and several people who write into one: nothing is guessed.

Source: facts on channels §C4, §C6; docs/decisions/0024, 0027.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.sandbox.pagerduty.world import Incident, User
from tests.world import World, running

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
PEOPLE = ["alice@example.com", "bob@example.com"]
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


async def page(world: World, question: str = "Refund?", **fields: Any) -> tuple[dict[str, Any], Incident]:
    call = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default", "responders": PEOPLE, "retry_policy": HOURLY}
    asked = await world.ask(question, **call | fields)
    return asked, await world.pager.expect_incident(asked["ref"])


async def two(world: World) -> tuple[dict[str, Any], dict[str, Any], Incident]:
    first, incident = await page(world, "First?")
    second, other = await page(world, "Second?")
    world.pager.merge(other, incident)
    await world.pager.webhooks.answered()
    return first, second, incident


async def is_open(world: World, asked: dict[str, Any]) -> bool:
    return (await world.show(asked))["status"] == "open"


async def said(world: World, incident: Incident) -> list[str]:
    await world.settle()
    return [note.content for note in incident.notes if note.content.startswith("Handraise: ")]


# --- Two questions ------------------------------------------------------------------------------------------------


async def test_a_note_for_the_question_that_somebody_has_just_answered_is_no_answer_to_the_other(world: World) -> None:
    first, second, incident = await two(world)
    await world.answer(first, "deny")
    await world.settle()

    await world.pager.add_note(incident, BOB, "approve")

    assert await is_open(world, second)
    assert any(f"What waits for an answer: {second['ref']}." in note for note in await said(world, incident))


async def test_which_question_is_asked_for_although_another_remark_was_explained_before(world: World) -> None:
    _, incident = await page(world, "First?")
    await world.pager.add_note(incident, ALICE, "Looking.")
    _, other = await page(world, "Second?")
    world.pager.merge(other, incident)
    await world.pager.webhooks.answered()

    await world.pager.add_note(incident, ALICE, "approve")

    assert len([note for note in await said(world, incident) if "several questions" in note]) == 1


async def test_the_decision_field_of_an_incident_with_two_questions_answers_neither_and_that_is_said(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__decision_field="decision") as world:
        first, second, incident = await two(world)

        await world.pager.set_fields(incident, BOB, decision="approve")

        assert await is_open(world, first) and await is_open(world, second)
        assert any("several questions" in note for note in await said(world, incident))


# --- Two people ---------------------------------------------------------------------------------------------------


async def test_of_two_notes_that_disagree_the_first_counts_and_the_second_is_told_so(any_world: World) -> None:
    asked, incident = await page(any_world)

    await any_world.pager.add_note(incident, ALICE, "approve")
    await any_world.pager.add_note(incident, BOB, "deny")

    assert (await any_world.told(asked))["data"]["responded_by"] == "alice@example.com"
    assert any("had ended before bob@example.com answered" in note for note in await said(any_world, incident))


async def test_of_two_needed_notes_one_that_denies_ends_it(world: World) -> None:
    asked, incident = await page(world, answers_required=2)

    await world.pager.add_note(incident, ALICE, "approve")
    assert await is_open(world, asked)
    await world.pager.add_note(incident, BOB, "deny")

    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_somebody_who_changes_their_mind_in_one_note_has_answered_nothing(world: World) -> None:
    asked, incident = await page(world)

    await world.pager.add_note(incident, ALICE, "approve\nno, deny")

    assert await is_open(world, asked)


# --- Automations --------------------------------------------------------------------------------------------------


async def test_a_field_that_an_automation_sets_is_on_the_timeline_only_where_it_could_have_answered(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__decision_field="decision") as world:
        asked, incident = await page(world)

        await world.pager.set_fields(incident, None, team="payments")
        assert "intent.suspension_answer_refused" not in await world.event_types(asked)
        await world.pager.set_fields(incident, None, decision="approve")

        assert "intent.suspension_answer_refused" in await world.event_types(asked)
        assert await is_open(world, asked)


# --- What an acknowledgement says ---------------------------------------------------------------------------------


async def test_where_an_acknowledgement_answers_the_title_says_so(world: World) -> None:
    choices = [{"value": "go", "label": "Go", "metadata": {"on_acknowledge": True}}, {"value": "stop", "label": "Stop"}]
    asked, marked = await page(world, choices=choices)
    _, usual = await page(world)

    assert marked.title == f"[{asked['ref']}] Acknowledging answers “Go”. Refund?"
    assert "cknowledging" not in usual.title
