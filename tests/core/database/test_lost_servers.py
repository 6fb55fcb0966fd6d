"""A server that no longer serves us, though its connections stand: all of them are made anew.

A session that takes no writes stands for a connection to a server that has been handed over to another one; new
connections lead to the latter. ``tests/journeys/kills/test_failover.py`` has two real servers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import sqlalchemy as sa

from core.database import postgres
from core.database.database import Database, Tx, open_database
from core.database.locks import LockSlots
from core.database.postgres import MOST
from core.errors import DatabaseUnavailable
from core.store import intents
from tests.core.store_examples import an_intent, keep_intents
from tests.patience import PATIENCE

READ_ONLY = sa.text("SELECT set_config('default_transaction_read_only', 'on', false)")
PROCESS = sa.text("SELECT pg_backend_pid()")
LOCKS = sa.text("SELECT pid FROM pg_locks WHERE locktype = 'advisory'")


@pytest.fixture
async def pg(postgres_url: str) -> AsyncIterator[Database]:
    database = open_database(postgres_url)
    yield database
    await database.close()


async def everywhere(database: Database, statement: sa.TextClause) -> tuple[set[int], set[int]]:
    """Execute ``statement`` on every connection that writes, and on each that reads; their processes."""
    writers, readers = threading.Barrier(MOST), threading.Barrier(4)

    def executed(conn: sa.Connection, together: threading.Barrier) -> Any:
        together.wait(PATIENCE)
        conn.execute(statement)
        return conn.scalar(PROCESS)

    writing = [database.write(lambda tx: executed(tx.conn, writers)) for _ in range(MOST)]
    reading = [database.read(lambda conn: executed(conn, readers)) for _ in range(4)]
    return set(await asyncio.gather(*writing)), set(await asyncio.gather(*reading))


async def test_what_is_written_on_a_server_that_takes_no_writes_any_more_is_written_on_the_one_that_does(
    pg: Database,
) -> None:
    await everywhere(pg, READ_ONLY)
    for number in range(2 * MOST):
        await keep_intents(pg, an_intent(f"intent-{number}"))
    assert await pg.read(lambda conn: intents.get(conn, "intent-0")) is not None


async def test_who_reads_leaves_that_server_with_the_first_who_writes(pg: Database) -> None:
    """It would show for ever what was there before."""
    _, reading = await everywhere(pg, READ_ONLY)
    await keep_intents(pg, an_intent())
    now = {await pg.read(lambda conn: conn.scalar(PROCESS)) for _ in range(20)}
    assert not now & reading


async def test_who_only_reads_leaves_that_server_by_asking_it_now_and_then(
    pg: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, reading = await everywhere(pg, READ_ONLY)
    monkeypatch.setattr(postgres, "_ASK_AFTER", 0.0)
    now = {await pg.read(lambda conn: conn.scalar(PROCESS)) for _ in range(20)}
    assert not now & reading


@pytest.mark.parametrize("asked", ["soon", "seldom"])
async def test_what_there_is_can_be_read_while_no_server_takes_writes_each_time_on_a_new_connection(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(postgres, "_ASK_AFTER", 0.0 if asked == "soon" else 3600.0)
    url = sa.make_url(postgres_url).update_query_dict({"options": "-c default_transaction_read_only=on"})
    database = open_database(url.render_as_string(hide_password=False))
    used = []
    for _ in range(5):
        assert await database.read(lambda conn: intents.get(conn, "intent-0")) is None
        used.append(await database.read(lambda conn: conn.scalar(PROCESS)))
    await database.close()
    assert len(set(used)) == 5  # whoever comes next may be led to one that does


async def test_a_connection_that_was_in_use_when_the_others_were_let_go_is_closed_when_it_comes_back(
    pg: Database, postgres_url: str
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(conn: sa.Connection) -> Any:
        begun.set()
        assert go_on.wait(PATIENCE)
        return conn.scalar(PROCESS)

    reading = asyncio.create_task(pg.read(slow))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    await pg.write(lambda tx: tx.conn.execute(READ_ONLY))
    await keep_intents(pg, an_intent())
    go_on.set()
    left = sa.text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid").bindparams(pid=await reading)
    stranger = sa.create_engine(postgres_url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(_scalar, stranger, left):
            await asyncio.sleep(0.05)


def _scalar(engine: sa.Engine, statement: sa.TextClause) -> Any:
    with engine.connect() as conn:
        return conn.scalar(statement)


async def test_a_statement_of_sqlalchemys_own_way_leaves_that_server_too(pg: Database) -> None:
    writing, reading = await everywhere(pg, READ_ONLY)
    await pg.write(lambda tx: tx.conn.execute(sa.text("DELETE FROM intents")))
    assert not {await pg.write(lambda tx: tx.conn.scalar(PROCESS)) for _ in range(20)} & writing
    assert not {await pg.read(lambda conn: conn.scalar(PROCESS)) for _ in range(20)} & reading


async def test_a_job_is_not_repeated_for_ever_if_no_server_takes_writes(postgres_url: str) -> None:
    url = sa.make_url(postgres_url).update_query_dict({"options": "-c default_transaction_read_only=on"})
    database = open_database(url.render_as_string(hide_password=False))
    begun: list[Tx] = []

    def job(tx: Tx) -> None:
        begun.append(tx)
        intents.insert(tx, an_intent())

    with pytest.raises(DatabaseUnavailable, match="it takes no writes"):
        await database.write(job)
    await database.close()
    assert len(begun) == 2


async def test_of_a_server_that_was_shut_down_one_call_is_told_and_everybody_else_is_connected_anew(
    pg: Database, postgres_url: str
) -> None:
    await everywhere(pg, PROCESS)
    stranger = sa.create_engine(postgres_url, poolclass=sa.NullPool)
    with stranger.begin() as conn:
        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        conn.exec_driver_sql(f"SELECT pg_terminate_backend(pid, 5000) {others}")
    with pytest.raises(DatabaseUnavailable):
        await keep_intents(pg, an_intent())
    for number in range(MOST):
        await keep_intents(pg, an_intent(f"intent-{number}"))
        assert await pg.read(lambda conn: intents.get(conn, "intent-0")) is not None


async def test_a_lock_on_a_server_that_takes_no_writes_any_more_is_taken_anew_on_the_one_that_does(
    pg: Database,
) -> None:
    slots = LockSlots(pg, 4711, 1)
    place = await slots.take()
    assert place is not None
    assert place.session is not None
    before = place.session.scalar(PROCESS)
    place.session.execute(READ_ONLY)
    assert await slots.holds(place)
    [holder] = await pg.read(lambda conn: conn.scalars(LOCKS).all())
    assert holder != before
    await slots.give_back(place)


async def test_a_lock_that_somebody_else_has_on_the_server_that_takes_writes_is_lost(
    pg: Database, postgres_url: str
) -> None:
    other = open_database(postgres_url)
    ours, theirs = LockSlots(pg, 4711, 1), LockSlots(other, 4711, 1)
    place = await ours.take()
    assert place is not None
    assert place.session is not None
    place.session.exec_driver_sql("SELECT pg_advisory_unlock_all()")  # as if it were on another server
    place.session.execute(READ_ONLY)
    taken = await theirs.take()
    assert taken is not None
    assert not await ours.holds(place)
    await theirs.give_back(taken)
    await other.close()
