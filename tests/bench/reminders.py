"""10,000 reminders that become due within ten seconds: how late each is committed, whether each goes out once, and how
many leave in a second, beside a client that does nothing else.
"""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from tests.bench import bare_mail, measures, rows
from tests.bench.bare import CONNECTIONS
from tests.bench.crowd import MAILBOX, open_question
from tests.bench.measures import Spread
from tests.bench.service import Caller, around, serving, write_config
from tests.bench.sheet import Sheet

COUNT = 10_000
WITHIN = timedelta(seconds=10)
HEAD_START = timedelta(seconds=8)
"""Between the loading and the first reminder, for the service to start in."""
PATIENCE_SECONDS = 120
BARE = 3_000
"""Mails that the bare client sends."""

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
            took = here.last_mail - begins
            sheet.note("the last mail, after the last was due", took - WITHIN.total_seconds(), "s")
        mails = [(f"{number}.{MAILBOX}", here.last_content) for number in range(BARE)]
        ceiling = BARE / await bare_mail.seconds_for(here.smtp_port, mails, CONNECTIONS)
        sheet.note("reminders that leave, from the first to the last", COUNT / took, "/s")
        sheet.note("a bare aiosmtplib with as many connections", ceiling, "/s")
        sheet.goal_at_least("reminders, of the bare client's speed", COUNT / took / ceiling, 0.12)
        twice = sum(count > 1 for count in arrived.values())
        sheet.exactly("reminders sent", len(arrived), COUNT, "")
        sheet.exactly("reminders sent twice", twice, 0, "")
        late = lateness(path)
        spread, last = Spread.of(late), 1000 * late[-1]
        sheet.note("commit minus due, median", spread.median, "ms")
        sheet.note("commit minus due, of the last one", last, "ms")
        sheet.at_most("commit minus due, p99, beyond that of the last one", spread.p99 - last, 1000, "ms")


def load_due(url: str, original: rows.Original) -> float:
    """Load copies whose second attempt is due one after another; returns when the first is (seconds since 1970)."""
    asked_at = datetime.fromisoformat(original.instants[0])
    begins = datetime.now(UTC) + HEAD_START
    first = begins - (asked_at + timedelta(seconds=TWO_ATTEMPTS["interval_seconds"]))
    rows.load(url, original, COUNT, lambda number: first + WITHIN * number / COUNT)
    return begins.timestamp()


def lateness(path: Path) -> list[float]:
    """Seconds from the instant at which each reminder was due to the event that tells of it, in the order in which they
    were due. Whoever was due earlier waits no longer than the last one, if each has its turn."""
    with sqlite3.connect(path) as conn:
        found = conn.execute(
            "SELECT events.created_at - suspensions.suspended_at FROM events"
            " JOIN suspensions ON suspensions.intent_id = events.intent_id"
            " WHERE events.type = 'intent.suspension_renotified' ORDER BY suspensions.suspended_at"
        ).fetchall()
    return [microseconds / 1e6 - TWO_ATTEMPTS["interval_seconds"] for (microseconds,) in found]
