"""Prepared statements: on each database the same rows and the same errors as by SQLAlchemy's own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DataError, IntegrityError

from core.database.database import Database, Tx, open_database
from core.database.prepared import Prepared
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


async def test_what_fails_undoes_the_transaction_and_no_other(database: Database) -> None:
    def twice(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        INSERT.run(tx.conn, a_session("a"))

    for _ in range(20):  # more often than there are connections
        with pytest.raises(IntegrityError):
            await database.write(twice)
    assert await of_owner(database) == []
    await keep(database, a_session("b"))
    assert [row.id for row in await of_owner(database)] == ["b"]


async def test_what_was_done_before_a_job_fails_is_undone(database: Database) -> None:
    def torn(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        raise LookupError

    for _ in range(20):
        with pytest.raises(LookupError):
            await database.write(torn)
    await keep(database, a_session("b"))
    assert [row.id for row in await of_owner(database)] == ["b"]


async def test_a_value_that_can_not_be_sent_fails_at_its_statement_and_loses_no_other(postgres_url: str) -> None:
    database = open_database(postgres_url)

    def job(tx: Tx) -> None:
        INSERT.run(tx.conn, a_session("a"))
        with pytest.raises(DataError):
            INSERT.run(tx.conn, a_session("b", owner="nul\0"))

    await database.write(job)
    assert [row.id for row in await of_owner(database)] == ["a"]
    await database.close()


async def test_much_goes_in_and_out_at_once(database: Database) -> None:
    """More than the line takes before somebody reads."""
    much = "x" * 20_000
    kept = [a_session(f"s-{number:04}", owner=much) for number in range(500)]
    await keep(database, *kept)
    assert [row.id for row in await of_owner(database, much)] == [one["id"] for one in kept]


async def test_a_statement_that_comes_again_and_again_is_planned_once_for_a_connection(postgres_url: str) -> None:
    database = open_database(postgres_url)
    planned = sa.text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT sessions%'")

    def job(tx: Tx) -> int | None:
        for _ in range(12):
            BY_OWNER.all(tx.conn, {"owner": "refund-agent"})
        return tx.conn.scalar(planned)

    assert await database.write(job) == 1
    await database.close()
