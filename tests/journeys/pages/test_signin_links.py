"""Links to sign in with that an admin hands over (API.md §1, §9): ``POST /signin-links``, ``handraise signin-link``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from core.store.tables import metadata
from tests.cli import handraise
from tests.world import World, running

ALICE = "alice@example.com"
PATH = "/v1/signin-links"


async def a_link(world: World, email: str = ALICE) -> str:
    made = await world.call("POST", PATH, "admin", json={"email": email})
    assert made.status_code == 200, made.text
    url: str = made.json()["url"]
    return url.replace(world.service.settings.public_url, world.url)


async def enter(world: World, url: str) -> httpx.Response:
    """Open the link in a fresh browser, and press its button where there is one."""
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False, timeout=30) as browser:
        return await enter_with(browser, url)


async def enter_with(browser: httpx.AsyncClient, url: str) -> httpx.Response:
    page = await browser.get(url)
    token = re.search(r'name="form_token" value="([^"]+)"', page.text)
    return page if token is None or page.status_code != 200 else await browser.post(url, data={"form_token": token[1]})


async def test_somebody_without_mail_signs_in_by_a_link_that_an_admin_made(any_world: World) -> None:
    world = any_world
    asked = await world.ask(responders=[ALICE])
    made = await world.call("POST", PATH, "admin", json={"email": "Alice+x@Example.com"})
    assert made.headers["cache-control"] == "no-store"
    expires_at = datetime.fromisoformat(made.json()["expires_at"])
    assert timedelta(minutes=14) < expires_at - world.clock.now() <= timedelta(minutes=15)
    inbox = await enter(world, made.json()["url"].replace(world.service.settings.public_url, world.url))
    assert (inbox.status_code, inbox.url.path) == (200, "/inbox")
    assert asked["ref"] in inbox.text
    assert f"Signed in as <bdi>{ALICE}</bdi>" in inbox.text


async def test_it_works_once_and_for_a_quarter_of_an_hour(world: World) -> None:
    url = await a_link(world)
    assert (await enter(world, url)).status_code == 200
    assert (await enter(world, url)).status_code == 404
    late = await a_link(world)
    world.clock.move_by(timedelta(minutes=15))
    assert (await enter(world, late)).status_code == 404


async def test_it_is_nowhere_in_the_database(any_world: World) -> None:
    url = await a_link(any_world)
    assert (await enter(any_world, url)).status_code == 200
    secret = url.rpartition("/")[2]

    def everything(conn: sa.Connection) -> str:
        return "".join(str(row) for table in metadata.sorted_tables for row in conn.execute(sa.select(table)))

    assert secret not in await any_world.service.database.read(everything)


@pytest.mark.parametrize("email", ["dana@example.com", "group:finance", "nobody", "a@b@c"])
async def test_only_somebody_of_the_directory_gets_one(world: World, email: str) -> None:
    refused = await world.call("POST", PATH, "admin", json={"email": email})
    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "invalid_request")
    assert refused.json()["detail"]["fields"][0]["path"] == "email"


@pytest.mark.parametrize(("role", "status"), [(None, 401), ("agent", 403), ("operator", 403)])
async def test_only_an_admin_makes_one(world: World, role: str | None, status: int) -> None:
    assert (await world.call("POST", PATH, role, json={"email": ALICE})).status_code == status


async def test_with_slack_alone_open_leads_to_the_question_and_on_to_the_inbox(
    tmp_path: Path, database_url: str
) -> None:
    async with running(tmp_path, database_url, email=None) as world:
        asked = await world.ask(responders=[ALICE], channel_hint="slack", notify_to="slack:C0OPS")
        message = await world.slack.expect_message("Refund order 12345?")
        await world.press("U0ALICE", message, "Open")
        private = await world.slack.expect_private("U0ALICE", "/signin/")
        link = re.search(r"https?://\S+/signin/\S+", private.text)
        assert link is not None
        url = link[0].replace(world.service.settings.public_url, world.url)
        page = await enter(world, url)
        assert (page.status_code, page.url.path) == (200, f"/q/{asked['ref']}")
        assert "Refund order 12345?" in page.text
        assert f"Signed in as <bdi>{ALICE}</bdi>" in page.text
        assert (await enter(world, url)).status_code == 404


async def test_from_the_command_line(world: World) -> None:
    ran = await handraise(world, "signin-link", ALICE)
    assert ran.status == 0, ran.err
    url, until = ran.lines
    assert until.startswith("It works once, until 2026-03-24T10:15:00Z")
    assert (await enter(world, url.replace(world.service.settings.public_url, world.url))).status_code == 200
    refused = await handraise(world, "signin-link", "dana@example.com")
    assert (refused.status, "nobody of the directory" in refused.err) == (1, True)
