"""Who is seen alive, on both databases."""

from __future__ import annotations

from datetime import timedelta

from core.database.database import Database
from core.store import workers
from core.store.workers import Seen
from tests.core.examples import START

SECOND = timedelta(seconds=1)


async def test_nobody_was_ever_alive(database: Database) -> None:
    assert await database.read(workers.latest_beat) is None


async def test_the_latest_beat_of_anybody_counts(database: Database) -> None:
    await database.write(lambda tx: workers.beat(tx, "one", "worker", START))
    await database.write(lambda tx: workers.beat(tx, "two", "api,worker", START + SECOND))
    await database.write(lambda tx: workers.beat(tx, "one", "worker", START + 3 * SECOND))
    assert await database.read(workers.latest_beat) == START + 3 * SECOND


async def test_a_clock_that_is_set_back_makes_no_beat_earlier(database: Database) -> None:
    await database.write(lambda tx: workers.beat(tx, "one", "worker", START))
    await database.write(lambda tx: workers.beat(tx, "one", "worker", START - 60 * SECOND))
    assert await database.read(workers.latest_beat) == START


async def test_every_beat_counts_even_where_the_hosts_clock_was_set_back(database: Database) -> None:
    for at in (START, START - 60 * SECOND, START - 30 * SECOND):
        await database.write(lambda tx, at=at: workers.beat(tx, "one", "worker", at))
    assert await database.read(workers.seen) == [Seen("one", 3, START)]


async def test_who_has_gone_is_forgotten_but_for_the_newest_beat(database: Database) -> None:
    for number, name in enumerate(("one", "two", "three")):
        at = START + number * SECOND
        await database.write(lambda tx, name=name, at=at: workers.beat(tx, name, "worker", at))
    await database.write(lambda tx: workers.forget(tx, ["one", "two", "three"]))
    assert [worker.id for worker in await database.read(workers.seen)] == ["three"]
