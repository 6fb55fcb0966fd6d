"""After an outage with 100,000 open questions: how long their times take to move, what clients get meanwhile, and how
late the attempts are that come due through it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, open_question
from tests.bench.service import Around, Caller, around, serving, write_config
from tests.bench.sheet import Sheet
from tests.bench.stores import DAY, LADDER

COUNT = 100_000
AWAY = timedelta(hours=2)
CLIENTS = {"one client": 1, "64 clients": 64}


async def sqlite(folder: Path, sheet: Sheet) -> None:
    for name, clients in CLIENTS.items():
        path = folder / f"outage-{clients}.db"
        async with around() as here, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            config, url = write_config(folder, f"sqlite+aiosqlite:///{path}", here.smtp_port, str(clients))
            asked = await open_question(http, config, url, here, timeout_seconds=4 * 86400, retry_policy=LADDER)
            original = rows.read_original(f"sqlite:///{path}", asked, MAILBOX)
            first = datetime.now(UTC) - DAY - AWAY - datetime.fromisoformat(original.instants[0])
            rows.load(f"sqlite:///{path}", original, COUNT, lambda number, first=first: first + DAY * number / COUNT)
            _go_away(path)
            with serving(config):
                await _measure(sheet, path, Caller(http, url), here, name, clients)


def _go_away(path: Path) -> None:
    """The last beat was so long ago; nothing has been moved since."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE workers SET beat_at = beat_at - ?", (int(AWAY.total_seconds() * 1_000_000),))
        conn.commit()


async def _measure(sheet: Sheet, path: Path, caller: Caller, here: Around, name: str, clients: int) -> None:
    started = time.monotonic()
    await measures.until_ready(caller, started)
    moving = asyncio.create_task(asyncio.to_thread(_until_moved, path, started))
    rates = []
    while not moving.done():
        rates.append(await measures.cycles([caller], here, 3, clients))
    sheet.note(f"{COUNT} questions moved beside {name} after", await moving, "s")
    late = _lateness(path)
    sheet.note("attempts of moved questions that came due meanwhile", len(late), "")
    sheet.note("the most that one of them was late", max(late), "s")
    alone = await measures.cycles([caller], here, 8, clients)
    meanwhile = sum(rates) / len(rates)
    sheet.note(f"cycles of {name} meanwhile", meanwhile, "/s")
    sheet.note(f"cycles of {name} when all have moved", alone, "/s")
    sheet.goal_at_least(f"cycles of {name} meanwhile, of those afterwards", meanwhile / alone, 0.5)


def _lateness(path: Path) -> list[float]:
    """Seconds from the instant at which each second attempt was due, as it had moved, to the event that tells of it.
    The first of them come due with the start."""
    with closing(sqlite3.connect(path)) as conn:
        found = conn.execute(_LATE, (int(DAY.total_seconds() * 1_000_000),)).fetchall()
    return [microseconds / 1e6 for (microseconds,) in found]


def _until_moved(path: Path, started: float) -> float:
    """Seconds until no question is behind."""
    with closing(sqlite3.connect(path, timeout=30)) as conn:
        while conn.execute(_BEHIND).fetchone() is not None:
            time.sleep(0.5)
    return time.monotonic() - started


_LATE = """
    SELECT events.created_at - suspensions.suspended_at - suspensions.shift - ? FROM events
    JOIN suspensions ON suspensions.intent_id = events.intent_id
    WHERE events.type = 'intent.suspension_renotified'
"""
_BEHIND = """
    SELECT 1 FROM suspensions WHERE status = 'open' AND coalesce(caught_up, 0) < (SELECT max(id) FROM outages)
    AND suspended_at < (SELECT max(silent_from) FROM outages) LIMIT 1
"""
