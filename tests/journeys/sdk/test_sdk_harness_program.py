"""docs/how-to/harness.md as it stands, as a process that is killed while its turn waits (OpenArmature harness §6)."""

from __future__ import annotations

import asyncio
import json
import re
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.journeys.sdk.test_sdk_yield import LIMIT, Agent, world_of_now
from tests.world import KEYS

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "harness.md"


def program() -> str:
    [found] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


async def completed(process: Process) -> dict[str, Any]:
    """The final state that it prints next, of an invocation that a callback has resumed."""
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT):
        while True:
            shape, _, payload = (await process.stdout.readline()).decode().partition(" ")
            if shape == "completion_response":
                state: dict[str, Any] = json.loads(payload)
                return state


async def letters(folder: Path, count: int) -> list[str]:
    """The conversation's, as soon as there are so many."""
    file = folder / "talk-7.json"
    async with asyncio.timeout(LIMIT):
        while len(found := json.loads(file.read_text())["letters"]) < count:
            await asyncio.sleep(0.02)
    return [*found]


async def post(agent: Agent, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as http:
        response = await http.post(f"http://127.0.0.1:{agent.port}{path}", json=body)
    told: dict[str, Any] = response.json()
    return response.status_code, told


@pytest.mark.slow
async def test_a_turn_waits_at_the_server_while_its_process_is_killed(tmp_path: Path, sqlite_url: str) -> None:
    async with world_of_now(tmp_path, sqlite_url) as world:
        agent, operator = Agent(tmp_path, world.url), {"SIGNAL_API_KEY": KEYS["operator"]}
        async with agent.receiving(program(), **operator) as process:
            assert (await post(agent, "/signals/refund-1", {"approved": True}))[0] == 503
            status, told = await post(agent, "/messages", {"session_id": "talk-7", "order": "1"})
            assert (status, told["signal_id"], told["ref"][:3]) == (202, "refund-1", "HR-")
            process.kill()
        async with agent.receiving(program(), **operator) as process:
            status, told = await post(agent, "/signals/refund-1", {"approved": "perhaps"})
            assert (status, told["category"]) == (422, "suspension_resume_payload_invalid")
            status, told = await post(agent, "/signals/refund-1", {"approved": True})
            assert (status, told.get("outcome", "resumed")) == (200, "resumed")  # the callback may have been faster
            assert await letters(tmp_path, 1) == ["Order 1 is refunded."]
            status, told = await post(agent, "/messages", {"session_id": "talk-7", "order": "2"})
            assert (status, told["signal_id"]) == (202, "refund-2")
            process.kill()
        async with agent.receiving(program(), **operator) as process:
            response = await world.call("GET", "/v1/suspensions", "operator", params={"status": "open"})
            [question] = response.json()["items"]
            asked = {"intent_id": question["intent_id"], "suspension_id": question["id"]}
            assert (await world.answer(asked, {"approved": False})).is_success
            both = ["Order 1 is refunded.", "Order 2 is not refunded."]
            assert await completed(process) == {"order": "2", "approved": False, "letters": both}
            assert await letters(tmp_path, 2) == both
            status, told = await post(agent, "/messages", {"session_id": "talk-7", "signal_id": "x", "order": "3"})
            assert (status, told["category"]) == (422, "harness_path_classification_ambiguous")
