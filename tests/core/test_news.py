"""What one process did wakes whoever waits in another, with the commit and not before (PostgreSQL)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import sqlalchemy as sa

from core.database.database import Database, Tx, open_database
from core.hub import Hub
from core.work.news import MOST_BYTES, News, payloads

PATIENCE = 30.0
EVERYBODY_ELSE = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Database]:
    database = open_database(postgres_url)
    yield database
    await database.close()


class Process:
    """What one process has for hearing and telling."""

    def __init__(self, database: Database) -> None:
        self.hub = Hub()
        self.news = News(database, self.hub, timedelta(seconds=0.2))
        self.hub.elsewhere = self.news


@pytest.fixture
async def here(database: Database) -> AsyncIterator[Process]:
    process = Process(database)
    await process.news.start()
    yield process
    await process.news.stop()


@pytest.fixture
async def there(database: Database) -> AsyncIterator[Process]:
    process = Process(database)
    await process.news.start()
    yield process
    await process.news.stop()


async def heard(told: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE):
        await told.wait()


async def test_what_is_announced_here_is_heard_here_and_there(
    database: Database, here: Process, there: Process
) -> None:
    with (
        here.hub.subscribe("susp-1") as own,
        there.hub.subscribe("susp-1") as theirs,
        there.hub.subscribe("susp-2") as another,
    ):
        await database.write(lambda tx: here.hub.announce(tx, "susp-1", "*"))
        assert own.is_set()
        await heard(theirs)
        assert not another.is_set()


async def test_what_is_undone_is_heard_nowhere(database: Database, here: Process, there: Process) -> None:
    def undone(tx: Tx) -> None:
        here.hub.announce(tx, "undone")
        raise ZeroDivisionError

    with (
        here.hub.subscribe("undone") as own,
        there.hub.subscribe("undone") as theirs,
        there.hub.subscribe("done") as done,
    ):
        with pytest.raises(ZeroDivisionError):
            await database.write(undone)
        await database.write(lambda tx: here.hub.announce(tx, "done"))
        await heard(done)
        assert (own.is_set(), theirs.is_set()) == (False, False)


async def test_after_a_lost_connection_everybody_looks_again_and_hears_on(
    database: Database, here: Process, there: Process
) -> None:
    with there.hub.subscribe("susp-1") as theirs:
        with database.engine.connect() as conn:
            conn.execute(sa.text(f"SELECT pg_terminate_backend(pid) {EVERYBODY_ELSE}"))
        await heard(theirs)
        theirs.clear()
        await database.write(lambda tx: here.hub.announce(tx, "susp-1"))
        await heard(theirs)


async def test_a_silent_connection_goes_on_hearing(database: Database, here: Process, there: Process) -> None:
    await asyncio.sleep(0.5)  # a real connection, for longer than it stays unasked
    with there.hub.subscribe("susp-1") as theirs:
        await database.write(lambda tx: here.hub.announce(tx, "susp-1"))
        await heard(theirs)


def test_many_topics_go_out_in_as_many_parts_as_they_need() -> None:
    topics = [f"{number:0200}" for number in range(100)]
    parts = list(payloads("me", topics))
    assert all(len(part.encode()) <= MOST_BYTES for part in parts)
    assert [topic for part in parts for topic in part.split(" ")[1:]] == topics
    assert {part.split(" ")[0] for part in parts} == {"me"}
