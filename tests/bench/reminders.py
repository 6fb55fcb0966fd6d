"""10,000 reminders that become due within ten seconds: how late each is committed, and whether each goes out once."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, open_question
from tests.bench.measures import Spread
from tests.bench.service import Caller, around, serving, write_config
from tests.bench.sheet import Sheet

COUNT = 10_000
WITHIN = timedelta(seconds=10)
HEAD_START = timedelta(seconds=8)
"""Between the loading and the first reminder, for the service to start in."""
PATIENCE_SECONDS = 120

TWO_ATTEMPTS = {"max_attempts": 2, "interval_seconds": 3600}


async def sqlite(folder: Path, sheet: Sheet) -> None:
    """Commit minus due on SQLite."""
    path = folder / "reminders.db"
    async with around() as here, aiohttp.ClientSession() as http:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{path}", here.smtp_port)
        asked = await open_question(http, config, url, here, timeout_seconds=7200, retry_policy=TWO_ATTEMPTS)
        original = rows.read_original(f"sqlite:///{path}", asked, MAILBOX)
        begins = load_due(f"sqlite:///{path}", original)
        with serving(config):
            await measures.until_ready(Caller(http, url), time.monotonic())
            sheet.note("ready this long before the first was due", begins - time.time(), "s")
            arrived = await here.mails_arrived(COUNT, PATIENCE_SECONDS)
            sheet.note("the last mail, after the last was due", here.last_mail - begins - WITHIN.total_seconds(), "s")
        twice = sum(count > 1 for count in arrived.values())
        sheet.exactly("reminders sent", len(arrived), COUNT, "")
        sheet.exactly("reminders sent twice", twice, 0, "")
        late = Spread.of(lateness(path))
        sheet.note("commit minus due, median", late.median, "ms")
        sheet.at_most("commit minus due, p99", late.p99, 1000, "ms")


def load_due(url: str, original: rows.Original) -> float:
    """Load copies whose second attempt is due one after another; returns when the first is (seconds since 1970)."""
    asked_at = datetime.fromisoformat(original.instants[0])
    begins = datetime.now(UTC) + HEAD_START
    first = begins - (asked_at + timedelta(seconds=TWO_ATTEMPTS["interval_seconds"]))
    rows.load(url, original, COUNT, lambda number: first + WITHIN * number / COUNT)
    return begins.timestamp()


def lateness(path: Path) -> list[float]:
    """Seconds from the instant at which each reminder was due to the event that tells of it."""
    with sqlite3.connect(path) as conn:
        found = conn.execute(
            "SELECT events.created_at - suspensions.suspended_at FROM events"
            " JOIN suspensions ON suspensions.intent_id = events.intent_id"
            " WHERE events.type = 'intent.suspension_renotified'"
        ).fetchall()
    return [microseconds / 1e6 - TWO_ATTEMPTS["interval_seconds"] for (microseconds,) in found]
