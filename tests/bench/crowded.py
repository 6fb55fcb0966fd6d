"""100,000 open questions with ladders that spread over the coming day: the start, and the memory while serving."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, open_question
from tests.bench.process import memory_of
from tests.bench.service import Caller, around, serving, write_config
from tests.bench.sheet import Sheet

COUNT = 100_000
DAY = timedelta(days=1)
LADDER = {"max_attempts": 3, "interval_seconds": 86400, "escalation_ladder": [{"attempt": 3, "channel_hint": "email"}]}


async def sqlite(folder: Path, sheet: Sheet, seconds: float = 8) -> None:
    """The second attempts are due one after another from now until tomorrow: some while this measures."""
    path = folder / "crowded.db"
    async with around() as here, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{path}", here.smtp_port)
        asked = await open_question(http, config, url, here, timeout_seconds=4 * 86400, retry_policy=LADDER)
        original = rows.read_original(f"sqlite:///{path}", asked, MAILBOX)
        first = datetime.now(UTC) - DAY - datetime.fromisoformat(original.instants[0])
        rows.load(f"sqlite:///{path}", original, COUNT, lambda number: first + DAY * number / COUNT)
        started = time.monotonic()
        with serving(config) as process:
            caller = Caller(http, url)
            sheet.at_most(
                f"ready with {COUNT} open questions after", await measures.until_ready(caller, started), 3, "s"
            )
            async with memory_of(process.pid) as watched:
                for _ in range(5):
                    await caller.listed("open")
                rate = await measures.cycles([caller], here, seconds)
        sheet.note("cycles beside them, 16 clients", rate, "/s")
        sheet.note("reminders meanwhile", sum(mailbox.endswith(f".{MAILBOX}") for mailbox in here.mails), "")
        sheet.at_most("memory while serving, the most", max(watched.samples), 300, "MB")
