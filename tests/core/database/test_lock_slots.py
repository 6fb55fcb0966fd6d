"""Places that all processes of an installation share: so many, each had by one, and free when whoever has it dies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from core.database.database import Database, open_database
from core.database.locks import LockSlot, LockSlots

NAME = 0x54657374


@pytest.fixture
def replicas(postgres_url: str) -> Iterator[list[Database]]:
    """Two processes' ways to one PostgreSQL."""
    databases = [open_database(postgres_url) for _ in range(2)]
    yield databases
    for database in databases:
        database.engine.dispose()


async def all_of(places: LockSlots) -> list[LockSlot]:
    taken = []
    while (place := await places.take()) is not None:
        taken.append(place)
    return taken


def kill_sessions(database: Database, but: Database) -> None:
    """What the server does with the sessions of a process that was killed."""
    with but.engine.connect() as conn:
        mine = conn.scalar(sa.select(sa.func.pg_backend_pid()))
        conn.execute(
            sa.text("SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND pid <> :pid"),
            {"pid": mine},
        )


async def test_all_together_have_no_more_than_there_are(replicas: list[Database]) -> None:
    one, two = (LockSlots(database, NAME, 3) for database in replicas)
    first = await one.take()
    rest = await all_of(two)
    assert first is not None
    assert sorted([first.number, *(place.number for place in rest)]) == [0, 1, 2]
    assert await one.take() is None


async def test_a_place_that_is_given_back_is_free(replicas: list[Database]) -> None:
    one, two = (LockSlots(database, NAME, 1) for database in replicas)
    [place] = await all_of(one)
    assert await two.take() is None
    await one.give_back(place)
    assert await two.take() is not None


async def test_the_places_of_a_dead_process_are_free_and_it_does_not_keep_them(replicas: list[Database]) -> None:
    one, two = (LockSlots(database, NAME, 2) for database in replicas)
    lost, kept = await all_of(one)
    kill_sessions(replicas[0], but=replicas[1])
    assert await two.take() is not None
    assert not await one.holds(lost)
    assert await one.holds(kept)
    assert await two.take() is None


async def test_a_place_stays_ours_while_the_database_is_away(replicas: list[Database]) -> None:
    places = LockSlots(replicas[0], NAME, 1)
    [place] = await all_of(places)
    assert await places.holds(place)
    kill_sessions(replicas[0], but=replicas[1])
    gone = sa.create_engine("postgresql+psycopg://postgres@/gone?host=/nowhere")
    there, replicas[0].engine = replicas[0].engine, gone
    assert await places.holds(place)
    assert await places.take() is None
    replicas[0].engine = there
    assert await places.holds(place)
    assert await LockSlots(replicas[1], NAME, 1).take() is None


async def test_on_sqlite_the_one_process_has_them_all(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    places = LockSlots(database, NAME, 2)
    taken = await all_of(places)
    assert len(taken) == 2
    assert all([await places.holds(place) for place in taken])
    await places.give_back(taken[0])
    assert await places.take() is not None
    await database.close()
