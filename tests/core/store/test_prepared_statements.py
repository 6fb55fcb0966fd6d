"""Prepared statements: on each database the same rows and the same errors as by SQLAlchemy's own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from core.store.database import Database, Tx, open_database
from core.store.prepared import Prepared
from core.store.tables import sessions
from tests.core.examples import START, after

INSERT = Prepared(sessions.insert())
BY_OWNER = Prepared(sa.select(sessions).where(sessions.c.owner == sa.bindparam("owner")).order_by(sessions.c.id))
RENAME = Prepared(
    sessions.update()
    .where(sessions.c.owner == sa.bindparam("_owner"))
    .values(owner=sa.bindparam("owner"), callback_url=None)
)


def a_session(session_id: str, owner: str = "refund-agent") -> dict[str, Any]:
    return {
        "owner": owner,
        "id": session_id,
        "callback_url": "https://agent.example/",
        "metadata": {"cart": [1, None, "ü"]},
        "created_at": START,
        "updated_at": after(hours=1),
    }


async def keep(database: Database, *kept: dict[str, Any]) -> None:
    await database.write(lambda tx: INSERT.run(tx.conn, *kept))


async def of_owner(database: Database, owner: str = "refund-agent") -> Sequence[Any]:
    return await database.read(lambda conn: BY_OWNER.all(conn, {"owner": owner}))


async def test_a_row_comes_back_as_it_went_in(database: Database) -> None:
    await keep(database, a_session("s-1"))
    [row] = await of_owner(database)
    assert row._asdict() == a_session("s-1")
    assert (row.created_at, row.metadata) == (START, {"cart": [1, None, "ü"]})


async def test_several_rows_go_in_with_one_statement(database: Database) -> None:
    await keep(database, a_session("b"), a_session("a"))
    assert [row.id for row in await of_owner(database)] == ["a", "b"]


async def test_the_first_row_or_value_is_none_where_there_is_none(database: Database) -> None:
    nobody = {"owner": "nobody"}
    assert await database.read(lambda conn: BY_OWNER.first(conn, nobody)) is None
    assert await database.read(lambda conn: BY_OWNER.scalar(conn, nobody)) is None
    assert await of_owner(database, "nobody") == []


async def test_it_tells_how_many_rows_changed_and_keeps_values_that_are_its_own(database: Database) -> None:
    await keep(database, a_session("a"), a_session("b"))
    renamed = {"_owner": "refund-agent", "owner": "other-agent"}
    assert await database.write(lambda tx: RENAME.count(tx.conn, renamed)) == 2
    assert await database.write(lambda tx: RENAME.count(tx.conn, renamed)) == 0
    assert [row.callback_url for row in await of_owner(database, "other-agent")] == [None, None]


async def test_what_the_database_refuses_is_sqlalchemys_error_without_the_values(database: Database) -> None:
    await keep(database, a_session("s-1"))
    with pytest.raises(IntegrityError) as refused:
        await keep(database, a_session("s-1"))
    assert "agent.example" not in str(refused.value)
    assert [row.id for row in await of_owner(database)] == ["s-1"]


async def test_a_value_that_is_missing_is_never_taken_for_null(database: Database) -> None:
    await keep(database, a_session("s-1"))
    lacking = {name: value for name, value in a_session("s-2").items() if name != "callback_url"}
    with pytest.raises((KeyError, sa.exc.StatementError)):
        await keep(database, a_session("s-3"), lacking)
    assert [row.id for row in await of_owner(database)] == ["s-1"]


async def test_on_sqlite_a_value_without_a_place_is_never_dropped(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    await keep(database, a_session("s-1"))
    with pytest.raises(KeyError):
        await keep(database, {**a_session("s-2"), "surplus": 1})
    assert [row.id for row in await of_owner(database)] == ["s-1"]
    await database.close()


async def test_what_was_written_is_there_for_whatever_is_read_next(database: Database) -> None:
    def job(tx: Tx) -> tuple[int, int, int]:
        INSERT.run(tx.conn, a_session("a"), a_session("b"))
        prepared = len(BY_OWNER.all(tx.conn, {"owner": "refund-agent"}))
        INSERT.run(tx.conn, a_session("c"))
        plain = tx.conn.scalar(sa.select(sa.func.count()).select_from(sessions)) or 0
        INSERT.run(tx.conn, a_session("d"))
        return prepared, plain, RENAME.count(tx.conn, {"_owner": "refund-agent", "owner": "other-agent"})

    assert await database.write(job) == (2, 3, 4)


async def test_what_is_asked_early_is_told_as_of_its_turn(database: Database) -> None:
    def job(tx: Tx) -> list[list[str]]:
        INSERT.run(tx.conn, a_session("a"))
        before = BY_OWNER.soon(tx.conn, {"owner": "refund-agent"})
        INSERT.run(tx.conn, a_session("b"))
        after = BY_OWNER.soon(tx.conn, {"owner": "refund-agent"})
        return [[row.id for row in rows()] for rows in (after, before)]

    assert await database.write(job) == [["a", "b"], ["a"]]


async def test_a_change_of_no_row_is_the_error_that_was_named_for_it_and_undoes_everything(database: Database) -> None:
    def job(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        RENAME.change(tx.conn, {"_owner": "nobody", "owner": "other-agent"}, LookupError)
        INSERT.run(tx.conn, a_session("b"))

    for _ in range(20):  # more often than there are connections
        with pytest.raises(LookupError):
            await database.write(job)
    assert await of_owner(database) == []

    def known(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        RENAME.change(tx.conn, {"_owner": "refund-agent", "owner": "other-agent"}, LookupError)

    await database.write(known)
    assert [row.id for row in await of_owner(database, "other-agent")] == ["a"]


async def test_what_fails_with_the_commit_undoes_the_transaction_and_no_other(database: Database) -> None:
    def twice(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        INSERT.run(tx.conn, a_session("a"))

    for _ in range(20):  # more often than there are connections
        with pytest.raises(IntegrityError):
            await database.write(twice)
    assert await of_owner(database) == []
    await keep(database, a_session("b"))
    assert [row.id for row in await of_owner(database)] == ["b"]


async def test_what_waits_when_a_job_fails_is_never_executed(database: Database) -> None:
    def torn(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        raise LookupError

    for _ in range(20):
        with pytest.raises(LookupError):
            await database.write(torn)
    await keep(database, a_session("b"))
    assert [row.id for row in await of_owner(database)] == ["b"]


async def test_nothing_waits_on_a_connection_that_is_not_the_stores(postgres_url: str) -> None:
    database, engine = open_database(postgres_url), sa.create_engine(postgres_url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        INSERT.run(conn, a_session("a"))
    assert [row.id for row in await of_owner(database)] == ["a"]
    await database.close()
