"""What SQLite alone promises: one writer, shared commits, and a commit that survives a power cut (DESIGN.md)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.database.database import Database, Tx, open_database
from core.errors import DatabaseUnavailable
from core.store import intents, schema
from tests.core.store_examples import an_intent, keep_intents
from tests.statements import writing

PATIENCE = 30.0


@pytest.fixture
async def sqlite(sqlite_url: str) -> AsyncIterator[Database]:
    database = open_database(sqlite_url)
    yield database
    await database.close()


def file_of(database: Database) -> str:
    assert database.path is not None
    return str(database.path)


@pytest.mark.parametrize(("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)])
async def test_every_connection_survives_a_power_cut(sqlite: Database, pragma: str, value: Any) -> None:
    def asked(conn: sa.Connection) -> Any:
        return conn.exec_driver_sql(f"PRAGMA {pragma}").scalar()

    assert await sqlite.read(asked) == value
    assert await sqlite.write(lambda tx: asked(tx.conn)) == value


async def test_a_crowd_shares_one_commit(sqlite: Database) -> None:
    statements: list[str] = []
    (await writing(sqlite)).set_trace_callback(statements.append)
    arrived = threading.Event()

    async def let_go() -> None:
        arrived.set()

    crowd = [sqlite.write(lambda tx, n=n: intents.insert(tx, an_intent(f"intent-{n}"))) for n in range(40)]
    await asyncio.gather(sqlite.write(lambda _tx: arrived.wait(PATIENCE)), *crowd, let_go())
    assert statements.count("COMMIT") == 1
    assert statements.count("BEGIN IMMEDIATE") == 1


async def test_the_writer_takes_its_connection_once_and_anew_after_a_failed_commit(sqlite: Database) -> None:
    taken: list[Any] = []
    sa.event.listen(sqlite.engine, "checkout", lambda driver, *_: taken.append(driver))
    for number in range(3):
        await keep_intents(sqlite, an_intent(f"intent-{number}"))
    assert len(taken) == 1
    with pytest.raises(sqlite3.IntegrityError):
        await sqlite.write(_orphaned)
    for number in range(3, 6):
        await keep_intents(sqlite, an_intent(f"intent-{number}"))
    assert len(taken) == 2


def _orphaned(tx: Tx) -> None:
    """Breaks at the commit alone."""
    tx.conn.exec_driver_sql("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
    tx.conn.exec_driver_sql("CREATE TABLE children (p REFERENCES parents DEFERRABLE INITIALLY DEFERRED)")
    tx.conn.exec_driver_sql("INSERT INTO children VALUES (1)")


async def test_a_transaction_of_the_kept_connection_is_over_for_sqlalchemy_too(sqlite: Database) -> None:
    await sqlite.write(lambda tx: tx.conn.execute(sa.text("SELECT 1")).all())
    assert not await sqlite.write(lambda tx: tx.conn.in_transaction())


async def test_an_endless_crowd_is_committed_in_parts(sqlite: Database) -> None:
    statements: list[str] = []
    (await writing(sqlite)).set_trace_callback(statements.append)
    await asyncio.gather(*(sqlite.write(lambda _tx: None) for _ in range(200)))
    assert statements.count("COMMIT") >= 200 / 64


async def test_readers_do_not_wait_for_the_writer(sqlite: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_tx: Any) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    under_way = asyncio.create_task(sqlite.write(slow))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    async with asyncio.timeout(PATIENCE):
        assert await sqlite.read(lambda conn: intents.get(conn, "intent-1")) is None
    go_on.set()
    await under_way


async def test_whoever_writes_keeps_the_pages_that_it_has_written(sqlite: Database) -> None:
    """Every connection forgets its pages when another one has written."""
    wrote, read = set(), set()
    for number in range(10):
        wrote.add(await sqlite.write(lambda tx, number=number: _inserted(tx, number)))
        read |= {*await asyncio.gather(*(sqlite.read(_connection) for _ in range(6)))}
    assert len(wrote) == 1
    assert not wrote & read


def _inserted(tx: Tx, number: int) -> Any:
    intents.insert(tx, an_intent(f"intent-{number}"))
    return _connection(tx.conn)


def _connection(conn: sa.Connection) -> Any:
    return conn.connection.driver_connection


async def test_a_file_locked_by_another_program_is_unavailable_and_then_again_in_order(sqlite: Database) -> None:
    (await writing(sqlite)).execute("PRAGMA busy_timeout=20")
    other = sqlite3.connect(file_of(sqlite), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseUnavailable):
        await keep_intents(sqlite, an_intent())
    other.execute("ROLLBACK")
    other.close()
    await keep_intents(sqlite, an_intent())
    assert await sqlite.read(lambda conn: intents.get(conn, "intent-1")) is not None


async def test_a_commit_that_fails_is_told_to_everybody_in_it_and_the_writer_lives_on(sqlite: Database) -> None:
    """A deferred foreign key breaks only at the commit, as a full disk would."""
    happened: list[str] = []

    def spoil(tx: Any) -> None:
        _orphaned(tx)
        tx.after_commit(lambda: happened.append("never"))

    def neighbour(tx: Any) -> None:
        intents.insert(tx, an_intent())
        tx.after_commit(lambda: happened.append("never"))

    arrived = threading.Event()

    async def let_go() -> None:
        arrived.set()

    blocker = sqlite.write(lambda _tx: arrived.wait(PATIENCE))
    writes = [blocker, sqlite.write(spoil), sqlite.write(neighbour), let_go()]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(result) for result in results] == [*[sqlite3.IntegrityError] * 3, type(None)]
    assert happened == []
    await keep_intents(sqlite, an_intent())


async def test_closing_ends_even_where_the_last_commit_fails(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    begun, go_on = threading.Event(), threading.Event()

    def spoil(tx: Any) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        _orphaned(tx)

    under_way = asyncio.create_task(database.write(spoil))
    assert await asyncio.to_thread(begun.wait, PATIENCE)

    async def let_go() -> None:
        go_on.set()

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(database.close(), let_go())
    with pytest.raises(sqlite3.IntegrityError):
        await under_way


@pytest.mark.parametrize("url", ["sqlite+aiosqlite://", "sqlite+aiosqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="would lose every question"):
        open_database(url)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="nowhere"):
        open_database(f"sqlite+aiosqlite:///{tmp_path}/nowhere/handraise.db")


@pytest.mark.parametrize("content", [b"this is no database, but long enough to be looked at" * 100, None])
async def test_what_is_no_database_is_refused_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "handraise.db"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    database = open_database(f"sqlite+aiosqlite:///{path}")
    with pytest.raises(DatabaseUnavailable, match="can't be used") as refused:
        schema.prepare(database)
    assert "\n" not in refused.value.message
    await database.close()


async def test_a_file_that_can_not_be_opened_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "handraise.db").mkdir()
    database = open_database(f"sqlite+aiosqlite:///{tmp_path}/handraise.db")
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            await database.write(lambda _tx: None)
        with pytest.raises(DatabaseUnavailable):
            await database.read(lambda conn: intents.get(conn, "intent-1"))
    await database.close()
