"""A cycle beside 1,000,000 ended rows, and beside none: the same measure in turn, in one run."""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import aiohttp

from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, ended_question
from tests.bench.databases import DURABLE, migrated
from tests.bench.process import processor_seconds
from tests.bench.service import Around, Caller, around, serving, write_config
from tests.bench.sheet import Sheet
from tests.postgres import postgres

ROWS = 1_000_000
"""Of all tables together: an ended question has eight (intent, suspension, events, outbox, tokens)."""

ROUNDS = 5


async def sqlite(folder: Path, sheet: Sheet) -> None:
    empty, full = folder / "empty.db", folder / "full.db"
    await compare(folder, sheet, f"sqlite+aiosqlite:///{empty}", f"sqlite+aiosqlite:///{full}")


async def postgresql(folder: Path, sheet: Sheet) -> None:
    with postgres(**DURABLE) as query:
        empty, full = migrated(query, "empty"), migrated(query, "crowded")
        sheet.note("PostgreSQL: bare commits, one row each", measures.bare_commits_on_postgres(empty), "/s")
        await compare(folder, sheet, empty, full)


async def compare(folder: Path, sheet: Sheet, empty: str, full: str) -> None:
    """Two services, on an empty and on a full database; each is measured while the other has nothing to do."""
    async with around() as here, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        configs = [write_config(folder, url, here.smtp_port, name) for name, url in (("empty", empty), ("full", full))]
        asked = await ended_question(http, *configs[1], here)
        plain = full.replace("+aiosqlite", "")
        original = rows.read_original(plain, asked, MAILBOX)
        count = ROWS // sum(len(kept) for kept in original.rows.values())
        started = time.monotonic()
        rows.load(plain, original, count, lambda number: timedelta(milliseconds=-number))
        sheet.note(f"loading {count} ended questions", time.monotonic() - started, "s")
        with ExitStack() as running:
            costs = [Cost(running, http, *config) for config in configs]
            for _ in range(ROUNDS):
                for cost in costs:
                    await cost.measure(here)
    for name, of_empty, of_full in zip(("time", "processor time"), *(cost.medians() for cost in costs), strict=True):
        sheet.note(f"a cycle on an empty store, {name}", of_empty, "ms")
        sheet.note(f"a cycle beside {ROWS} ended rows, {name}", of_full, "ms")
        sheet.at_most(f"the one as a multiple of the other, {name}", of_full / of_empty, 1.2, "")


class Cost:
    """One service that runs, and what its cycles cost in milliseconds."""

    def __init__(self, running: ExitStack, http: aiohttp.ClientSession, config: Path, url: str) -> None:
        self._pid = running.enter_context(serving(config)).pid
        self._caller = Caller(http, url)
        self._times: list[float] = []
        self._processor: list[float] = []

    async def measure(self, here: Around, seconds: float = 3) -> None:
        await measures.until_ready(self._caller, time.monotonic())
        before, started = processor_seconds(self._pid), time.monotonic()
        rate = await measures.cycles([self._caller], here, seconds)
        done = rate * (time.monotonic() - started)
        self._times.append(1000 / rate)
        self._processor.append(1000 * (processor_seconds(self._pid) - before) / done)

    def medians(self) -> tuple[float, float]:
        """Time and processor time of a cycle; the first round warmed up and does not count."""
        return statistics.median(self._times[1:]), statistics.median(self._processor[1:])
