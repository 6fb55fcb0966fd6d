"""``kill -9`` between the commit of a click and Slack's hearing of it: the answer stands, and all see it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.serving import serving
from bot.sandbox.slack.faults import AckLost, RateLimited
from tests.agent import AgentReceiver
from tests.ports import free_port
from tests.process import ServiceProcess, service_process
from tests.vendors.slack import SlackSandbox
from tests.vendors.slack_faults import DropBeforeStoring
from tests.world import CHANNEL, KEYS, WEBHOOK_SECRET, config

pytestmark = pytest.mark.kills

PATIENCE = 90
UPDATE = "chat.update"

STUCK = """
import asyncio, pathlib
from slack_bolt.context.ack.async_ack import AsyncAck

reached = pathlib.Path({reached!r})
told = AsyncAck.__call__

async def stuck(self, *args, **kwargs):
    if reached.exists():
        return await told(self, *args, **kwargs)
    reached.touch()
    await asyncio.Event().wait()

AsyncAck.__call__ = stuck
"""
"""Read by the interpreter as it starts: the first ack of bolt's never comes, and the file says when it was due."""


def over_http(folder: Path, slack: SlackSandbox, slack_url: str) -> dict[str, Any]:
    section = {
        "bot_token": slack.workspace.bot_token,
        "signing_secret": slack.signing_secret,
        "api_url": f"{slack_url}/api/",
        "default_channel": CHANNEL,
    }
    return config(f"sqlite+aiosqlite:///{folder / 'handraise.db'}", {"slack": section}) | {
        "work": {"beat_seconds": 1, "silent_seconds": 3},
        "resume": {"allow_networks": ["127.0.0.0/8"], "retry": {"base_delay_ms": 50, "max_delay_ms": 200}},
    }


def statuses(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "handraise.db")) as database:
        return [status for (status,) in database.execute("SELECT status FROM suspensions")]


async def ask(service: ServiceProcess, callback_url: str) -> None:
    body = {"question": "Go on?", "response_type": "confirm", "resume": {"callback_url": callback_url}}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        response = await http.post(
            f"{service.url}/v1/suspensions",
            json={**body, "responders": ["alice@example.com"], "notify_to": f"slack:{CHANNEL}"},
            headers={"X-API-Key": KEYS["agent"]},
        )
    assert response.status_code == 201, response.text


async def until_there(file: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not file.exists():
            await asyncio.sleep(0.01)


async def test_over_http_the_answer_stands_and_the_agent_and_everybody_else_hear_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, port = tmp_path / "reached", free_port()
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(STUCK.format(reached=str(reached)))
    monkeypatch.setenv("PYTHONPATH", str(hooks))
    agent = AgentReceiver(WEBHOOK_SECRET, lambda: datetime.now(UTC))
    slack = SlackSandbox(ack_within=PATIENCE)
    slack.workspace.add_user("U0ALICE", "Alice", "alice@example.com")
    slack.workspace.add_channel(CHANNEL, "ops", "U0ALICE")
    async with (
        serving(slack.app) as slack_url,
        service_process(tmp_path / "service", over_http(tmp_path, slack, slack_url)) as service,
    ):
        await service.start()
        slack.events_url = f"{service.url}/slack/events"
        await ask(service, f"http://127.0.0.1:{port}/resume")  # nobody listens there yet
        message = await slack.expect_message("Go on?", PATIENCE)
        slack.fail_next(RateLimited(2), "chat.update")  # and the message can't be edited yet
        clicked = asyncio.create_task(slack.click("U0ALICE", message, "ans:0"))
        await until_there(reached)
        assert statuses(tmp_path) == ["responded"]
        await service.kill()
        with pytest.raises(httpx.HTTPError):  # what the person's Slack shows as a warning
            await clicked
        assert message.button("ans:0") is not None
        async with serving(agent.app, port=port):
            await service.start()
            resumed = await agent.expect(within=PATIENCE)
            assert (resumed.value, resumed.responded_by) == ("yes", "alice@example.com")
            await slack.expect_message("Answered “Yes” by alice@example.com via Slack", PATIENCE)
            assert message.button("ans:0") is None
            assert await service.terminate() == 0


async def test_over_a_socket_neither_the_answer_nor_the_edit_is_lost(tmp_path: Path, database_url: str) -> None:
    slack = SlackSandbox(ack_within=PATIENCE)
    slack.workspace.add_user("U0ALICE", "Alice", "alice@example.com")
    slack.workspace.add_channel(CHANNEL, "ops", "U0ALICE")
    async with serving(slack.app) as slack_url, httpx.AsyncClient(trust_env=False, timeout=30) as http:
        section = {
            "bot_token": slack.workspace.bot_token,
            "app_token": slack.sockets.app_token,
            "api_url": f"{slack_url}/api",
            "default_channel": CHANNEL,
        }
        settings = config(database_url, {"slack": section}) | {"work": {"beat_seconds": 1, "silent_seconds": 3}}
        async with service_process(tmp_path, settings) as service:
            await service.start()
            body = {"question": "Go on?", "response_type": "confirm", "responders": ["alice@example.com"]}
            headers = {"X-API-Key": KEYS["agent"]}
            asked = (await http.post(f"{service.url}/v1/suspensions", json=body, headers=headers)).json()
            message = await slack.expect_message("Go on?", PATIENCE)
            await slack.workspace.until(lambda: slack.sockets.sockets or None, PATIENCE)
            pressed = deepcopy(message)
            slack.faults.switch_on(DropBeforeStoring(), UPDATE)
            slack.sockets.fail_next(AckLost())
            with pytest.raises(httpx.ReadTimeout):
                await slack.click("U0ALICE", pressed, "ans:0")
            await service.kill()
            assert message.button("ans:0") is not None
            slack.faults.switch_off(UPDATE)

            await service.start()

            assert await slack.expect_message("Answered “Yes” by alice@example.com via Slack", PATIENCE) is message
            found = await http.get(f"{service.url}/v1/suspensions/{asked['suspension_id']}", headers=headers)
            assert (found.json()["status"], found.json()["response"]) == ("responded", "yes")
            await slack.workspace.until(lambda: slack.sockets.sockets or None, PATIENCE)
            assert (await slack.click("U0ALICE", pressed, "ans:1")).status_code == 200
            await slack.expect_private("U0ALICE", "This question is no longer open.", PATIENCE)
