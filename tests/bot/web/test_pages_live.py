"""``/live``: what tells an open page that something has changed, and whom it tells nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from tests.bot.web.pages_world import ALICE, BOB, World, a_site


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_site(tmp_path) as site:
        yield site


async def cookies_of(world: World, person: str) -> httpx.AsyncClient:
    """A browser of theirs, signed in, that reads streams."""
    signed_in = await world.signed_in(person)
    held = {one.name: one.value or "" for one in signed_in.client.cookies.jar}
    return httpx.AsyncClient(base_url=world.service.settings.public_url, cookies=held)


async def test_whoever_may_see_a_question_is_told_that_it_has_changed_and_not_how(world: World) -> None:
    asked = await world.ask(responders=(ALICE, BOB), notify_to=ALICE)
    async with await cookies_of(world, ALICE) as alice:
        for place in (f"/live?q={asked.ask.ref}", "/live"):
            async with alice.stream("GET", place) as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                lines = stream.aiter_lines()
                assert await anext(lines) == ": still here"
                await world.engine.claim(asked.id, Actor(BOB), "api")
                told = [line async for line in _until_told(lines)]
                assert told == ["data: changed"]
        await world.engine.respond(GivenAnswer(asked.id, Actor(BOB), "api", "deny"))


async def _until_told(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        if line and not line.startswith(":"):
            yield line
            return


async def test_nobody_else_learns_whether_there_is_a_question(world: World) -> None:
    asked = await world.ask(responders=(ALICE,), notify_to=ALICE)
    async with httpx.AsyncClient(base_url=world.service.settings.public_url) as stranger:
        for place in ("/live", f"/live?q={asked.ask.ref}", "/live?q=HR-NONE"):
            said = await stranger.get(place)
            assert (said.status_code, said.text) == (403, "")


async def test_a_ref_of_no_question_is_not_found(world: World) -> None:
    async with await cookies_of(world, ALICE) as alice:
        for ref in ("HR-NONE", "../inbox", ""):
            assert (await alice.get("/live", params={"q": ref})).status_code == 404
