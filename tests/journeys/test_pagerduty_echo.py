"""A note that decides nothing, and names an option, is answered by one that proposes it. Source: API.md §6."""

from __future__ import annotations

import pytest

from tests.journeys.test_pagerduty_answers import ALICE, BOB, EVE, is_open, notes, page
from tests.world import World

THREE = [
    {"value": "approve", "label": "Approve refund"},
    {"value": "half", "label": "Refund half of it"},
    {"value": "deny", "label": "Deny refund"},
]


async def test_a_note_is_proposed_back_and_a_note_with_its_number_resumes_the_agent(world: World) -> None:
    asked, incident = await page(world, choices=THREE)

    await world.pager.add_note(incident, ALICE, "I'd deny this, he is too late")

    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert f"nothing has been recorded for {asked['ref']}. You seem to mean 3. Deny refund." in said
    assert "Add a note with 3 to confirm it" in said

    await world.pager.add_note(incident, ALICE, "3")

    told = (await world.told(asked))["data"]
    assert (told["value"], told["responded_by"], told["channel"]) == ("deny", "alice@example.com", "pagerduty")


@pytest.mark.parametrize("who", [ALICE, BOB])
async def test_a_bare_yes_below_a_proposal_that_it_does_not_go_with_decides_nothing(world: World, who: object) -> None:
    """Whoever writes it has the proposal before their eyes."""
    asked, incident = await page(world, choices=THREE)
    await world.pager.add_note(incident, ALICE, "I'd deny this, he is too late")

    await world.pager.add_note(incident, who, "yes")  # type: ignore[arg-type]
    assert await is_open(world, asked)

    await world.pager.add_note(incident, who, "3")  # type: ignore[arg-type]
    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_a_bare_no_below_a_proposal_that_it_goes_with_decides(world: World) -> None:
    asked, incident = await page(world, choices=THREE)
    await world.pager.add_note(incident, ALICE, "I'd deny this, he is too late")

    await world.pager.add_note(incident, BOB, "No.")

    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_nobody_is_echoed_twice_an_hour_and_each_person_once(world: World) -> None:
    asked, incident = await page(world, choices=THREE)

    for _ in range(2):
        await world.pager.add_note(incident, ALICE, "half of it, maybe")
    await world.pager.add_note(incident, BOB, "approve, why not")

    said = await notes(world, incident)
    assert [("You seem to mean" in one, "was not read as an answer" in one) for one in said] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert await is_open(world, asked)


async def test_after_a_proposal_silence_runs_its_course(world: World) -> None:
    asked, incident = await page(world, choices=THREE)
    await world.pager.add_note(incident, ALICE, "approve, I think")
    record = await world.show(asked)
    assert (record["claimed_by"], record["attempt"]) == (None, 1)

    await world.advance(hours=1)
    assert (await world.show(asked))["attempt"] == 2

    await world.advance(hours=2)
    assert not await is_open(world, asked)


async def test_whoever_may_not_answer_is_proposed_nothing(world: World) -> None:
    asked, incident = await page(world, choices=THREE)

    await world.pager.add_note(incident, EVE, "I'd deny this")

    assert not any("You seem to mean" in one for one in await notes(world, incident))
    assert await is_open(world, asked)


async def test_a_text_that_asks_something_is_confirmed_by_a_note_that_says_ok(world: World) -> None:
    asked, incident = await page(world, response_type="text", choices=None)
    ref = asked["ref"]

    await world.pager.add_note(incident, BOB, f"{ref} Restart it, or is that done?")
    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert f"You seem to mean:\nRestart it, or is that done?\nAdd a note “{ref} ok” to confirm it." in said

    await world.pager.add_note(incident, BOB, f"{ref} ok")
    assert (await world.told(asked))["data"]["value"] == "Restart it, or is that done?"


async def test_a_form_is_confirmed_by_a_note_that_says_ok(world: World) -> None:
    asked, incident = await page(world, response_type="form", context={"amount": 5})
    ref = asked["ref"]

    await world.pager.add_note(incident, BOB, f"{ref}\nI looked it up.\namount: 250")
    assert await is_open(world, asked)
    [said] = await notes(world, incident)
    assert f"You seem to mean:\namount: 250\nAdd a note “{ref} ok” to confirm it." in said

    await world.pager.add_note(incident, BOB, f"{ref} ok")
    assert (await world.told(asked))["data"]["value"] == {"amount": "250"}
