"""What happens on PostgreSQL when the server is away, comes back, or asks to try again."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.database.database import Database, Tx, open_database
from core.database.postgres import FEW
from core.errors import DatabaseUnavailable, SchemaTooOld
from core.store import intents, jobs, schema
from tests.core.store_examples import an_intent, keep_intents

PATIENCE = 30.0
EVERYBODY_ELSE = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
async def pg(postgres_url: str) -> AsyncIterator[Database]:
    database = open_database(postgres_url)
    yield database
    await database.close()


def drop_connections(database: Database) -> None:
    """As a restart of the server does."""
    engine = sa.create_engine(database.engine.url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        conn.exec_driver_sql(f"SELECT pg_terminate_backend(pid) {EVERYBODY_ELSE}")
    engine.dispose()


@pytest.fixture
async def absent(tmp_path: Path) -> AsyncIterator[Database]:
    """A database whose server does not run."""
    database = open_database(f"postgresql+psycopg://handraise:secret-pw@/handraise?host={tmp_path}")
    yield database
    await database.close()


async def test_an_absent_server_is_unavailable_for_everybody(absent: Database) -> None:
    with pytest.raises(DatabaseUnavailable):
        await absent.write(lambda _tx: None)
    with pytest.raises(DatabaseUnavailable):
        await absent.read(lambda conn: intents.get(conn, "intent-1"))


async def test_an_absent_server_is_named_in_one_line_without_its_password(absent: Database) -> None:
    with pytest.raises(DatabaseUnavailable, match="can't be used") as refused:
        schema.prepare(absent)
    assert "secret-pw" not in refused.value.message
    assert "\n" not in refused.value.message


async def test_a_server_that_was_away_is_used_again_as_soon_as_it_is_back(pg: Database) -> None:
    await keep_intents(pg, an_intent())
    drop_connections(pg)
    for _ in range(30):  # each broken connection is found out once
        try:
            await keep_intents(pg, an_intent("intent-2"))
            break
        except DatabaseUnavailable:
            continue
    assert await pg.read(lambda conn: intents.get(conn, "intent-2")) is not None


async def test_a_write_that_loses_its_connection_says_so_and_leaves_nothing(pg: Database) -> None:
    def job(tx: Tx) -> None:
        intents.insert(tx, an_intent())
        drop_connections(pg)
        tx.conn.scalar(sa.text("SELECT 1"))

    with pytest.raises(DatabaseUnavailable):
        await pg.write(job)
    for _ in range(30):
        try:
            assert await pg.read(lambda conn: intents.get(conn, "intent-1")) is None
            break
        except DatabaseUnavailable:
            continue


async def test_whoever_lost_a_race_runs_again_on_what_the_winner_left(pg: Database) -> None:
    """PostgreSQL answers the loser with 40001 and expects the whole transaction once more."""
    await keep_intents(pg, an_intent())
    both_have_read = threading.Barrier(2)
    read: list[int] = []

    def job(tx: Tx) -> None:
        tx.conn.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        intent = intents.get(tx.conn, "intent-1")
        assert intent is not None
        read.append(intent.version)
        if len(read) <= 2:
            both_have_read.wait(PATIENCE)
        intents.update(tx, replace(intent, version=intent.version + 1))

    await asyncio.gather(pg.write(job), pg.write(job))
    kept = await pg.read(lambda conn: intents.get(conn, "intent-1"))
    assert kept is not None
    assert (kept.version, read) == (3, [1, 1, 2])


async def test_a_job_that_is_tried_again_leaves_the_hooks_of_its_last_run_alone(pg: Database) -> None:
    happened: list[int] = []
    runs = 0

    def job(tx: Tx) -> None:
        nonlocal runs
        runs += 1
        number = runs
        tx.after_commit(lambda: happened.append(number))
        if number == 1:
            raise sa.exc.OperationalError("SELECT 1", {}, _Deadlock())

    await pg.write(job)
    assert happened == [2]


class _Deadlock(Exception):
    sqlstate = "40P01"


async def test_what_fails_before_a_savepoint_fails_the_transaction_and_not_the_savepoint(pg: Database) -> None:
    await pg.write(lambda tx: jobs.defer(tx, "look:1", timedelta(minutes=1)))
    one = an_intent()
    await pg.write(lambda tx: intents.insert(tx, one))

    def twice(tx: Tx) -> None:
        intents.insert(tx, one)
        jobs.defer(tx, "look:1", timedelta(minutes=1))

    with pytest.raises(sa.exc.IntegrityError):
        await pg.write(twice)


async def test_a_transaction_in_which_something_failed_is_not_taken_for_committed(pg: Database) -> None:
    one = an_intent()
    await pg.write(lambda tx: intents.insert(tx, one))

    def goes_on(tx: Tx) -> None:
        with contextlib.suppress(sa.exc.IntegrityError):
            intents.insert(tx, one)

    with pytest.raises(sa.exc.InternalError):
        await pg.write(goes_on)


async def test_readers_and_writers_do_not_wait_for_each_other(pg: Database) -> None:
    await keep_intents(pg, an_intent("intent-1"), an_intent("intent-2"))
    begun, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        intents.lock(tx, "intent-1")
        begun.set()
        assert go_on.wait(PATIENCE)

    writing = asyncio.create_task(pg.write(slow))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    async with asyncio.timeout(PATIENCE):
        assert await pg.read(lambda conn: intents.get(conn, "intent-1")) is not None
        assert await pg.write(lambda tx: intents.lock(tx, "intent-2")) is not None
    go_on.set()
    await writing


async def test_nothing_is_migrated_behind_the_operators_back(empty_postgres: Database) -> None:
    with pytest.raises(SchemaTooOld, match="handraise migrate"):
        schema.prepare(empty_postgres)
    assert schema.current_revision(empty_postgres) is None


@pytest.mark.parametrize("url", ["not a url", "://", ""])
def test_a_url_that_can_not_be_read_is_refused(url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="can't be read"):
        open_database(url)


async def test_others_go_on_while_as_many_transactions_as_usually_run_wait_for_a_lock(
    pg: Database, postgres_url: str
) -> None:
    def wait(tx: Tx) -> None:
        tx.conn.execute(sa.text("LOCK TABLE sessions IN EXCLUSIVE MODE"))

    engine = sa.create_engine(postgres_url, poolclass=sa.NullPool)
    with engine.begin() as stranger:
        stranger.execute(sa.text("LOCK TABLE sessions IN EXCLUSIVE MODE"))
        waiting = [asyncio.create_task(pg.write(wait)) for _ in range(FEW)]
        await asyncio.sleep(0)  # they are submitted
        await keep_intents(pg, an_intent())
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)
    engine.dispose()
