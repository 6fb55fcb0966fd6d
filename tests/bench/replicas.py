"""Several processes on one PostgreSQL: two workers on 10,000 reminders; replicas that are killed while they work."""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import sqlalchemy as sa

from core.database.database import open_database
from core.store import tables
from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, open_question
from tests.bench.databases import DURABLE, migrated
from tests.bench.measures import Spread
from tests.bench.reminders import COUNT, PATIENCE_SECONDS, TWO_ATTEMPTS, load_due
from tests.bench.service import Around, Caller, around, serving, start, write_config
from tests.bench.sheet import Sheet
from tests.postgres import postgres

CLIENTS = 8
BETWEEN_KILLS = (4.0, 8.0)
_PATIENCE_SECONDS = 150
"""A row that was in hand at a kill is taken up again when its lease ends, after 90 seconds at the latest."""


async def reminders(folder: Path, sheet: Sheet) -> None:
    """10,000 reminders within ten seconds, two workers."""
    with postgres(**DURABLE) as query:
        database = migrated(query, "reminders")
        sheet.note("PostgreSQL: bare commits, one row each", measures.bare_commits_on_postgres(database), "/s")
        async with around() as here, aiohttp.ClientSession() as http:
            alone, url = write_config(folder, database, here.smtp_port)
            asked = await open_question(http, alone, url, here, timeout_seconds=7200, retry_policy=TWO_ATTEMPTS)
            begins = load_due(database, rows.read_original(database, asked, MAILBOX))
            with ExitStack() as running:
                for name in ("worker-1", "worker-2"):
                    config, _ = write_config(folder, database, here.smtp_port, name)
                    running.enter_context(serving(config, "worker"))
                arrived = await here.mails_arrived(COUNT, PATIENCE_SECONDS)
        late = lateness(database)
    sheet.exactly("two workers: reminders sent", len(arrived), COUNT, "")
    sheet.exactly("two workers: reminders sent twice", sum(count > 1 for count in arrived.values()), 0, "")
    sheet.note("two workers: commit minus due, median", Spread.of(late).median / 1000, "s")
    sheet.note("two workers: commit minus due, most", max(late), "s")
    sheet.note("two workers: the last mail, after the first was due", here.last_mail - begins, "s")


def lateness(url: str) -> list[float]:
    """Seconds from the instant at which each reminder was due to the event that tells of it."""
    told = sa.select(tables.events.c.created_at, tables.suspensions.c.suspended_at).join_from(
        tables.events, tables.suspensions, tables.suspensions.c.intent_id == tables.events.c.intent_id
    )
    database = open_database(url)
    with database.engine.connect() as conn:
        found = conn.execute(told.where(tables.events.c.type == "intent.suspension_renotified")).all()
    database.engine.dispose()
    return [(at - asked).total_seconds() - TWO_ATTEMPTS["interval_seconds"] for at, asked in found]


async def killed(folder: Path, sheet: Sheet, seconds: float = 25) -> None:
    """Two API replicas and two workers; one of each is killed and started again, at random, while agents ask."""
    with postgres(**DURABLE) as query:
        database = migrated(query, "killed")
        async with (
            around() as here,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
            replicas(folder, database, here) as running,
        ):
            callers = [Caller(http, one.url) for one in running if one.role == "api"]
            for caller in callers:
                await measures.until_ready(caller, time.monotonic())
            kept, end = Kept(), time.monotonic() + seconds
            kills = [asyncio.create_task(kill_now_and_then(some, end)) for some in pairs(running)]
            await asyncio.gather(*(agent(AnyOf(callers), here, number, end, kept) for number in range(CLIENTS)))
            for kill in kills:
                kill.cancel()
            sheet.note("replicas killed and started again", sum(one.kills for one in running), "")
            lost = await missing(here, kept)
    sheet.note("questions asked and answered meanwhile", len(kept.answered), "")
    sheet.exactly("questions whose notice was lost", lost[0], 0, "")
    sheet.exactly("answers whose callback was lost", lost[1], 0, "")
    ids = [set(found) for found in (*here.webhook_ids.values(), *here.message_ids.values())]
    sheet.exactly("messages repeated under another id", sum(len(some) > 1 for some in ids), 0, "")
    repeated = sum(len(found) - 1 for found in (*here.webhook_ids.values(), *here.message_ids.values()))
    sheet.note("messages repeated under the same id", repeated, "")


@dataclass
class Replica:
    """One process, and how often it was killed."""

    config: Path
    url: str
    role: str
    process: subprocess.Popen[bytes]
    kills: int = 0

    def kill(self) -> None:
        """``kill -9``, and start again."""
        self.process.kill()
        self.process.wait()
        self.kills += 1
        self.process = start(self.config, self.role)


@asynccontextmanager
async def replicas(folder: Path, database: str, here: Around) -> AsyncIterator[list[Replica]]:
    running = []
    for role in ("api", "api", "worker", "worker"):
        config, url = write_config(folder, database, here.smtp_port, f"{role}-{len(running)}")
        running.append(Replica(config, url, role, start(config, role)))
    try:
        yield running
    finally:
        for one in running:
            one.process.kill()
            one.process.wait()


def pairs(running: Sequence[Replica]) -> list[list[Replica]]:
    """Replicas of one role: never are all of them down."""
    return [[one for one in running if one.role == role] for role in ("api", "worker")]


async def kill_now_and_then(some: Sequence[Replica], end: float) -> None:
    while time.monotonic() < end:
        await asyncio.sleep(random.uniform(*BETWEEN_KILLS))
        random.choice(some).kill()


@dataclass
class Kept:
    """What the service has acknowledged: the mailbox of every question, the id of every answered suspension."""

    asked: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)


class AnyOf:
    """Calls any replica; one that is down is no answer, and the next is asked the same under the same key."""

    def __init__(self, callers: Sequence[Caller]) -> None:
        self._callers = callers

    async def call(self, method: str, *given: Any) -> Any:
        repeatable = {"Idempotency-Key": uuid.uuid4().hex}
        for _ in range(200):
            caller = random.choice(self._callers)
            try:
                return await getattr(caller, method)(*given, headers=repeatable)
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)
        raise RuntimeError("No replica answers.")


async def agent(caller: AnyOf, here: Around, number: int, end: float, kept: Kept) -> None:
    """Ask, wait for the notice, answer, wait for the callback; again until ``end``. What is lost is counted later."""
    count = 0
    with contextlib.suppress(TimeoutError):
        while time.monotonic() < end:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                mailbox = f"agent{number}.{count}@example.com"
                asked = await caller.call("ask", here.callback_url, mailbox)
                kept.asked.add(mailbox)
                await here.mail_to(mailbox)
                await caller.call("answer", asked)
                kept.answered.add(asked["suspension_id"])
                await here.callback(asked["suspension_id"])
            count += 1


async def missing(here: Around, kept: Kept, patience: float = 100) -> tuple[int, int]:
    """How many acknowledged questions and answers nobody was told of, after ``patience`` seconds at most."""
    end = time.monotonic() + patience
    while True:
        lost = len(kept.asked - here.message_ids.keys()), len(kept.answered - here.webhook_ids.keys())
        if lost == (0, 0) or time.monotonic() > end:
            return lost
        await asyncio.sleep(0.1)
