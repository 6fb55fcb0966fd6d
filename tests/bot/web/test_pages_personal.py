"""``answers.require_sign_in``: a link to ``/a/…`` opens nothing before its own person has signed in (API.md §6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.web.pages_world import ALICE, BOB, World, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, answers={"require_sign_in": True}) as world:
        yield world


async def test_a_forwarded_link_shows_and_answers_nothing(world: World) -> None:
    asked = await world.ask()
    link = await world.link_of(ALICE)
    page = await world.browser().get(link)
    assert page.path == "/signin"
    assert asked.ask.question not in page.html
    posted = await world.browser().post(link, {"do": "answer", "choice": "0"})
    assert (posted.status, "You are signed out" in posted.text) == (403, True)
    assert (await world.fresh(asked)).is_open


async def test_its_person_signs_in_and_answers(world: World) -> None:
    asked = await world.ask()
    link = await world.link_of(ALICE)
    browser = await world.signed_in(ALICE)
    page = await browser.get(link)
    assert asked.ask.question in page.text
    await browser.submit(choice="0")
    ended = (await world.fresh(asked)).ended
    assert ended is not None
    assert (ended.value, ended.by) == ("approve", ALICE)


async def test_signing_in_on_the_way_leads_to_the_question(world: World) -> None:
    asked = await world.ask()
    browser = world.browser()
    await browser.get(await world.link_of(ALICE))
    await browser.submit(email=ALICE)
    await browser.get(await world.sign_in_link_of(ALICE))
    page = await browser.submit()
    assert page.path == f"/q/{asked.ask.ref}"
    assert asked.ask.question in page.text


async def test_somebody_else_is_told_which_account_it_is_though_they_may_answer_too(world: World) -> None:
    asked = await world.ask()
    link = await world.link_of(ALICE)
    browser = await world.signed_in(BOB)
    page = await browser.get(link)
    assert page.status == 404
    assert f"You are signed in as {BOB}" in page.text
    assert asked.ask.question not in page.text
    posted = await browser.post(link, {"do": "answer", "choice": "0"})
    assert posted.status == 404
    assert (await world.fresh(asked)).is_open


async def test_without_it_the_link_alone_answers(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    async with a_world(tmp_path / "open") as world:
        asked = await world.ask()
        browser = world.browser()
        await browser.get(await world.link_of(ALICE))
        await browser.submit(choice="0")
        assert not (await world.fresh(asked)).is_open
