"""1,000 agents that wait: what they cost while nothing happens."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench import measures
from tests.bench.process import resident, share_of_a_core
from tests.bench.service import Around, Caller, around, serving, write_config
from tests.bench.sheet import Sheet

AGENTS = 1_000
LONGEST_SECONDS = 55
"""Each wait is asked for anew when it ends. The first ones are shorter, so that they do not all end together."""

_AT_ONCE = 16


async def sqlite(folder: Path, sheet: Sheet, seconds: float = 6) -> None:
    """Processor time and memory with and without them, in the same process."""
    async with around() as here, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{folder}/waiting.db", here.smtp_port)
        with serving(config) as process:
            caller = Caller(http, url)
            await measures.until_ready(caller, time.monotonic())
            asked = await ask_many(caller, here)
            await asyncio.sleep(1)
            idle, before = await share_of_a_core(process.pid, seconds), resident(process.pid)
            agents = [asyncio.create_task(wait(caller, one, number)) for number, one in enumerate(asked)]
            await asyncio.sleep(5)  # the rush of their arrival is not what is measured
            busy, after = await share_of_a_core(process.pid, seconds), resident(process.pid)
            for agent in agents:
                agent.cancel()
            await asyncio.gather(*agents, return_exceptions=True)
    sheet.note("processor without agents that wait", idle, "% of a core")
    sheet.note(f"processor more with {AGENTS} agents in wait", busy - idle, "% of a core")
    sheet.note(f"memory more with {AGENTS} agents in wait", after - before, "MB")


async def ask_many(caller: Caller, here: Around) -> list[Any]:
    """A question for each agent; every notice has arrived."""
    asked: list[Any] = []

    async def some(number: int) -> None:
        for _ in range(number, AGENTS, _AT_ONCE):
            asked.append(await caller.ask(here.callback_url, f"agent{number}@example.com"))
            await here.mail_to(f"agent{number}@example.com")

    await asyncio.gather(*(some(number) for number in range(_AT_ONCE)))
    return asked


async def wait(caller: Caller, asked: Any, number: int) -> None:
    """As an agent does: wait as long as one may, again and again."""
    seconds = 1 + number % LONGEST_SECONDS
    while True:
        await caller.wait(asked, seconds)
        seconds = LONGEST_SECONDS
