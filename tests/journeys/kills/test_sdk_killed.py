"""Agents and the service are killed while people think: the answer reaches the session all the same, and acts once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.mailbox import Mailbox
from tests.journeys.kills.test_crashes import OPERATOR, settings
from tests.journeys.sdk.test_sdk_yield import LIMIT, Agent, programs
from tests.process import ServiceProcess, service_process
from tests.world import KEYS

pytestmark = pytest.mark.kills

ADMIN = {"X-API-Key": KEYS["admin"]}


@pytest.fixture
async def mailbox() -> Any:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()


class People:
    """Whoever answers, over the service's API."""

    def __init__(self, service: ServiceProcess, http: httpx.AsyncClient) -> None:
        self._service, self._http = service, http

    async def questions(self) -> list[dict[str, Any]]:
        found = await self._http.get(f"{self._service.url}/v1/suspensions", headers=ADMIN)
        items: list[dict[str, Any]] = found.json()["items"]
        return items

    async def asked(self) -> dict[str, Any]:
        """The one question, as soon as it is there."""
        async with asyncio.timeout(LIMIT):
            while not (items := await self.questions()):
                await asyncio.sleep(0.02)
        [question] = items
        return question

    async def answer(self, value: str, **more: Any) -> None:
        question = await self.asked()
        path = f"{self._service.url}/v1/intents/{question['intent_id']}/suspend/respond"
        body = {"suspension_id": question["id"], "value": value, **more}
        answered = await self._http.post(path, json=body, headers=OPERATOR)
        assert answered.status_code == 200, answered.text

    async def callbacks(self) -> list[dict[str, Any]]:
        found = await self._http.get(f"{self._service.url}/v1/callbacks", headers=ADMIN)
        items: list[dict[str, Any]] = found.json()["items"]
        return items

    async def delivered(self) -> None:
        """Once the service knows that the agent has its callback."""
        async with asyncio.timeout(LIMIT):
            while [one["status"] for one in await self.callbacks()] != ["delivered"]:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def a_service(
    folder: Path, database_url: str, mailbox: Mailbox
) -> AsyncIterator[tuple[ServiceProcess, People, Agent]]:
    async with (
        service_process(folder, settings(database_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        yield service, People(service, http), Agent(folder, service.url)


@pytest.mark.parametrize("value", ["authorize", "veto"])
async def test_a_process_asks_and_exits_the_service_is_killed_and_another_process_resumes_the_session(
    tmp_path: Path, database_url: str, mailbox: Mailbox, value: str
) -> None:
    asking, resuming = programs()
    async with a_service(tmp_path, database_url, mailbox) as (service, people, agent):
        await agent.run(asking)
        await service.kill()
        await service.start()
        await people.answer(value, metadata={"reason": "wrong customer"})
        await service.kill()  # the agent is not there yet, so that the callback is still to come
        await service.start()
        async with agent.receiving(resuming):
            conversation = await agent.turns(4)
            await people.delivered()
    assert [message["role"] for message in conversation] == ["user", "tool", "user", "assistant"]
    assert conversation[0]["content"] == "Please refund order 12345."
    told = json.loads(conversation[2]["content"])
    assert told["event"] == ("intent_authorized" if value == "authorize" else "intent_vetoed")
    refunded = "I have refunded order 12345."
    assert conversation[3]["content"] == (
        refunded if value == "authorize" else "I have not refunded it: wrong customer"
    )
    assert len(agent.messages) == 4


def dying(program: str) -> str:
    """The same, but for a lease of a second; with ``DIES`` set it ends within the handler, without a goodbye."""
    last = '    Path(f"{turn.resumed.session_id}.json").write_text(json.dumps(messages))\n'
    assert last in program
    dies = '    Path("calls").open("a").write("called\\n")\n    if "DIES" in os.environ:\n        os.abort()\n'
    lease = 'SqliteCallbackStore("callbacks.db", lease=timedelta(seconds=1))'
    return program.replace(last, dies + last).replace('SqliteCallbackStore("callbacks.db")', lease)


async def test_a_process_that_dies_within_its_turn_is_called_again_and_has_acted_once(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    asking, resuming = programs()
    async with a_service(tmp_path, database_url, mailbox) as (_, people, agent):
        await agent.run(asking)
        async with agent.receiving(dying(resuming), DIES="1") as process, asyncio.timeout(LIMIT):
            await people.answer("authorize")
            await process.wait()
        assert len(agent.messages) == 2
        async with agent.receiving(dying(resuming)):
            conversation = await agent.turns(4)
            await people.delivered()
    assert (tmp_path / "calls").read_text().splitlines() == ["called"] * 2
    assert conversation[3]["content"] == "I have not refunded it now: used"  # the first one has got so far
    with closing(sqlite3.connect(tmp_path / "callbacks.db")) as connection:
        [(done,)] = connection.execute("SELECT done_at IS NOT NULL FROM handraise_callbacks")
    assert done == 1


REFUND = """
from pathlib import Path

from handraise import ReceiptRefused, needs_approval


@needs_approval(question="Refund {order_id}?", idempotency_key=lambda order_id: f"refund-{order_id}")
DEF refund(order_id: str) -> None:
    with Path("runs").open("a") as runs:
        runs.write(order_id + "\\n")


DEF main() -> None:
    try:
        AWAIT refund("12345")
    except ReceiptRefused as refusal:
        print(refusal.reason)
    else:
        print("refunded")
"""


def asynchronous() -> str:
    return f"{REFUND.replace('DEF', 'async def').replace('AWAIT', 'await')}\n\nimport asyncio\n\nasyncio.run(main())\n"


def synchronous() -> str:
    return f"{REFUND.replace('DEF', 'def').replace('AWAIT ', '')}\n\nmain()\n"


@pytest.mark.parametrize("program", [asynchronous, synchronous])
async def test_a_tool_whose_process_is_killed_while_it_waits_runs_once(
    tmp_path: Path, database_url: str, mailbox: Mailbox, program: Callable[[], str]
) -> None:
    async with a_service(tmp_path, database_url, mailbox) as (service, people, agent):
        async with agent.running(program()):  # killed at the end of the block
            await people.asked()
        async with agent.running(program()) as process:
            await service.kill()
            await service.start()
            await people.answer("approve")
            async with asyncio.timeout(LIMIT):
                printed, problems = await process.communicate()
        assert printed.decode().split() == ["refunded"], problems.decode()
        assert (await agent.run(program())).split() == ["used"]
        assert len(await people.questions()) == 1
    assert (tmp_path / "runs").read_text().splitlines() == ["12345"]


async def test_an_answer_that_came_while_the_process_was_gone_is_there_when_it_returns(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    async with a_service(tmp_path, database_url, mailbox) as (service, people, agent):
        async with agent.running(asynchronous()):
            await people.asked()
        await people.answer("approve")
        await service.kill()
        await service.start()
        assert (await agent.run(asynchronous())).split() == ["refunded"]
    assert (tmp_path / "runs").read_text().splitlines() == ["12345"]
