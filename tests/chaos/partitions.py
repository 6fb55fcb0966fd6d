"""``make chaos ARGS=--partitions``: a line to PostgreSQL that dies without a word, for one of two replicas.

    replica "cut off" ──▶ the proxy ──▶ PostgreSQL ◀── replica "whole"
    replica "told"    ──▶ the proxy

Questions with long ladders are asked at both. Then the proxy is slow, resets every connection, holds every answer back,
and at last is half open: it acknowledges everything and forwards nothing. All the while both are asked more and asked
whether they are ready; "told" hears SIGTERM in the middle of it. ``warm`` finds a pool full of connections that have
just been used, ``cold`` one whose connections were reset, so that new ones have to be made. Afterwards
``partition_invariants`` judges.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa

from core.database.database import open_database
from core.store import schema
from core.store.tables import events, outbox, suspensions
from tests.chaos.partition_invariants import Attempt, Create, Evidence, Glance, Silence
from tests.chaos.proxy import Manner, Proxy
from tests.chaos.records import now
from tests.postgres import cluster
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.world import KEYS, config

GIVEN_UP = 60.0
"""Seconds after which nobody waits for a create any more: it counts as never answered."""

_STARTS_WITHIN = 120.0
_WELL_WITHIN = 30.0
_AGENT = {"X-API-Key": KEYS["agent"]}
_INTERVAL = 5
"""Seconds between two attempts of a question: while the line is dead one of them is due all the time."""
_LADDERS = 10


@dataclass(frozen=True, slots=True)
class Phase:
    """The proxy behaves like this for so many seconds; without any, it cuts every connection and is well."""

    manner: Manner
    seconds: float


LONG = (
    Phase(Manner.SLOW, 10),
    Phase(Manner.WELL, 0),
    Phase(Manner.STUCK, 30),
    Phase(Manner.HALF_OPEN, 150),
)
SHORT = (Phase(Manner.HALF_OPEN, 22),)


@dataclass(slots=True)
class Partition:
    """One run. ``pool`` is ``warm`` or ``cold``."""

    proxy: Proxy
    pool: str
    whole: ServiceProcess
    cut_off: ServiceProcess
    told: ServiceProcess
    http: httpx.AsyncClient
    evidence: Evidence = field(default_factory=Evidence)
    _asking: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self, phases: Sequence[Phase]) -> None:
        together = 3 * _LADDERS
        ladder = {"max_attempts": 50, "interval_seconds": _INTERVAL}
        for _ in range(_LADDERS):
            await self._ask("whole", self.whole, retry_policy=ladder, timeout_seconds=50 * _INTERVAL)
            await asyncio.sleep(_INTERVAL / _LADDERS)
        for phase in phases:
            await asyncio.gather(*(self._ask("cut off", self.cut_off) for _ in range(together)))  # a warm pool
            await self._go_through(phase)
        await asyncio.gather(*self._asking)

    async def _go_through(self, phase: Phase) -> None:
        glances = asyncio.create_task(self._glance())
        asks = asyncio.create_task(self._keep_asking())
        silence = Silence(phase.manner.value, self.pool, now(), time.monotonic())
        self.evidence.silences.append(silence)
        self.proxy.be(phase.manner)
        if self.pool == "cold" or not phase.seconds:
            self.proxy.cut()
        if phase.manner is Manner.HALF_OPEN:
            await asyncio.sleep(phase.seconds / 2)
            await self._tell()
        await asyncio.sleep(max(0.0, silence.began + phase.seconds - time.monotonic()))
        self.proxy.be(Manner.WELL)
        silence.ended = time.monotonic()
        silence.well = await self._well_again()
        for task in (asks, glances):
            task.cancel()
        await asyncio.gather(asks, glances, return_exceptions=True)

    async def _tell(self) -> None:
        """SIGTERM to a replica whose database says nothing."""
        began = time.monotonic()
        try:
            status: int | None = await self.told.terminate()
        except TimeoutError:
            status = None
        self.evidence.end = (time.monotonic() - began, status)

    async def _well_again(self) -> float | None:
        """Seconds until it is ready and takes a question, ``None`` where that takes too long."""
        began = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WELL_WITHIN):
                while not (await self._is_ready(self.cut_off) and await self._takes(self.cut_off)):
                    await asyncio.sleep(0.1)
                return time.monotonic() - began
        return None

    async def _is_ready(self, process: ServiceProcess) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return (await self.http.get(f"{process.url}/readyz", timeout=2)).status_code == 200
        return False

    async def _takes(self, process: ServiceProcess) -> bool:
        created = await self._ask("well again", process)
        return created.status == 201

    async def _keep_asking(self) -> None:
        """Both, four times a second, whether the last one was answered or not."""
        while True:
            for name, process in (("cut off", self.cut_off), ("whole", self.whole)):
                task = asyncio.create_task(self._ask_beside(name, process))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
            await asyncio.sleep(0.25)

    async def _ask_beside(self, name: str, process: ServiceProcess) -> None:
        await self._ask(name, process)

    async def _ask(self, name: str, process: ServiceProcess, **more: Any) -> Create:
        body = {"question": "Go on?", "response_type": "confirm", "timeout_seconds": 3600, **more}
        began, status, known = time.monotonic(), None, None
        with contextlib.suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(GIVEN_UP):
                response = await self.http.post(f"{process.url}/v1/suspensions", json=body, headers=_AGENT)
                status = response.status_code
                known = response.json().get("suspension_id")
        created = Create(name, began, time.monotonic() - began, status, known)
        self.evidence.creates.append(created)
        return created

    async def _glance(self) -> None:
        """What the replica that is cut off says of itself."""
        while True:
            at = time.monotonic()
            ready, alive = await asyncio.gather(self._status("/readyz"), self._status("/healthz"))
            self.evidence.glances.append(Glance(at, ready, alive))
            await asyncio.sleep(0.25)

    async def _status(self, path: str) -> int | None:
        with contextlib.suppress(httpx.HTTPError):
            return (await self.http.get(f"{self.cut_off.url}{path}", timeout=5)).status_code
        return None


async def partition(pool: str, phases: Sequence[Phase]) -> Evidence:
    """One run from the first process to the last; the evidence of it."""
    async with _running(pool) as (partition, url):
        await partition.run(phases)
        await asyncio.sleep(1)
        _read(url, partition.evidence)
        return partition.evidence


@asynccontextmanager
async def _running(pool: str) -> AsyncIterator[tuple[Partition, str]]:
    folder = Path(tempfile.mkdtemp(prefix="handraise-partition-"))
    async with AsyncExitStack() as stack:
        server = stack.enter_context(cluster(synchronous_commit="on"))
        proxy = Proxy(server.sockets)
        stack.enter_context(proxy.up())
        url = f"postgresql+psycopg://postgres@/postgres{server.query}"
        database = open_database(url)
        schema.migrate(database)
        database.engine.dispose()
        mailbox = Mailbox()
        await mailbox.start()
        stack.push_async_callback(mailbox.stop)
        processes = {}
        for name, where in {"whole": url, "cut_off": proxy.url(), "told": proxy.url()}.items():
            process = service_process(folder / name, _settings(where, mailbox))
            processes[name] = await stack.enter_async_context(process)
        for process in processes.values():  # one after another: together they would share a busy machine's cores
            await process.start(patience=_STARTS_WITHIN)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        http = httpx.AsyncClient(trust_env=False, timeout=GIVEN_UP, limits=limits)
        await stack.enter_async_context(http)
        yield Partition(proxy, pool, processes["whole"], processes["cut_off"], processes["told"], http), url


def _settings(url: str, mailbox: Mailbox) -> dict[str, Any]:
    """By mail alone, and everything that has a default left at it."""
    email = {
        "smtp_url": mailbox.smtp_url,
        "from": "handraise@handraise.example",
        "default_to": ["alice@example.com"],
    }
    return config(url, {"email": email}) | {"suspension": {"default_channel": "email"}}


def _read(url: str, evidence: Evidence) -> None:
    """When each attempt was made and its mail delivered, beside when it was due; and which questions are there."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        asked: dict[str, datetime] = {}
        for row in conn.execute(sa.select(suspensions.c.id, suspensions.c.intent_id, suspensions.c.suspended_at)):
            asked[row.intent_id] = row.suspended_at
            evidence.kept.add(row.id)
        delivered = {
            (row.suspension_id, row.attempt): row.settled_at
            for row in conn.execute(sa.select(outbox).where(outbox.c.kind == "notify", outbox.c.status == "delivered"))
        }
        renotified = sa.select(events).where(events.c.type == "intent.suspension_renotified")
        ids = {row.intent_id: row.id for row in conn.execute(sa.select(suspensions.c.id, suspensions.c.intent_id))}
        for row in conn.execute(renotified):
            number = int(row.payload["attempt"])
            due = asked[row.intent_id].timestamp() + (number - 1) * _INTERVAL
            sent = delivered.get((ids[row.intent_id], number))
            evidence.attempts.append(
                Attempt(
                    ids[row.intent_id],
                    number,
                    row.created_at.timestamp() - due,
                    None if sent is None else sent.timestamp() - due,
                )
            )
    engine.dispose()
