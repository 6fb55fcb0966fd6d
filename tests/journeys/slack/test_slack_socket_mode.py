"""The whole service in Socket Mode: with no public URL, with a refused token, and while Slack can't be reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.serving import serving
from bot.sandbox.slack.socket import APP_TOKEN
from tests.ports import free_port
from tests.world import World, running

OPS = "ops@example.com"


@asynccontextmanager
async def in_socket_mode(folder: Path, url: str, **changes: Any) -> AsyncIterator[World]:
    """No Request URL: Slack knows the sockets alone."""
    slack = {"slack__app_token": APP_TOKEN, "slack__signing_secret": None, "alerts": {"notify": [f"email:{OPS}"]}}
    async with running(folder, url, **(slack | changes)) as world:
        world.slack.events_url = None
        yield world


async def slack_is(world: World, standing: str) -> None:
    async def says_so() -> bool:
        response = await world.call("GET", "/readyz", None)
        assert response.status_code == 200
        return bool(response.json()["slack"] == standing)

    await eventually(says_so)


async def eventually(what: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await what():
            await asyncio.sleep(0.02)


async def test_a_question_is_answered_over_a_socket(tmp_path: Path, database_url: str) -> None:
    async with in_socket_mode(tmp_path, database_url) as world:
        await slack_is(world, "connected")
        asked = await world.ask()
        await world.settle()
        message = await world.slack.expect_message("Refund order 12345?")
        await world.press("U0ALICE", message, "Approve refund")
        assert (await world.show(asked))["status"] == "responded"
        assert await world.slack.expect_message("Answered “Approve refund” by alice@example.com via Slack") is message


async def test_in_socket_mode_alone_nobody_can_knock_over_http(tmp_path: Path, sqlite_url: str) -> None:
    async with in_socket_mode(tmp_path, sqlite_url) as world:
        assert (await world.call("POST", "/slack/events", None)).status_code == 404


async def test_with_both_secrets_both_ways_are_open(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, slack__app_token=APP_TOKEN) as world:
        await slack_is(world, "connected")
        over_http, world.slack.events_url = world.slack.events_url, None
        for events_url in (None, over_http):
            asked = await world.ask()
            await world.settle()
            world.slack.events_url = events_url
            message = next(one for one in reversed(world.slack.workspace.messages) if one.button("ans:0"))
            await world.press("U0ALICE", message, "Approve refund")
            assert (await world.show(asked))["status"] == "responded"


async def test_a_refused_token_stops_nothing_else_and_the_operators_are_told_once(
    tmp_path: Path, sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with in_socket_mode(tmp_path, sqlite_url, slack__app_token="xapp-1-wrong") as world:

        async def told() -> bool:
            await world.settle()
            return bool(world.mailbox.of(OPS))

        await eventually(told)
        await slack_is(world, "connecting")
        await world.ask(channel_hint="email")
        await world.settle()
        assert [mail.subject for mail in world.mailbox.of("alice@example.com")] != []
        world.slack.sockets.app_token = "xapp-1-wrong"  # as if it had been put right
        await slack_is(world, "connected")
        [mail] = world.mailbox.of(OPS)
        assert mail.subject == "Nothing reaches Handraise from slack (invalid_auth)"
    said = capsys.readouterr().out
    assert said.count("reason=invalid_auth") == 1
    assert "xapp-1-wrong" not in said + mail.text


async def test_the_service_starts_without_slack_and_finds_it_later(tmp_path: Path, sqlite_url: str) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}/api"
    async with in_socket_mode(tmp_path, sqlite_url, slack__api_url=address) as world:
        await slack_is(world, "connecting")
        async with serving(world.slack.app, port=port):
            await slack_is(world, "connected")
