"""Waiting that outlives its process: docs/how-to/yield-and-resume.md as it stands, and the same key days later."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from handraise import Handraise

from tests.clock import ManualClock
from tests.ports import free_port
from tests.world import KEYS, WEBHOOK_SECRET, World, running

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "yield-and-resume.md"
LIMIT = 90


def programs() -> tuple[str, str]:
    """The page's: what yields, and what resumes."""
    asking, resuming = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return asking, resuming


class Agent:
    """An agent's folder, with its session and its callbacks; each of its programs is a process of its own."""

    def __init__(self, folder: Path, service_url: str) -> None:
        self.folder = folder
        self.port = free_port()
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")},
            "HANDRAISE_URL": service_url,
            "HANDRAISE_API_KEY": KEYS["agent"],
            "AGENT_CALLBACK_URL": f"http://127.0.0.1:{self.port}/resume",
            "AGENT_WEBHOOK_SECRETS": WEBHOOK_SECRET,
            "PORT": str(self.port),
        }

    async def start(self, program: str, **variables: str) -> Process:
        command = [sys.executable, "-c", program]
        environ = {**self._environ, **variables}
        return await asyncio.create_subprocess_exec(*command, cwd=self.folder, env=environ, stdout=PIPE, stderr=PIPE)

    async def run(self, program: str) -> str:
        """What it has printed, once it has ended well."""
        process = await self.start(program)
        async with asyncio.timeout(LIMIT):
            printed, problems = await process.communicate()
        assert process.returncode == 0, problems.decode()
        return printed.decode()

    @asynccontextmanager
    async def running(self, program: str, **variables: str) -> AsyncIterator[Process]:
        """Until the end of the block, where it is killed if it is still there."""
        process = await self.start(program, **variables)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    @asynccontextmanager
    async def receiving(self, program: str, **variables: str) -> AsyncIterator[Process]:
        """The same, and it takes callbacks."""
        async with self.running(program, **variables) as process, asyncio.timeout(LIMIT):
            while not await self._listens():
                assert process.returncode is None
                await asyncio.sleep(0.02)
            yield process

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    @property
    def messages(self) -> list[dict[str, str]]:
        file = self.folder / "sess-1.json"
        try:
            found: list[dict[str, str]] = json.loads(file.read_text() or "[]") if file.exists() else []
        except ValueError:  # in the middle of being written
            return []
        return found

    async def turns(self, count: int) -> list[dict[str, str]]:
        """The conversation, as soon as it has so many messages."""
        async with asyncio.timeout(LIMIT):
            while len(self.messages) < count:
                await asyncio.sleep(0.02)
        return self.messages


@asynccontextmanager
async def world_of_now(folder: Path, database_url: str) -> AsyncIterator[World]:
    """Its clock stands at the real time: the agent's processes have no other."""
    async with running(folder, database_url, ManualClock(datetime.now(UTC))) as world:
        yield world


@pytest.mark.parametrize(
    ("value", "event", "said"),
    [
        ("authorize", "intent_authorized", "I have refunded order 12345."),
        ("veto", "intent_vetoed", "I have not refunded it: wrong customer"),
    ],
)
async def test_the_programs_of_the_page_yield_and_go_on_in_the_same_session(
    tmp_path: Path, sqlite_url: str, value: str, event: str, said: str
) -> None:
    asking, resuming = programs()
    async with world_of_now(tmp_path, sqlite_url) as world:
        agent = Agent(tmp_path, world.url)
        async with agent.receiving(resuming):
            assert "Awaiting approval, HR-" in await agent.run(asking)
            await world.settle()
            [asked] = (await world.call("GET", "/v1/suspensions", "admin")).json()["items"]
            question = {"intent_id": asked["intent_id"], "suspension_id": asked["id"]}
            await world.answer(question, value, metadata={"reason": "wrong customer"})
            await world.settle()
            conversation = await agent.turns(4)
    assert [message["role"] for message in conversation] == ["user", "tool", "user", "assistant"]
    assert json.loads(conversation[1]["content"])["status"] == "pending_veto"
    told = json.loads(conversation[2]["content"])
    assert (told["event"], told["intent_id"], told["reason"]) == (event, asked["intent_id"], "wrong customer")
    assert conversation[3]["content"] == said


async def test_the_same_key_picks_up_the_same_question_and_its_answer_days_later(world: World) -> None:
    options: dict[str, Any] = {"choices": ["approve", "deny"], "idempotency_key": "refund-12345"}
    async with Handraise(world.url, KEYS["agent"]) as people:
        first = await people.suspend("Refund order 12345?", **options)
    await world.advance(days=30)
    async with Handraise(world.url, KEYS["agent"]) as people:
        again = await people.suspend("Refund order 12345?", **options)
        assert again.suspension_id == first.suspension_id
        await world.answer({"intent_id": first.intent_id, "suspension_id": first.suspension_id}, "deny")
        assert (await people.wait(again.suspension_id)).response == "deny"
    await world.advance(days=6)
    async with Handraise(world.url, KEYS["agent"]) as people:
        assert await people.request_input("Refund order 12345?", **options) == "deny"
    assert len((await world.call("GET", "/v1/suspensions", "admin")).json()["items"]) == 1
