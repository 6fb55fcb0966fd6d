"""What goes to PostgreSQL in one pipeline: each statement fails, is planned and is answered by itself."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DataError, IntegrityError, InternalError, ProgrammingError

from core.store import deferred
from core.store.database import Database, Tx, open_database
from core.store.prepared import Prepared
from core.store.tables import sessions
from tests.core.examples import START

INSERT = Prepared(sessions.insert())
LOCK = Prepared(sa.select(sessions.c.id).with_for_update())
OWNERS = Prepared(sa.select(sessions.c.owner).order_by(sessions.c.id))
RENAME = Prepared(sessions.update().values(owner=sa.bindparam("owner")))
LATER_TABLE = Prepared(sa.select(sa.column("number", sa.Integer)).select_from(sa.table("later_table")))
MUCH = "x" * 20_000
PATIENCE = 30.0


@pytest.fixture
async def pg(postgres_url: str) -> AsyncIterator[Database]:
    database = open_database(postgres_url)
    yield database
    await database.close()


def a_session(session_id: str, owner: str = "refund-agent") -> dict[str, Any]:
    times = {"created_at": START, "updated_at": START}
    return {"owner": owner, "id": session_id, "callback_url": None, "metadata": {}, **times}


async def owners(database: Database) -> list[str]:
    return [row.owner for row in await database.read(lambda conn: OWNERS.all(conn, {}))]


async def test_what_fails_is_named_and_not_what_it_went_out_with(pg: Database) -> None:
    def twice(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"), a_session("a"))
        RENAME.count(tx.conn, {"owner": "other-agent"})

    with pytest.raises(IntegrityError) as refused:
        await pg.write(twice)
    assert "INSERT INTO sessions" in str(refused.value)
    assert await owners(pg) == []


async def test_what_did_not_change_a_row_that_it_had_to_is_not_committed_whoever_goes_on(pg: Database) -> None:
    def goes_on(tx: Tx) -> None:
        RENAME.change(tx.conn, {"owner": "other-agent"}, LookupError)
        with contextlib.suppress(LookupError):
            OWNERS.all(tx.conn, {})
        INSERT.run(tx.conn, a_session("a"))

    with pytest.raises(InternalError):
        await pg.write(goes_on)
    assert await owners(pg) == []
    await pg.write(lambda tx: INSERT.run(tx.conn, a_session("b")))
    assert await owners(pg) == ["refund-agent"]


async def test_what_is_asked_with_a_lock_is_read_when_the_lock_is_there(pg: Database) -> None:
    await pg.write(lambda tx: INSERT.run(tx.conn, a_session("a")))
    renamed, go_on = threading.Event(), threading.Event()

    def rename(tx: Tx) -> None:
        RENAME.count(tx.conn, {"owner": "other-agent"})
        renamed.set()
        assert go_on.wait(PATIENCE)

    def lock_and_read(tx: Tx) -> list[str]:
        LOCK.soon(tx.conn, {})
        reading = OWNERS.soon(tx.conn, {})
        threading.Timer(0.1, go_on.set).start()
        return [row.owner for row in reading()]

    renaming = asyncio.create_task(pg.write(rename))
    assert await asyncio.to_thread(renamed.wait, PATIENCE)
    assert await pg.write(lock_and_read) == ["other-agent"]
    await renaming


async def test_a_value_that_can_not_be_sent_fails_at_its_statement_and_loses_no_other(pg: Database) -> None:
    def job(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        with pytest.raises(DataError):
            INSERT.run(tx.conn, a_session("b", owner="nul\0"))

    await pg.write(job)
    assert await owners(pg) == ["refund-agent"]


async def test_more_than_the_line_takes_at_once_is_sent_and_answered(pg: Database) -> None:
    def job(tx: Tx) -> int:
        INSERT.run(tx.conn, *(a_session(f"s-{number:04}", owner=MUCH) for number in range(500)))
        return RENAME.count(tx.conn, {"owner": "refund-agent"})

    assert await pg.write(job) == 500
    assert await owners(pg) == ["refund-agent"] * 500


async def test_a_long_answer_is_read_while_more_is_sent(pg: Database) -> None:
    """The server does not take what comes next before its answer is read."""
    reading = OWNERS.statement.compile(dialect=pg.engine.dialect)

    def job(tx: Tx) -> int:
        INSERT.run(tx.conn, *(a_session(f"s-{number:04}", owner=MUCH) for number in range(100)))
        for _ in range(50):
            deferred.later(tx.conn, str(reading), [])
        INSERT.run(tx.conn, *(a_session(f"t-{number:04}", owner=MUCH) for number in range(400)))
        return RENAME.count(tx.conn, {"owner": "refund-agent"})

    assert await pg.write(job) == 500


async def test_what_can_not_be_planned_yet_is_planned_once_it_can(pg: Database) -> None:
    for _ in range(20):  # more often than there are connections
        with pytest.raises(ProgrammingError):
            await pg.write(lambda tx: LATER_TABLE.all(tx.conn, {}))
    await pg.write(lambda tx: tx.conn.execute(sa.text("CREATE TABLE later_table AS SELECT 7 AS number")))
    for _ in range(20):
        assert await pg.write(lambda tx: LATER_TABLE.scalar(tx.conn, {})) == 7


async def test_a_statement_is_planned_once_for_a_connection(pg: Database) -> None:
    planned = sa.text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO sessions%'")

    def job(tx: Tx) -> Any:
        INSERT.run(tx.conn, a_session("a"), a_session("b"))
        INSERT.run(tx.conn, a_session("c"))
        return tx.conn.scalar(planned)

    assert await pg.write(job) == 1


async def test_what_was_planned_outlives_a_transaction_that_is_undone(pg: Database) -> None:
    """The driver plans for itself what comes six times, and has the server forget every plan with a ROLLBACK."""

    def fails(tx: Tx) -> None:
        OWNERS.all(tx.conn, {})
        for _ in range(7):
            tx.conn.execute(sa.text("SELECT 1"))
        raise LookupError

    for _ in range(20):  # more often than there are connections
        with pytest.raises(LookupError):
            await pg.write(fails)
    await pg.write(lambda tx: INSERT.run(tx.conn, a_session("a")))
    for _ in range(20):
        assert len(await pg.write(lambda tx: OWNERS.all(tx.conn, {}))) == 1
