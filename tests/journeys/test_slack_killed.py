"""``kill -9`` between the commit of a click and Slack's hearing of it: the answer stands, and all see it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import httpx
import pytest

from bot.sandbox.serving import serving
from bot.sandbox.slack import SlackSandbox
from bot.sandbox.slack_faults import DropBeforeStoring
from bot.sandbox.slack_socket_faults import AckLost
from tests.process import service_process
from tests.world import CHANNEL, KEYS, config

pytestmark = pytest.mark.kills

PATIENCE = 20
UPDATE = "chat.update"


async def test_a_process_killed_between_commit_and_acknowledgement_loses_neither_the_answer_nor_the_edit(
    tmp_path: Path, database_url: str
) -> None:
    slack = SlackSandbox()
    slack.workspace.add_user("U0ALICE", "Alice", "alice@example.com")
    slack.workspace.add_channel(CHANNEL, "ops", "U0ALICE")
    async with serving(slack.app) as slack_url, httpx.AsyncClient(trust_env=False) as http:
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

            assert await slack.expect_message("Answered “Yes” by alice@example.com via slack", PATIENCE) is message
            found = await http.get(f"{service.url}/v1/suspensions/{asked['suspension_id']}", headers=headers)
            assert (found.json()["status"], found.json()["response"]) == ("responded", "yes")
            await slack.workspace.until(lambda: slack.sockets.sockets or None, PATIENCE)
            assert (await slack.click("U0ALICE", pressed, "ans:1")).status_code == 200
            await slack.expect_private("U0ALICE", "This question is no longer open.", PATIENCE)
