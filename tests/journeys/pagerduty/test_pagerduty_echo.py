"""A note that decides nothing, and begins with an option, is answered by one that proposes it. Source: API.md §6."""

from __future__ import annotations

import pytest

from tests.journeys.pagerduty.test_pagerduty_answers import ALICE, BOB, EVE, is_open, notes, page
from tests.world import World

THREE = [
    {"value": "approve", "label": "Approve refund"},
    {"value": "half", "label": "Refund half of it"},
    {"value": "deny", "label": "Deny refund"},
]


async def test_a_note_whose_first_line_is_an_option_is_proposed_back_and_its_number_resumes_the_agent(
    world: World,
) -> None:
    asked, incident = await page(world, choices=THREE)

    await world.pager.add_note(incident, ALICE, "3\nif Bob has not paid it already")

    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert f"nothing has been recorded for {asked['ref']}. You wrote “3”, and more around it." in said
    assert "Add a note with “3”, and nothing else, to take it." in said

    await world.pager.add_note(incident, ALICE, "3")

    told = (await world.told(asked))["data"]
    assert (told["value"], told["responded_by"], told["channel"]) == ("deny", "alice@example.com", "pagerduty")


async def test_nothing_is_guessed_from_a_note(world: World) -> None:
    asked, incident = await page(world, choices=THREE)

    await world.pager.add_note(incident, ALICE, "I can't approve this")

    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert "was not read as an answer" in said
    assert "You wrote" not in said


@pytest.mark.parametrize("who", [ALICE, BOB])
@pytest.mark.parametrize("words", ["yes", "No."])
async def test_a_bare_yes_or_no_that_can_mean_two_things_decides_nothing(world: World, who: object, words: str) -> None:
    """Whoever writes it has the question and the proposal before their eyes."""
    asked, incident = await page(world, choices=THREE)
    await world.pager.add_note(incident, ALICE, "3\nif Bob has not paid it already")

    await world.pager.add_note(incident, who, words)  # type: ignore[arg-type]
    assert await is_open(world, asked)
    assert "a bare yes or no can mean two things now" in (await notes(world, incident))[-1]

    await world.pager.add_note(incident, who, "3")  # type: ignore[arg-type]
    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_a_bare_yes_that_goes_with_the_proposal_takes_it(world: World) -> None:
    asked, incident = await page(world, choices=THREE)
    await world.pager.add_note(incident, ALICE, "1\nif Bob has not paid it already")

    await world.pager.add_note(incident, BOB, "Yes")

    assert (await world.told(asked))["data"]["value"] == "approve"


async def test_each_person_is_echoed_up_to_six_times_an_hour(world: World) -> None:
    asked, incident = await page(world, choices=THREE)

    for nth in "abcdefgh":
        await world.pager.add_note(incident, ALICE, f"2\nmaybe {nth}")
    await world.pager.add_note(incident, BOB, "1\nwhy not")

    said = await notes(world, incident)
    assert ["You wrote" in one for one in said] == [True] * 6 + [False, True]
    assert await is_open(world, asked)


async def test_after_a_proposal_silence_runs_its_course(world: World) -> None:
    asked, incident = await page(world, choices=THREE)
    await world.pager.add_note(incident, ALICE, "approve\nI think")
    record = await world.show(asked)
    assert (record["claimed_by"], record["attempt"]) == (None, 1)

    await world.advance(hours=1)
    assert (await world.show(asked))["attempt"] == 2

    await world.advance(hours=2)
    assert not await is_open(world, asked)


async def test_whoever_may_not_answer_is_proposed_nothing(world: World) -> None:
    asked, incident = await page(world, choices=THREE)

    await world.pager.add_note(incident, EVE, "3\nI think")

    assert not any("You wrote" in one for one in await notes(world, incident))
    assert await is_open(world, asked)


async def test_a_text_that_asks_something_is_confirmed_by_a_note_that_says_ok(world: World) -> None:
    asked, incident = await page(world, response_type="text", choices=None)
    ref = asked["ref"]

    await world.pager.add_note(incident, BOB, f"{ref} Restart it, or is that done?")
    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert f"This was read:\nRestart it, or is that done?\nAdd a note “{ref} ok” to confirm it." in said

    await world.pager.add_note(incident, BOB, f"{ref} ok")
    assert (await world.told(asked))["data"]["value"] == "Restart it, or is that done?"


async def test_a_form_is_confirmed_by_a_note_that_says_ok(world: World) -> None:
    asked, incident = await page(world, response_type="form", context={"amount": 5})
    ref = asked["ref"]

    await world.pager.add_note(incident, BOB, f"{ref}\nI looked it up.\namount: 250")
    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert f"This was read:\namount: 250\nAdd a note “{ref} ok” to confirm it." in said

    await world.pager.add_note(incident, BOB, f"{ref} ok")
    assert (await world.told(asked))["data"]["value"] == {"amount": "250"}
