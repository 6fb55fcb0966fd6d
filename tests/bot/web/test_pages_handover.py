"""Handing a question over on its page: to somebody of the directory who can be asked. Source: API.md §2, ``assign``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from tests.bot.web.pages_world import ALICE, BOB, CAROL, Page, World, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


def offered(page: Page) -> bool:
    return "Carol" in page.buttons


@pytest.mark.parametrize("by_link", [True, False], ids=["a", "q"])
async def test_a_question_is_handed_over_to_a_person_who_is_asked_at_once(world: World, by_link: bool) -> None:
    asked = await world.ask()
    browser = world.browser() if by_link else await world.signed_in(ALICE)
    await browser.get(await world.link_of(ALICE) if by_link else f"/q/{asked.ask.ref}")
    page = await browser.submit(do="assign Carol")
    assert page.status == 200
    assert "Handed over to Carol, who is asked now. You can still answer." in page.text
    assert (await world.fresh(asked)).assigned_to == CAROL
    theirs = world.browser()
    await theirs.get(await world.link_of(CAROL))
    assert "Recorded: Approve refund by you" in (await theirs.submit(choice="0")).text


async def test_only_whoever_can_be_asked_is_on_the_list(world: World) -> None:
    """Not oneself, not whom it is asked for, not who has answered."""
    asked = await world.ask(on_behalf_of=CAROL, answers_required=2)
    await world.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "approve"))
    page = await world.browser().get(await world.link_of(ALICE))
    assert [button for button in page.buttons if button in {"Alice", "Bob", "Carol", "Olga"}] == ["Olga"]


@pytest.mark.parametrize("to", ["", " ", " Eve", " group:finance", " Alice", f" {CAROL}", " carol"])
async def test_nobody_but_who_is_listed_is_taken_and_nothing_typed_is_lost(world: World, to: str) -> None:
    asked, browser = await world.ask(), world.browser()
    await browser.get(await world.link_of(ALICE))
    page = await browser.submit(do=f"assign{to}", reason="Because.")
    assert (page.status, page.value("reason")) == (422, "Because.")
    assert "Choose somebody from the list." in page.text
    assert 'aria-describedby="to-hint to-problem"' in page.html
    assert CAROL not in page.html, "nobody learns an address from it"
    assert (await world.fresh(asked)).assigned == ()


async def test_without_the_form_token_nothing_is_handed_over(world: World) -> None:
    asked, browser = await world.ask(), world.browser()
    page = await browser.get(await world.link_of(ALICE))
    forged = await browser.post(page.form.action, {"do": "assign Carol"})
    assert forged.status == 403
    assert (await world.fresh(asked)).assigned == ()


async def test_what_somebody_else_is_on_is_not_handed_over(world: World) -> None:
    asked, browser = await world.ask(), world.browser()
    await browser.get(await world.link_of(ALICE))
    await world.engine.claim(asked.id, Actor(BOB), "slack")
    page = await browser.submit(do="assign Carol")
    assert (page.status, offered(page)) == (409, False)
    assert "Bob is on it" in page.text
    assert (await world.fresh(asked)).assigned == ()


async def test_what_has_ended_is_not_handed_over(world: World) -> None:
    asked, browser = await world.ask(), world.browser()
    await browser.get(await world.link_of(ALICE))
    await world.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "approve"))
    page = await browser.submit(do="assign Carol")
    assert page.status == 409
    assert "It was not handed over: the question had already ended." in page.text


async def test_a_mailbox_that_is_nobodys_of_the_directory_learns_nobodys_name(tmp_path: Path) -> None:
    """A link may have gone anywhere that the allow-list allows."""
    async with a_world(tmp_path, recipients={"allow": ["*@example.com"]}) as world:
        await world.ask(responders=(), notify_to="desk@example.com")
        page = await world.browser().get(await world.link_of("desk@example.com"))
    assert page.buttons == ["Send answer", "Ask the agent", "I’m on it"]
    assert CAROL not in page.html
