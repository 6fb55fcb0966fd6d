"""Who is seen alive, on both databases."""

from __future__ import annotations

from datetime import timedelta

from core.store import workers
from core.store.database import Database
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


async def test_the_silent_are_told_apart_and_forgotten_but_for_the_newest(database: Database) -> None:
    for number, name in enumerate(("one", "two", "three")):
        at = START + number * SECOND
        await database.write(lambda tx, name=name, at=at: workers.beat(tx, name, "worker", at))
    silent = await database.read(lambda conn: workers.silent_since(conn, START + 2 * SECOND))
    assert sorted(silent) == ["one", "two"]
    await database.write(lambda tx: workers.forget(tx, ["one", "two", "three"]))
    left = await database.read(lambda conn: workers.silent_since(conn, START + 60 * SECOND))
    assert left == ["three"]
