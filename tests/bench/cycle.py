"""The main figures: the start, from an answer to the agent, and full cycles of one client and of many; each beside a
bare service that does a cycle's minimum, in turn.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
from handraise import Handraise, HandraiseSync

from tests.bench import bare, measures
from tests.bench.process import processor_seconds
from tests.bench.service import AGENT_KEY, Around, Caller, around, serving, write_config
from tests.bench.sheet import Sheet

TURNS = 4
"""Whatever is compared is measured so often each, in turn: the machine is not as fast in one minute as in another."""
CROWDS = {64: 0.85, 256: None}
"""So many clients, and what they should get done of what the usual number does."""


async def sqlite(folder: Path, sheet: Sheet, seconds: float = 10, runs: int = 300) -> None:
    """``seconds`` of cycles, ``runs`` latencies."""
    async with around() as here, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{folder}/bench.db", here.smtp_port)
        started = time.monotonic()
        with serving(config) as process, bare.serving(folder, here.smtp_port) as bare_url:
            caller, beside = Caller(http, url), Caller(http, bare_url)
            sheet.note("handraise serve: ready after", await measures.until_ready(caller, started), "s")
            await measures.until_ready(beside, started)
            await _latencies(caller, beside, here, runs, sheet)
            await _sdk_waits(url, caller, here, runs, sheet)
            await _cycles(process.pid, caller, beside, here, seconds, sheet)
            sheet.note("cycles, 1 client", await measures.cycles([caller], here, seconds, 1), "/s")
            for clients, goal in CROWDS.items():
                await _crowd(caller, here, seconds, clients, goal, sheet)


async def _latencies(caller: Caller, beside: Caller, here: Around, runs: int, sheet: Sheet) -> None:
    for one in (caller, beside):
        await measures.latency(one, here, 20)  # warm
    waits, callbacks = await measures.latency(caller, here, runs)
    bare_waits, bare_callbacks = await measures.latency(beside, here, runs)
    for what, ours, theirs in (("wait returns", waits, bare_waits), ("callback received", callbacks, bare_callbacks)):
        for name, spread in (("", ours), ("bare: ", theirs)):
            sheet.note(f"{name}answer sent → {what}, median", spread.median, "ms")
            sheet.note(f"{name}answer sent → {what}, p99", spread.p99, "ms")
    sheet.goal_at_most(
        "answer sent → wait returns, of the bare service's median", waits.median / bare_waits.median, 2.5
    )


async def _cycles(pid: int, caller: Caller, beside: Caller, here: Around, seconds: float, sheet: Sheet) -> None:
    ours, theirs, used, done = list[float](), list[float](), 0.0, 0.0
    for _ in range(TURNS):
        before, began = processor_seconds(pid), time.monotonic()
        ours.append(await measures.cycles([caller], here, seconds / 2))
        used, done = used + processor_seconds(pid) - before, done + ours[-1] * (time.monotonic() - began)
        theirs.append(await measures.cycles([beside], here, seconds / 2))
    sheet.note("cycles, 16 clients", sum(ours) / TURNS, "/s")
    sheet.note("bare: cycles, 16 clients", sum(theirs) / TURNS, "/s")
    sheet.goal_at_least("cycles, of the bare service's", sum(ours) / sum(theirs), 0.17)
    sheet.note("processor time of the service, a cycle", 1000 * used / done, "ms")


async def _crowd(caller: Caller, here: Around, seconds: float, clients: int, goal: float | None, sheet: Sheet) -> None:
    """More clients get as much done as the usual number, and wait no longer than a fair queue would make them."""
    usual, crowded, waits = list[float](), list[float](), list[float]()
    for _ in range(TURNS):
        usual.append(await measures.cycles([caller], here, seconds / 2))
        rate, creates = await measures.cycles_and_creates([caller], here, seconds / 2, clients)
        crowded.append(rate)
        waits.append(creates.p99 * rate / (1000 * clients))
    name, ratio = f"cycles, {clients} clients, of 16's", sum(crowded) / sum(usual)
    if goal is None:
        sheet.note(name, ratio, "×")
    else:
        sheet.goal_at_least(name, ratio, goal)
    sheet.goal_at_most(f"p99 of a create, {clients} clients, of the ideal queue's", max(waits), 3)


async def _sdk_waits(url: str, caller: Caller, here: Around, runs: int, sheet: Sheet) -> None:
    """The same by the SDK's two clients."""
    people = HandraiseSync(url, AGENT_KEY)
    async with Handraise(url, AGENT_KEY) as waiting:

        async def by_task(asked: Any) -> object:
            return await waiting.wait(asked["suspension_id"])

        async def in_thread(asked: Any) -> object:
            return await asyncio.to_thread(people.wait, asked["suspension_id"])

        for name, wait in (("Handraise", by_task), ("HandraiseSync", in_thread)):
            await measures.latency(caller, here, 20, wait)  # warm
            waits, _ = await measures.latency(caller, here, runs, wait)
            sheet.note(f"answer sent → {name}.wait returns, median", waits.median, "ms")
    people.close()
