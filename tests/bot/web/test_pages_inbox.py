"""``/inbox``: the true number, all of it page by page, the soonest deadline first. Source: API.md §6."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.web.pages.inbox_filters import Filters
from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.suspension import ResponseType
from core.engine.inbox import FOREVER, Position, position, written
from tests.bot.web.pages_world import ALICE, BOB, CAROL, START, Browser, Page, World, a_world
from tests.core.store_examples import keep, numbered


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


def inbox_place(after: Position) -> str:
    return Filters().link(after=written(after))


def questions(page: Page) -> list[str]:
    return [link.removeprefix("/q/") for link in page.links if "/q/" in link]


def onward(page: Page) -> str | None:
    """The link to the next page."""
    return next((link for link in page.links if f'rel="next" href="{link}"' in page.html), None)


def back(page: Page) -> str | None:
    return next((link for link in page.links if f'rel="prev" href="{link}"' in page.html), None)


async def ask_many(world: World, number: int, **fields: Any) -> None:
    """Questions for Alice, the last of them with the soonest deadline; each ends a minute before the one before."""
    await keep(
        world.engine.database,
        *(
            numbered(n, responders=(ALICE,), suspended_at=START, timeout=timedelta(days=2, minutes=-n), **fields)
            for n in range(1, number + 1)
        ),
    )


async def all_pages(browser: Browser) -> list[Page]:
    pages, place = [], "/inbox"
    while place is not None:
        pages.append(await browser.get(place))
        place = onward(pages[-1])
    return pages


async def test_it_says_the_true_number_and_leads_to_all_of_it(world: World) -> None:
    browser = await world.signed_in(ALICE)
    await ask_many(world, 120)
    pages = await all_pages(browser)
    assert [f"HR-{n:04}" for n in range(120, 0, -1)] == [ref for page in pages for ref in questions(page)]
    assert ["(120) Inbox" in page.html for page in pages] == [True] * 3
    shown = ("1–50 of 120", "51–100 of 120", "101–120 of 120")
    assert [said in page.text for said, page in zip(shown, pages, strict=True)] == [True] * 3
    assert [back(page) for page in pages] == [None, "/inbox", onward(pages[0])]


async def test_what_fits_on_one_page_has_no_pager(world: World) -> None:
    browser = await world.signed_in(ALICE)
    await ask_many(world, 50)
    page = await browser.get("/inbox")
    assert (len(questions(page)), onward(page), back(page)) == (50, None, None)
    assert "of 50" not in page.text


async def test_what_is_answered_meanwhile_moves_no_page(world: World) -> None:
    browser = await world.signed_in(ALICE)
    await ask_many(world, 40)
    asked = [await world.ask(f"Nr. {n}?") for n in range(20)]
    first = await browser.get("/inbox")
    for one in asked[:10]:
        await world.engine.respond(GivenAnswer(one.id, Actor(BOB), "slack", "deny"))
    place = onward(first)
    assert place is not None
    second = await browser.get(place)
    assert questions(second) == [f"HR-{n:04}" for n in range(10, 0, -1)]
    assert "41–50 of 50" in second.text


async def test_a_page_of_which_nothing_is_left_leads_to_the_first(world: World) -> None:
    browser = await world.signed_in(ALICE)
    asked = await world.ask()
    behind = inbox_place(Position(START + timedelta(days=3), START, "HR-7F3K"))
    page = await browser.get(behind)
    assert (page.response.url.query, questions(page)) == (b"", [asked.ask.ref])


@pytest.mark.parametrize(
    "after",
    ["", "x", "never-1", "1-1-HR", "-1-1-HR-1", "9" * 16 + "-0-HR-1", "1-1-HR-1%00", "1-1-" + "A" * 65, "٣-1-HR-1"],
)
async def test_a_link_that_was_mangled_shows_a_page_all_the_same(world: World, after: str) -> None:
    browser = await world.signed_in(ALICE)
    asked = await world.ask()
    page = await browser.get(f"/inbox?after={after}")
    assert (page.status, questions(page)) == (200, [asked.ask.ref])


@pytest.mark.parametrize("deadline", [START, START + timedelta(microseconds=1), FOREVER])
def test_a_link_names_the_position_that_it_was_made_of(deadline: Any) -> None:
    place = Position(deadline, START, "HR-7F3K")
    assert position(inbox_place(place).partition("?after=")[2]) == place


async def test_a_link_of_the_inbox_holds_no_suspension_id(world: World) -> None:
    """The id authorises an answer; the reference does not (API.md §6)."""
    browser = await world.signed_in(ALICE)
    await ask_many(world, 60)
    assert "susp-" not in (await browser.get("/inbox")).html


async def test_what_is_overdue_comes_first_and_what_has_no_deadline_last(world: World) -> None:
    never = await world.ask("Take your time.", response_type=ResponseType.TEXT, timeout=None)
    later = await world.ask("Later?", timeout=timedelta(hours=3))
    overdue = await world.ask("Overdue?", timeout=timedelta(minutes=5))
    browser = await world.signed_in(ALICE)
    world.later(minutes=30)
    page = await browser.get("/inbox")
    assert questions(page) == [one.ask.ref for one in (overdue, later, never)]
    assert "its deadline has passed" in page.text


@pytest.mark.parametrize(
    "stated", [{"decision_record": {"risk": 0.9}}, {"context": {"risk": "critical"}}], ids=["record", "context"]
)
async def test_a_high_risk_is_in_the_inbox(world: World, stated: dict[str, Any]) -> None:
    await world.ask(**stated)
    assert "Risk critical" in (await (await world.signed_in(ALICE)).get("/inbox")).text


async def test_a_low_risk_is_not(world: World) -> None:
    await world.ask(decision_record={"risk": 0.1})
    page = await (await world.signed_in(ALICE)).get("/inbox")
    assert "tag urgent" not in page.html
    assert "says the agent" not in page.text


async def test_the_inbox_shows_the_beginning_of_a_long_question_redacted(world: World) -> None:
    await world.ask("My card is 4111 1111 1111 1111. " + "Why? " * 1_500 + "The end.")
    page = await (await world.signed_in(ALICE)).get("/inbox")
    assert "My card is" in page.text
    assert "4111" not in page.text
    assert "The end." not in page.text


async def test_an_empty_inbox_has_no_number_and_no_pager(world: World) -> None:
    page = await (await world.signed_in(CAROL)).get("/inbox")
    assert "Nothing waits for you." in page.text
    assert (onward(page), back(page)) == (None, None)
