"""A cycle beside 100,000 open questions and beside 100,000 ended ones, as often as on an empty store: in turn, in one
run. The open ones have ladders that spread over the coming day: some of their reminders leave meanwhile.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, ended_question, open_question
from tests.bench.databases import DURABLE, migrated
from tests.bench.process import processor_seconds, resident
from tests.bench.service import Around, Caller, around, serving, write_config
from tests.bench.sheet import Sheet
from tests.postgres import postgres

COUNT = 100_000
ROUNDS = 5
DAY = timedelta(days=1)
LADDER = {"max_attempts": 3, "interval_seconds": 86400, "escalation_ladder": [{"attempt": 3, "channel_hint": "email"}]}

EMPTY, OPEN, ENDED = "empty", "open", "ended"


async def sqlite(folder: Path, sheet: Sheet) -> None:
    urls = {name: f"sqlite+aiosqlite:///{folder}/{name}.db" for name in (EMPTY, OPEN, ENDED)}
    await compare(folder, sheet, urls)


async def postgresql(folder: Path, sheet: Sheet) -> None:
    with postgres(**DURABLE) as query:
        await compare(folder, sheet, {name: migrated(query, f"of_{name}") for name in (EMPTY, OPEN, ENDED)})


async def compare(folder: Path, sheet: Sheet, urls: dict[str, str]) -> None:
    """A service on each; each is measured while the others have nothing to do."""
    async with around() as here, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        configs = {name: write_config(folder, url, here.smtp_port, name) for name, url in urls.items()}
        await _load_open(http, urls[OPEN], configs[OPEN], here)
        await _load_ended(http, urls[ENDED], configs[ENDED], here)
        with ExitStack() as running:
            costs = {}
            for name, (config, url) in configs.items():
                started = time.monotonic()
                costs[name] = Cost(running.enter_context(serving(config)).pid, Caller(http, url))
                sheet.note(f"{name}: ready after", await measures.until_ready(costs[name].caller, started), "s")
            for number in range(ROUNDS + 1):
                for cost in costs.values():
                    await cost.measure(here, counts=number > 0)
            for name, cost in costs.items():
                sheet.note(f"{name}: memory", resident(cost.pid), "MB")
    for name, cost in costs.items():
        sheet.note(f"{name}: cycles", cost.rate, "/s")
        sheet.note(f"{name}: processor time of a cycle", cost.milliseconds, "ms")
    for name in (OPEN, ENDED):
        sheet.goal_at_least(
            f"cycles beside {COUNT} {name}, of an empty store's", costs[name].rate / costs[EMPTY].rate, 0.9
        )


async def _load_open(http: aiohttp.ClientSession, url: str, config: tuple[Path, str], here: Around) -> None:
    """The second attempts are due one after another from now until tomorrow."""
    plain = url.replace("+aiosqlite", "")
    asked = await open_question(http, *config, here, timeout_seconds=4 * 86400, retry_policy=LADDER)
    original = rows.read_original(plain, asked, MAILBOX)
    first = datetime.now(UTC) - DAY - datetime.fromisoformat(original.instants[0])
    rows.load(plain, original, COUNT, lambda number: first + DAY * number / COUNT)


async def _load_ended(http: aiohttp.ClientSession, url: str, config: tuple[Path, str], here: Around) -> None:
    plain = url.replace("+aiosqlite", "")
    original = rows.read_original(plain, await ended_question(http, *config, here), MAILBOX)
    rows.load(plain, original, COUNT, lambda number: timedelta(milliseconds=-number))


class Cost:
    """One service that runs, and what its cycles take."""

    def __init__(self, pid: int, caller: Caller) -> None:
        self.pid, self.caller = pid, caller
        self._done = self._seconds = self._processor = 0.0

    async def measure(self, here: Around, seconds: float = 3, *, counts: bool) -> None:
        """One round; the first one warms up."""
        before, started = processor_seconds(self.pid), time.monotonic()
        rate = await measures.cycles([self.caller], here, seconds)
        if counts:
            took = time.monotonic() - started
            self._done += rate * took
            self._seconds += took
            self._processor += processor_seconds(self.pid) - before

    @property
    def rate(self) -> float:
        """Cycles a second."""
        return self._done / self._seconds

    @property
    def milliseconds(self) -> float:
        """Processor time of a cycle."""
        return 1000 * self._processor / self._done
