"""A pretend Slack and the channel that posts there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.sandbox.serving import serving
from channels.slack.channel import SlackChannel
from channels.slack.client import web_client
from tests.channels.slack.slack_examples import HandClock
from tests.vendors.slack import SlackSandbox


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def sandbox(clock: HandClock) -> SlackSandbox:
    sandbox = SlackSandbox(now=clock.now)
    sandbox.workspace.add_user("U1", "Alice", "alice@example.com")
    sandbox.workspace.add_channel("C1", "ops", "U1")
    return sandbox


@pytest.fixture
async def slack_url(sandbox: SlackSandbox) -> AsyncIterator[str]:
    async with serving(sandbox.app) as url:
        yield f"{url}/api/"


@pytest.fixture
def client(sandbox: SlackSandbox, slack_url: str) -> AsyncWebClient:
    return web_client(sandbox.workspace.bot_token, slack_url)


@pytest.fixture
def channel(client: AsyncWebClient, clock: HandClock) -> SlackChannel:
    return SlackChannel(client, clock.now)
