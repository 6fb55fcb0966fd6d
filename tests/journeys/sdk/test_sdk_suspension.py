"""docs/how-to/suspension.md as it stands: one process asks and ends, the callback reaches another, which goes on."""

from __future__ import annotations

import asyncio
import re
from asyncio.subprocess import Process
from pathlib import Path

import pytest

from tests.journeys.sdk.test_sdk_yield import LIMIT, Agent, world_of_now

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "suspension.md"


def program() -> str:
    [whole] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return whole


def asking(order: str) -> str:
    """The program, called with an order."""
    return f"import sys\nsys.argv.append({order!r})\n{program()}"


async def printed_by(process: Process) -> str:
    """Its next line."""
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT):
        return (await process.stdout.readline()).decode().strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("approved", "said"),
    [
        (True, "We have refunded order 12345 (refund-12345-pay)."),
        (False, "We have not refunded order 12345. Wrong customer."),
    ],
)
async def test_the_program_of_the_page_asks_ends_and_goes_on(
    tmp_path: Path, sqlite_url: str, approved: bool, said: str
) -> None:
    async with world_of_now(tmp_path, sqlite_url) as world:
        agent = Agent(tmp_path, world.url)
        assert "Awaiting approval, HR-" in await agent.run(asking("12345"))
        await world.settle()
        async with agent.receiving(program()) as receiver:
            body = {"value": {"approved": approved, "note": "Wrong customer."}}
            answered = await world.call("POST", "/v1/signals/refund-12345", "operator", json=body)
            assert answered.is_success, answered.text
            await world.settle()
            assert await printed_by(receiver) == said


@pytest.mark.slow
async def test_the_program_of_the_page_says_that_nobody_has_approved(tmp_path: Path, sqlite_url: str) -> None:
    async with world_of_now(tmp_path, sqlite_url) as world:
        agent = Agent(tmp_path, world.url)
        await agent.run(asking("12345"))
        [asked] = (await world.call("GET", "/v1/suspensions", params={"invocation_id": "refund-12345"})).json()["items"]
        async with agent.receiving(program()) as receiver:
            await world.call("POST", f"/v1/suspensions/{asked['id']}/cancel", json={})
            await world.settle()
            assert await printed_by(receiver) == "Nobody has approved it: cancelled."
