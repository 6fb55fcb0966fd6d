"""Several processes in Socket Mode: never more sockets than Slack allows, and whoever stands by takes over."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.serving import serving
from tests.process import ServiceProcess, service_process
from tests.vendors.slack import SlackSandbox
from tests.world import CHANNEL, KEYS, config

pytestmark = pytest.mark.kills

PATIENCE = 90
"""Seconds, for several processes on a busy machine."""


@pytest.fixture
async def slack() -> AsyncIterator[tuple[SlackSandbox, str]]:
    sandbox = SlackSandbox(ack_within=PATIENCE)
    sandbox.workspace.add_user("U0ALICE", "Alice", "alice@example.com")
    sandbox.workspace.add_channel(CHANNEL, "ops", "U0ALICE")
    async with serving(sandbox.app) as url:
        yield sandbox, url


async def test_five_processes_share_eight_sockets_and_the_fifth_takes_over_from_a_killed_one(
    tmp_path: Path, postgres_url: str, slack: tuple[SlackSandbox, str]
) -> None:
    sandbox, slack_url = slack
    sockets = sandbox.sockets
    settings = config(postgres_url, {"slack": socket_mode(sandbox, slack_url)})

    async def are_eight() -> None:
        await sandbox.workspace.until(lambda: len(sockets.sockets) == 8 or None, PATIENCE)

    async with AsyncExitStack() as stack, httpx.AsyncClient(trust_env=False, timeout=30) as http:

        async def start(name: str, *roles: str) -> ServiceProcess:
            process = await stack.enter_async_context(service_process(tmp_path / name, settings, *roles))
            await process.start()
            return process

        async def standings(of: list[ServiceProcess]) -> Counter[str]:
            replies = [await http.get(f"{process.url}/readyz") for process in of]
            assert {reply.status_code for reply in replies} == {200}
            return Counter(reply.json()["slack"] for reply in replies)

        async def stand(of: list[ServiceProcess], **so: int) -> None:
            """Return when they do: a socket is there before its process has been greeted on it."""
            async with asyncio.timeout(PATIENCE):
                while await standings(of) != so:
                    await asyncio.sleep(0.1)

        api = await start("api", "api,worker")
        four = list(await asyncio.gather(*(start(f"slack-{number}", "slack") for number in range(4))))
        await are_eight()
        fifth = await start("slack-4", "slack")
        await stand([*four, fifth], connected=4, standby=1)

        await four.pop(0).kill()
        await sandbox.workspace.until(lambda: len(sockets.sockets) < 8 or sockets.opened > 8 or None, PATIENCE)
        await are_eight()
        await stand([*four, fifth], connected=4)
        assert (sockets.opened, sockets.refused) == (10, 0)

        asked = (await http.post(f"{api.url}/v1/suspensions", json=QUESTION, headers=key("agent"))).json()
        message = await sandbox.expect_message("Go on?", PATIENCE)
        for _ in range(8):  # each socket has its turn
            assert (await sandbox.click("U0ALICE", message, "link")).status_code == 200
        assert (await sandbox.click("U0ALICE", message, "ans:0")).status_code == 200
        shown = await http.get(f"{api.url}/v1/suspensions/{asked['suspension_id']}", headers=key("admin"))
        assert shown.json()["status"] == "responded"


QUESTION = {"question": "Go on?", "response_type": "confirm", "responders": ["alice@example.com"]}


def socket_mode(sandbox: SlackSandbox, url: str) -> dict[str, Any]:
    return {
        "bot_token": sandbox.workspace.bot_token,
        "app_token": sandbox.sockets.app_token,
        "api_url": f"{url}/api",
        "default_channel": CHANNEL,
    }


def key(role: str) -> dict[str, str]:
    return {"X-API-Key": KEYS[role]}
