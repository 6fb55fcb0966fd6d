"""What the engine of many processes promises beyond the port: jobs in the transaction, few of them, none lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from core.database.database import Database, Tx, open_database
from core.hub import Hub
from core.store import intents
from core.work.distributed import DistributedWork
from core.work.news import News
from tests.core.store_examples import an_intent

PATIENCE = 30.0
NEVER = timedelta(hours=1)


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


CLOCK = RealClock()


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Database]:
    database = open_database(postgres_url)
    yield database
    await database.close()


def a_work(database: Database, hub: Hub | None = None, stalled: timedelta = NEVER) -> DistributedWork:
    return DistributedWork(database, CLOCK, hub or Hub(), NEVER, stalled)


async def count(database: Database, table: str) -> int:
    found: int = await database.read(lambda conn: conn.scalar(sa.text(f"SELECT count(*) FROM {table}")))
    return found


class Looker:
    def __init__(self) -> None:
        self.looks = 0
        self._looked = asyncio.Event()

    async def __call__(self) -> None:
        self.looks += 1
        self._looked.set()

    async def until(self, looks: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.looks < looks:
                self._looked.clear()
                await self._looked.wait()


async def test_two_transactions_that_want_the_same_job_both_stand(database: Database) -> None:
    at = CLOCK.now() + timedelta(seconds=20)
    one, two = a_work(database), a_work(database)
    written, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        intents.insert(tx, an_intent("intent-1"))
        one.within(tx, at)
        written.set()
        assert go_on.wait(PATIENCE)

    def quick(tx: Tx) -> None:
        intents.insert(tx, an_intent("intent-2"))
        two.within(tx, at)
        two.within(tx, at + timedelta(seconds=1))

    first = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(written.wait, PATIENCE)
    second = asyncio.create_task(database.write(quick))
    await asyncio.sleep(0.2)  # PostgreSQL makes it wait for the first one's job; nobody says so
    go_on.set()
    await asyncio.gather(first, second)
    assert (await count(database, "intents"), await count(database, "procrastinate_jobs")) == (2, 2)


async def test_many_rows_that_are_due_together_are_one_job(database: Database) -> None:
    at = datetime.fromtimestamp(int(CLOCK.now().timestamp()) + 20, UTC)
    works = [a_work(database), a_work(database)]
    for number in range(20):
        due = at - timedelta(milliseconds=20 * number)
        await database.write(lambda tx, due=due, work=works[number % 2]: work.within(tx, due))
    assert await count(database, "procrastinate_jobs") == 1


async def test_what_is_due_beyond_the_horizon_has_no_job_yet(database: Database) -> None:
    work = a_work(database)
    for hours in (1, 24, 24 * 365):
        at = CLOCK.now() + timedelta(hours=hours)
        await database.write(lambda tx, at=at: work.within(tx, at))
    assert await count(database, "procrastinate_jobs") == 0


async def test_a_job_that_is_done_leaves_nothing_behind(database: Database) -> None:
    work, look = a_work(database), Looker()
    await database.write(lambda tx: work.within(tx, CLOCK.now()))
    await work.start(look)
    await look.until(2)
    async with asyncio.timeout(PATIENCE):
        while await count(database, "procrastinate_jobs") + await count(database, "procrastinate_events"):
            await asyncio.sleep(0.02)
    await work.stop()
    assert await count(database, "procrastinate_workers") == 0


async def test_what_one_process_writes_another_looks_at_at_once(database: Database) -> None:
    hubs = [Hub(), Hub()]
    news = [News(database, hub) for hub in hubs]
    for hub, told in zip(hubs, news, strict=True):
        hub.elsewhere = told
        await told.start()
    writing, working, look = a_work(database, hubs[0]), a_work(database, hubs[1]), Looker()
    await working.start(look)
    await look.until(1)
    await database.write(lambda tx: writing.within(tx, CLOCK.now()))
    await look.until(2)
    jobs = await count(database, "procrastinate_jobs WHERE status = 'todo'")
    await working.stop()
    for told in news:
        await told.stop()
    assert jobs == 1  # the one that stands behind it has not come yet


async def test_a_dead_workers_job_is_done_by_a_living_one(database: Database) -> None:
    def left_behind(tx: Tx) -> None:
        worker = "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id"
        gone = tx.conn.scalar(sa.text(worker))
        job = "INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id) VALUES (:q, :t, 'doing', :w)"
        tx.conn.execute(sa.text(job), {"q": "handraise", "t": "handraise.look", "w": gone})

    await database.write(left_behind)
    work, look = a_work(database, stalled=timedelta(seconds=1)), Looker()
    await work.start(look)
    await look.until(2)
    await work.stop()
    assert await count(database, "procrastinate_jobs") == 0
