"""Times on the pages: in the zone that the directory has of the reader, else in the browser's, else in UTC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from tests.bot.web.pages_world import ALICE, BOB, PEOPLE, World, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


KOLKATA = [{**one, "time_zone": "Asia/Kolkata"} if one["email"] == ALICE else one for one in PEOPLE]


async def test_times_are_told_in_the_reader_s_zone_of_the_directory(tmp_path: Path) -> None:
    """In the inbox, on the page of a question, on the page of a link, and where it has ended."""
    async with a_world(tmp_path, people=KOLKATA) as world:
        asked = await world.ask()
        browser = await world.signed_in(ALICE)
        told = "2026-03-24 09:30 IST (04:00 UTC)"
        link = await world.link_of(ALICE)
        for place in ("/inbox", f"/q/{asked.ask.ref}", link):
            page = await browser.get(place)
            assert told in page.text, place
            assert "data-utc" not in page.html, "the directory's zone stands, whatever the browser's is"
        await world.engine.claim(asked.id, Actor(BOB), "slack")
        assert "is on it until 2026-03-24 09:01 IST (03:31 UTC)" in (await browser.get(link)).text
        await world.engine.respond(GivenAnswer(asked.id, Actor(BOB), "slack", "deny"))
        assert "2026-03-24 08:31 IST (03:01 UTC)" in (await browser.get(link)).text


async def test_without_a_zone_every_time_is_in_utc_and_marked_for_the_script(world: World) -> None:
    asked = await world.ask()
    await world.engine.claim(asked.id, Actor(BOB), "slack")
    await world.service.services.running.pausing.pause(Actor("root"), None)
    browser = await world.signed_in(ALICE)
    for place in ("/inbox", f"/q/{asked.ask.ref}", await world.link_of(ALICE)):
        page = await browser.get(place)
        assert '<time datetime="2026-03-24T04:00:00Z" data-utc>2026-03-24 04:00 UTC</time>' in page.html, place
        assert page.html.count("UTC") == page.html.count("data-utc"), "none is left that the script does not find"


async def test_while_the_agent_is_asked_back_the_time_it_has_is_marked_too(world: World) -> None:
    asked = await world.ask()
    await world.service.services.asking.collaboration.clarify(asked.id, Actor(BOB), "Which order?")
    page = await (await world.signed_in(ALICE)).get(f"/q/{asked.ask.ref}")
    assert page.html.count("UTC") == page.html.count("data-utc")
