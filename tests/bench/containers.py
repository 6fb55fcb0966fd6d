"""Containers: what a suspension costs with others around it, beside a lone one in the same run; reading large ones."""

from __future__ import annotations

import asyncio
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp

from core.database.database import Tx, open_database
from core.domain.intent import EdgeKind, IntentLink, IntentStatus
from core.openintent.store import intent_edges
from core.store import intents, schema
from tests.bench import measures, plans
from tests.bench.databases import DURABLE, migrated
from tests.bench.service import Caller, around, serving, write_config
from tests.bench.sheet import Sheet
from tests.postgres import postgres

FAMILY = 10_000
QUESTION = {
    "question": "Refund order 12345?",
    "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}],
    "notify_to": "sink@example.com",
}

Measure = Callable[["Place"], Awaitable[None]]


class Place:
    """A service with a family of :data:`FAMILY` in it, and the sheet."""

    def __init__(self, caller: Caller, sheet: Sheet, database: str, root: str) -> None:
        self.caller = caller
        self.sheet = sheet
        self.root = root
        self._database = database

    def at_most(self, name: str, value: float, limit: float, unit: str) -> None:
        self.sheet.at_most(f"{self._database}: {name}", value, limit, unit)

    def note(self, name: str, value: float, unit: str) -> None:
        self.sheet.note(f"{self._database}: {name}", value, unit)

    async def intent(self) -> str:
        made = await self.caller.send("POST", "/intents", {"title": "t", "status": "active"})
        return str(made["id"])

    async def suspend(self, intent_id: str) -> float:
        """How long it takes, in milliseconds."""
        return await took(self.caller.send("POST", f"/intents/{intent_id}/suspend", QUESTION))


async def took(call: Awaitable[Any]) -> float:
    started = time.monotonic()
    await call
    return 1000 * (time.monotonic() - started)


async def both(folder: Path, sheet: Sheet) -> None:
    await measure(folder, sheet, "SQLite", f"sqlite+aiosqlite:///{folder}/containers.db")
    with postgres(**DURABLE) as query:
        await measure(folder, sheet, "PostgreSQL", migrated(query, "containers"))


async def measure(folder: Path, sheet: Sheet, name: str, url: str) -> None:
    root = await family(url)
    async with around() as here, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        config, address = write_config(folder, url, here.smtp_port, name)
        with serving(config):
            place = Place(Caller(http, address), sheet, name, root)
            await measures.until_ready(place.caller, time.monotonic())
            for part in PARTS:
                await part(place)


async def family(url: str) -> str:
    """A parent and :data:`FAMILY` children, a tenth of which depends on another, straight into the database."""
    database = open_database(url)
    schema.migrate(database)
    root, ids = str(uuid.uuid4()), [str(uuid.uuid4()) for _ in range(FAMILY)]
    now = datetime.now(UTC)
    blank = intents.new(root, "t", "bench-agent", now, IntentStatus.ACTIVE)

    def lay(tx: Tx) -> None:
        intents.insert(tx, replace(blank, links=IntentLink.CHILDREN))
        for number, intent_id in enumerate(ids):
            on = (ids[number - 1],) if number % 10 == 9 else ()
            made = replace(blank, id=intent_id, parent_id=root, depends_on=on, links=IntentLink.PARENT)
            links = made.links | (IntentLink.DEPENDENCIES if on else IntentLink.NONE)
            links |= IntentLink.DEPENDENTS if number % 10 == 8 else IntentLink.NONE
            intents.insert(tx, replace(made, links=links, created_at=now + timedelta(milliseconds=number)))
            intent_edges.put(tx, intent_id, on)
        intent_edges.put(tx, root, ids, EdgeKind.CHILD)

    await database.write(lay, within=timedelta(minutes=2))
    await database.close()
    return root


# --- Graphs ---------------------------------------------------------------------------------------------------------


async def suspensions(place: Place) -> None:
    """An upstream that is suspended, beside a lone intent, in turn; others read and ask while either is."""
    for _ in range(10):  # warms up
        await place.suspend(await place.intent())
    for dependents, rounds in ((10, 5), (100, 5), (1000, 3)):
        lone, upstream, meanwhile = [], [], []
        for _ in range(rounds):
            first, second = await _upstream(place, dependents), await place.intent()
            async with _others(place, []):
                lone.append(await place.suspend(second))
            async with _others(place, meanwhile):
                upstream.append(await place.suspend(first))
        cost, alone = statistics.median(upstream), statistics.median(lone)
        place.note(f"suspend a lone intent, beside {dependents}", alone, "ms")
        place.note(f"suspend with {dependents} dependents", cost, "ms")
        place.note("p99 of other requests meanwhile", _p99(meanwhile), "ms")
        if dependents == 100:
            place.at_most("the one as a multiple of the other", cost / alone, 5, "")
        else:
            place.note("the one as a multiple of the other", cost / alone, "")


async def _upstream(place: Place, dependents: int) -> str:
    """An intent that so many active ones depend on."""
    upstream, turns = await place.intent(), asyncio.Semaphore(8)

    async def dependent() -> None:
        async with turns:
            one = await place.intent()
            await place.caller.send("POST", f"/intents/{one}/dependencies", {"dependency_id": upstream}, version=1)

    await asyncio.gather(*(dependent() for _ in range(dependents)))
    return upstream


@asynccontextmanager
async def _others(place: Place, found: list[float]) -> Any:
    """What others read and ask meanwhile; how long each takes goes into ``found``."""
    ids = [await place.intent() for _ in range(3)]
    over = asyncio.Event()

    async def go_on(intent_id: str) -> None:
        while not over.is_set():
            found.append(await took(place.caller.send("GET", f"/intents/{intent_id}")))
            found.append(await took(place.caller.send("POST", f"/intents/{intent_id}/events", {"event_type": "note"})))

    running = [asyncio.create_task(go_on(one)) for one in ids]
    await asyncio.sleep(0.02)
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*running)


def _p99(found: list[float]) -> float:
    return sorted(found)[int(0.99 * (len(found) - 1))]


async def reading(place: Place) -> None:
    """A family of :data:`FAMILY`."""
    for what, path in (
        ("a parent with its aggregate", ""),
        ("its graph", "/graph"),
        ("its children that wait", "/blocked"),
        ("1,000 children, whole", "/children"),
    ):
        times = [await took(place.caller.send("GET", f"/intents/{place.root}{path}")) for _ in range(9)]
        place.note(f"{what}, of {FAMILY} intents", statistics.median(times), "ms")


PARTS: list[Measure] = [suspensions, reading, plans.mirrored]
"""What is measured on each database. A service of its own runs for all of them."""
