"""A disk that takes no more writes: every way in says 503 (mail: 451) and never 500, and afterwards it is all there."""

from __future__ import annotations

import smtplib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path

import httpx
import pytest

from bot.app import build_app
from bot.inbound.mail.imap import aside
from tests.bot.web.pages_world import Browser
from tests.ports import free_port
from tests.statements import writing
from tests.world import World, running


@asynccontextmanager
async def dead(world: World) -> AsyncIterator[None]:
    """SQLite says what it says of a file system that was mounted read-only after an error."""
    connection = await writing(world.service.database)
    connection.execute("PRAGMA query_only=ON")
    try:
        yield
    finally:
        connection.execute("PRAGMA query_only=OFF")


SAID = {"error": "database_unavailable", "message": "The database is not available: it takes no writes."}


async def test_the_api_says_503_and_why_and_reading_goes_on(world: World) -> None:
    asked = await world.ask()
    path = f"/v1/suspensions/{asked['suspension_id']}"
    async with dead(world):
        refused = [
            await world.call("POST", "/v1/suspensions", json={"question": "Go on?", "response_type": "confirm"}),
            await world.answer(asked, "approve"),
            await world.call("POST", f"{path}/claim", "operator", json={}),
            await world.call("POST", f"{path}/cancel", json={"reason": "Order withdrawn."}),
            await world.call("POST", "/v1/pause", "admin", json={}),
            await world.call("PUT", "/v1/sessions/s-1", json={}),
        ]
        assert [one.status_code for one in refused] == [503] * len(refused)
        assert [one.json()["detail"] for one in refused] == [SAID] * len(refused)
        assert (await world.call("GET", path)).status_code == 200
    assert (await world.answer(asked, "approve")).status_code == 200


async def test_a_page_says_so_in_words(world: World) -> None:
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    browser = Browser(build_app(world.service))
    token = next(link for link in mail.links if "/a/" in link).rpartition("/a/")[2]
    page = await browser.get(f"/a/{token}")
    async with dead(world):
        shown = await browser.submit(choice="0")
    assert (shown.status, "Our database is not available just now. Nothing was recorded." in shown.text) == (503, True)
    assert (await world.show(asked))["status"] == "open"
    assert page.status == 200


async def test_who_clicks_in_slack_is_told_that_it_was_not_saved(world: World) -> None:
    asked = await world.ask()
    [message] = world.slack.workspace.messages
    [action] = [
        element["action_id"]
        for block in message.blocks
        for element in block.get("elements", [])
        if element["type"] == "button" and element["text"]["text"] == "Approve refund"
    ]
    async with dead(world):
        await world.slack.click("U0ALICE", message, action)
        await world.slack.expect_private("U0ALICE", "could not be saved")
    assert (await world.show(asked))["status"] == "open"
    await world.press("U0ALICE", message, "Approve refund")
    assert (await world.show(asked))["status"] == "responded"


async def test_pagerduty_is_told_to_come_again(world: World) -> None:
    asked = await world.ask(channel_hint="pagerduty", notify_to="alice@example.com")
    incident = world.pager.incidents[-1]
    async with dead(world):
        told = await world.pager.acknowledge(incident, world.pager.account.users["PALICE"])
    assert told.status_code == 503
    assert (await world.show(asked))["claimed_by"] is None


async def test_mail_over_the_webhook_is_told_to_come_again(world: World) -> None:
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    async with dead(world):
        told = await world.mailbox.reply(mail, "approve")
    assert told.status_code == 503
    assert (await world.mailbox.reply(mail, "approve")).status_code == 202
    assert (await world.show(asked))["status"] == "responded"


@pytest.fixture
async def listening(tmp_path: Path, sqlite_url: str) -> AsyncIterator[tuple[World, int]]:
    port = free_port()
    async with running(tmp_path, sqlite_url, email__listen=f"smtp://127.0.0.1:{port}") as world:
        yield world, port


async def test_mail_that_is_brought_to_the_listener_is_told_to_come_again(listening: tuple[World, int]) -> None:
    world, port = listening
    await world.ask(channel_hint="email", notify_to="alice@example.com")
    asked = await world.mailbox.expect(to="alice@example.com")
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "alice@example.com", asked.answers_to, f"Re: {asked.subject}"
    mail["Message-ID"] = "<reply-1@example.com>"
    mail.set_content("approve")

    def bring() -> int:
        with smtplib.SMTP("127.0.0.1", port, timeout=20) as client:
            try:
                client.send_message(mail)
            except smtplib.SMTPDataError as refused:
                return int(refused.smtp_code)
            return 250

    async with dead(world):
        assert await aside(bring) == 451
    assert await aside(bring) == 250


async def test_readiness_says_so_with_the_next_beat(world: World) -> None:
    await world.settle()
    async with dead(world):
        with pytest.raises(Exception, match="it takes no writes"):
            await world.service.beating.beat()
        ready: httpx.Response = await world.call("GET", "/readyz", None)
    detail = ready.json()["detail"]
    assert (ready.status_code, detail["error"]) == (503, "database_unavailable")
    assert detail["message"].startswith("The database is not available: it takes no writes. Last look ")
    assert {"last_look_seconds", "last_beat_seconds", "last_write_seconds"} <= set(detail)
    await world.service.beating.beat()
    assert (await world.call("GET", "/readyz", None)).status_code == 200
