"""The main figures: the start, from an answer to the agent, and full cycles of one client and of many."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
from handraise import Handraise, HandraiseSync

from tests.bench import bare_asgi, bare_mail, measures
from tests.bench.process import processor_seconds
from tests.bench.reminders import CONNECTIONS
from tests.bench.service import AGENT_KEY, Around, Caller, approval, around, question, serving, write_config
from tests.bench.sheet import Sheet

MAILBOX = "bare@example.com"
MAILS = 1_000
"""So many does the bare client send."""
TURNS = 2


async def sqlite(folder: Path, sheet: Sheet, seconds: float = 10, runs: int = 300) -> None:
    """``seconds`` of cycles, ``runs`` latencies."""
    commits = measures.bare_commits(folder)
    sheet.note("SQLite: bare commits, one row each", commits, "/s")
    async with around() as here:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{folder}/bench.db", here.smtp_port)
        connector = aiohttp.TCPConnector(limit=0)
        started = time.monotonic()
        with serving(config) as process:
            async with aiohttp.ClientSession(connector=connector) as http:
                caller = Caller(http, url)
                sheet.at_most("handraise serve: ready after", await measures.until_ready(caller, started), 2, "s")
                await measures.latency(caller, here, 20)  # warm
                waits, callbacks = await measures.latency(caller, here, runs)
                for what, spread in (("wait returns", waits), ("callback received", callbacks)):
                    sheet.at_most(f"answer sent → {what}, median", spread.median, 4, "ms")
                    sheet.at_most(f"answer sent → {what}, p99", spread.p99, 12, "ms")
                    sheet.note(f"answer sent → {what}, most", spread.most, "ms")
                await _sdk_waits(url, caller, here, runs, sheet)
                before, began = processor_seconds(process.pid), time.monotonic()
                rate = await measures.cycles([caller], here, seconds)
                used, done = processor_seconds(process.pid) - before, rate * (time.monotonic() - began)
                sheet.at_least("cycles, 16 clients", rate, 300, "/s")
                sheet.note("cycles as a share of bare commits", rate / commits, "")
                await _ceilings(caller, here, seconds, rate, sheet)
                sheet.at_most("processor time of the service, a cycle", 1000 * used / done, 3.2, "ms")
                sheet.at_least("cycles, 1 client", await measures.cycles([caller], here, seconds, 1), 150, "/s")
                for clients in (64, 256):
                    await _crowd(caller, here, seconds, clients, sheet)


async def _ceilings(caller: Caller, here: Around, seconds: float, rate: float, sheet: Sheet) -> None:
    """``rate`` beside servers and clients that do nothing but carry the same bytes."""
    asked = await caller.ask(here.callback_url, MAILBOX)
    await here.mail_to(MAILBOX)
    both = [(question(here.callback_url, MAILBOX), asked), (approval(asked), await caller.answer(asked))]
    requests, used = await bare_asgi.exchanges(both, seconds, measures.CLIENTS)
    sheet.note("bare ASGI: the two requests of a cycle, 16 clients", requests, "/s")
    sheet.note("cycles as a share of bare ASGI", rate / requests, "")
    sheet.note("processor time of bare ASGI, a cycle", used, "ms")
    mails = [(MAILBOX, here.last_content)] * MAILS
    sent = MAILS / await bare_mail.seconds_for(here.smtp_port, mails, CONNECTIONS)
    sheet.note(f"bare aiosmtplib: the mail of a cycle, {CONNECTIONS} connections", sent, "/s")
    sheet.note("cycles as a share of bare aiosmtplib", rate / sent, "")


async def _crowd(caller: Caller, here: Around, seconds: float, clients: int, sheet: Sheet) -> None:
    """More clients get no less done than the usual number, and wait no longer than a fair queue would make them. In
    turn with those: the machine is not as fast in one minute as in another."""
    usual, crowded, waits = list[float](), list[float](), list[float]()
    for _ in range(TURNS):
        usual.append(await measures.cycles([caller], here, seconds))
        rate, creates = await measures.cycles_and_creates([caller], here, seconds, clients)
        crowded.append(rate)
        waits.append(creates.p99 * rate / (1000 * clients))
    sheet.at_least(f"cycles, {clients} clients, as a share of 16's", sum(crowded) / sum(usual), 0.9, "")
    sheet.at_most(f"p99 of a create, {clients} clients, of the ideal queue's", max(waits), 3, "×")


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
            sheet.at_most(f"answer sent → {name}.wait returns, median", waits.median, 10, "ms")
    people.close()
