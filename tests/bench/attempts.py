"""A question that was asked fifty times, beside one that was asked once: answering, showing, its page, its timeline."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import sqlalchemy as sa

from core.store.tables import suspensions
from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX
from tests.bench.databases import DURABLE, migrated
from tests.bench.lists import seconds_of, sign_in
from tests.bench.process import processor_seconds
from tests.bench.service import (
    ADMIN_KEY,
    AGENT_KEY,
    OPERATOR_KEY,
    SECRET,
    Around,
    Caller,
    around,
    serving,
    write_config,
)
from tests.bench.sheet import Sheet
from tests.postgres import postgres

MOST = 50
PERSON = "one@example.com"
INTERVAL = 2  # seconds
COPIES = 360
AT_ONCE = 20
LOOKS = 3
"""At each question, before it is answered."""

SETTINGS = {
    "people": [{"name": "one", "email": PERSON}],
    "api_keys": [
        {"name": "bench-agent", "key": AGENT_KEY, "roles": ["agent"], "webhook_secrets": [SECRET]},
        {"name": PERSON, "key": OPERATOR_KEY, "roles": ["operator"]},
        {"name": "bench-admin", "key": ADMIN_KEY, "roles": ["admin"]},
    ],
}

ANSWERING = "answering"
LIMITS = {"showing": 1.1, "the page of": 1.1, "the timeline of": None, ANSWERING: 1.1}
"""How often the processor time of the one asked once. A timeline of fifty attempts is as much longer."""


async def both(folder: Path, sheet: Sheet) -> None:
    await measured(folder, sheet, "SQLite", f"sqlite+aiosqlite:///{folder / 'attempts.db'}")
    with postgres(**DURABLE) as query:
        await measured(folder, sheet, "PostgreSQL", migrated(query, "attempts"))


async def measured(folder: Path, sheet: Sheet, database: str, url: str) -> None:
    async with around() as here, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        config, base = write_config(folder, url, here.smtp_port, database, **SETTINGS)
        plain = url.replace("+aiosqlite", "")
        asked = await _asked_once_and_often(http, config, base, here)
        for number, question in enumerate(asked):
            original = rows.read_original(plain, question, MAILBOX)
            rows.load(plain, original, COPIES, lambda copy, number=number: timedelta(days=1 + number, seconds=copy))
        once, often = _copies(plain, asked)
        with serving(config) as service:
            caller = Caller(http, base)
            await measures.until_ready(caller, time.monotonic())
            await sign_in(http, base, PERSON)
            costs = [Costs(service.pid, http, base, caller) for _ in asked]
            for start in range(0, COPIES, AT_ONCE):
                for cost, copies in zip(costs, (once, often), strict=True):
                    await cost.measure(copies[start : start + AT_ONCE])
    for name, limit in LIMITS.items():
        of_once, of_often = (cost.milliseconds(name) for cost in costs)
        sheet.note(f"{database}: {name} one asked once, processor time", of_once, "ms")
        ratio = f"{database}: {name} one asked {MOST} times, as a multiple"
        if limit is None:
            sheet.note(ratio, of_often / of_once, "")
        else:
            sheet.at_most(ratio, of_often / of_once, limit, "")


class Costs:
    """What a service spends on questions of one kind."""

    def __init__(self, pid: int, http: aiohttp.ClientSession, base: str, caller: Caller) -> None:
        self._pid, self._http, self._base, self._caller = pid, http, base, caller
        self._spent: dict[str, list[float]] = {}

    async def measure(self, questions: Sequence[Mapping[str, Any]]) -> None:
        """Look at each, and then answer it."""
        for name, look in self._looks().items():
            before = processor_seconds(self._pid)
            for one in questions * (1 if name == ANSWERING else LOOKS):
                await look(one)
            if name == ANSWERING:
                await asyncio.sleep(0.3)  # the callbacks are out
            self._spent.setdefault(name, []).append(processor_seconds(self._pid) - before)

    def _looks(self) -> Mapping[str, Callable[[Mapping[str, Any]], Awaitable[object]]]:
        http, base = self._http, self._base
        of = f"{base}/v1/suspensions"
        return {
            "showing": lambda one: seconds_of(http, f"{of}/{one['suspension_id']}", AGENT_KEY),
            "the page of": lambda one: seconds_of(http, f"{base}/q/{one['ref']}", None),
            "the timeline of": lambda one: seconds_of(http, f"{of}/{one['suspension_id']}/timeline", OPERATOR_KEY),
            ANSWERING: self._caller.answer,
        }

    def milliseconds(self, name: str) -> float:
        """Of one call, in the median round. The first one warmed up and does not count."""
        calls = AT_ONCE * (1 if name == ANSWERING else LOOKS)
        return 1000 * statistics.median(self._spent[name][1:]) / calls


async def _asked_once_and_often(
    http: aiohttp.ClientSession, config: Path, url: str, here: Around
) -> Sequence[Mapping[str, Any]]:
    """Two open questions; all their notices have arrived."""
    with serving(config):
        caller = Caller(http, url)
        await measures.until_ready(caller, time.monotonic())
        once = await caller.ask(here.callback_url, MAILBOX, timeout_seconds=86400, responders=[PERSON])
        await here.mail_to(MAILBOX)
        policy = {"max_attempts": MOST, "interval_seconds": INTERVAL}
        often = await caller.ask(
            here.callback_url, MAILBOX, retry_policy=policy, timeout_seconds=None, responders=[PERSON]
        )
        for _ in range(MOST):
            await here.mail_to(MAILBOX)
        await asyncio.sleep(0.2)  # the last one is settled
        return once, often


def _copies(url: str, asked: Sequence[Mapping[str, Any]]) -> Sequence[Sequence[Mapping[str, Any]]]:
    """The copies of each."""
    engine = sa.create_engine(url)
    wanted = sa.select(suspensions.c.id, suspensions.c.intent_id, suspensions.c.ref).order_by(suspensions.c.id)
    with engine.connect() as conn:
        found = [
            [
                {"suspension_id": row.id, "intent_id": row.intent_id, "ref": row.ref}
                for row in conn.execute(wanted.where(suspensions.c.ref.startswith(one["ref"])))
                if row.ref != one["ref"]
            ]
            for one in asked
        ]
    engine.dispose()
    return found
