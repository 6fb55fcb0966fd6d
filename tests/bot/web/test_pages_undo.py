"""``answers.undo_seconds`` on a question's page (docs/decisions/0124)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.web.pages_world import ALICE, BOB, World, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, answers={"undo_seconds": 10}) as world:
        yield world


async def test_an_answer_is_undone_on_its_page_and_the_reason_is_kept(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(choice="0", reason="The parcel is lost.")
    assert "Recorded: Approve refund" in page.text
    assert "The agent hears of it in 10 seconds. Until then you can undo it." in page.text
    assert page.buttons == ["Undo"]
    assert (await world.fresh(asked)).is_open
    page = await browser.submit(do="undo")
    assert "Undone. Your answer is void, and the question is open again." in page.text
    assert page.value("reason") == "The parcel is lost."
    page = await browser.submit(choice="1", reason="No.")
    world.later(seconds=10)
    await world.engine.look()
    ended = (await world.fresh(asked)).ended
    assert ended is not None
    assert (ended.value, ended.by, ended.reason) == ("deny", ALICE, "No.")


async def test_after_its_time_there_is_nothing_to_undo(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await browser.submit(choice="0")
    world.later(seconds=10)
    page = await browser.submit(do="undo")
    assert page.status == 409
    assert "You have no answer here that can still be undone." in page.text
    ended = (await world.fresh(asked)).ended
    assert ended is not None
    assert ended.value == "approve"


async def test_others_are_told_that_it_is_answered_not_with_what(world: World) -> None:
    asked = await world.ask(responders=(ALICE, BOB), notify_to=ALICE)
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await browser.submit(choice="0", reason="The parcel is lost.")
    other = await world.signed_in(BOB)
    inbox = await other.get("/inbox")
    assert "Refund order 12345?" not in inbox.text
    page = await other.get(f"/q/{asked.ask.ref}")
    assert "has answered, and can undo it for a moment." in page.text
    assert "The parcel is lost." not in page.text
    assert "Send answer" not in page.buttons


async def test_a_form_that_comes_meanwhile_keeps_its_words(world: World) -> None:
    asked = await world.ask(responders=(ALICE, BOB), notify_to=ALICE)
    other = await world.signed_in(BOB)
    await other.get(f"/q/{asked.ask.ref}")
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await browser.submit(choice="0")
    page = await other.submit(choice="1", reason="Already refunded.")
    assert page.status == 409
    assert "Your answer was not recorded: somebody else has just answered." in page.text
    assert "Your words were not sent" in page.text
    assert "Already refunded." in page.text
