"""Full cycles on PostgreSQL beside SQLite in the same run: by one process, by two, and by one for each role."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.bench import measures
from tests.bench.databases import DURABLE, migrated
from tests.bench.process import processor_seconds
from tests.bench.service import Around, Caller, around, serving, write_config
from tests.bench.sheet import Sheet
from tests.postgres import postgres

EVERY_ROLE = None
WARM_SECONDS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles a second, and the processor milliseconds that our processes take for one."""

    rate: float
    milliseconds: float


async def both(folder: Path, sheet: Sheet, seconds: float = 10) -> None:
    async with around() as here:
        lite = await _cycles(folder, f"sqlite+aiosqlite:///{folder}/cycles.db", here, [EVERY_ROLE], seconds)
        with postgres(**DURABLE) as query:
            one = await _cycles(folder, migrated(query, "one"), here, [EVERY_ROLE], seconds)
            two = await _cycles(folder, migrated(query, "two"), here, [EVERY_ROLE, EVERY_ROLE], seconds)
            apart = await _cycles(folder, migrated(query, "apart"), here, ["api", "worker"], seconds)
    sheet.note("SQLite: cycles", lite.rate, "/s")
    sheet.note("SQLite: processor time of the service, a cycle", lite.milliseconds, "ms")
    sheet.note("PostgreSQL, one process: cycles as a share of SQLite's", one.rate / lite.rate, "")
    sheet.note("PostgreSQL, one process: cycles", one.rate, "/s")
    sheet.note("PostgreSQL, one process: processor time, a cycle", one.milliseconds, "ms")
    sheet.goal_at_most("PostgreSQL: processor time, of SQLite's", one.milliseconds / lite.milliseconds, 2.2)
    sheet.note("PostgreSQL, two processes: cycles", two.rate, "/s")
    sheet.note("two: processor time as a share of one's", two.milliseconds / one.milliseconds, "")
    sheet.note("api and worker apart: cycles as a share of one's", apart.rate / one.rate, "")
    sheet.note("api and worker apart: processor time, a cycle", apart.milliseconds, "ms")


async def _cycles(
    folder: Path, url: str, here: Around, roles: Sequence[str | None], seconds: float, clients: int = measures.CLIENTS
) -> Cost:
    """Sixteen clients over a process for each of ``roles``; who has no API takes no calls."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        with ExitStack() as running:
            callers, pids = [], []
            for number, role in enumerate(roles):
                config, address = write_config(folder, url, here.smtp_port, f"cycles-{number}")
                pids.append(running.enter_context(serving(config, role)).pid)
                caller = Caller(http, address)
                await measures.until_ready(caller, time.monotonic())
                if role != "worker":
                    callers.append(caller)
            await measures.cycles(callers, here, WARM_SECONDS, clients)
            before, began = sum(map(processor_seconds, pids)), time.monotonic()
            rate = await measures.cycles(callers, here, seconds, clients)
            done = rate * (time.monotonic() - began)
            return Cost(rate, 1000 * (sum(map(processor_seconds, pids)) - before) / done)
