"""Search finds what reading every question finds, and reads few of them (decision 0104)."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

import pytest
import sqlalchemy as sa

from core.database.database import Database
from core.database.text_index import check_sqlite, pattern
from core.domain.suspension import Suspension
from core.errors import DatabaseUnavailable
from core.store import archive, schema, suspension_lists
from core.store.suspension_lists import Filter
from core.store.tables import PageCursor, question_search, suspensions
from tests.core.examples import after
from tests.core.older import migrate_to, todays_columns
from tests.core.store_examples import keep, numbered

ODD = (
    "Refund order 12345?",
    "Überweisung an die STRASSE 5%?",
    "Geht die Straße_7 auf?",
    "İstanbul'a gönderilsin mi?",
    "istanbul it is",
    "ΟΔΟΣ ΑΒ;",
    "οδος αβ",
    "退款给客户吗？",
    "100% of it\\all, with a /slash",
    "An \N{KELVIN SIGN}elvin or a kelvin",
    'Said "yes" AND no* OR NEAR(both)',
)
LOOKED_FOR = (
    *("refund", "REFUND ORDER", "12345", "nd ord", "überweisung", "ÜBERWEISUNG", "straße", "strasse", "STRASSE"),
    *("istanbul", "İSTANBUL", "ısta", "οδος", "ΟΔΟΣ", "δοσ", "退款给", "款给客户", "5%?", "0% o", "e_7", "\\all"),
    *("/sl", "kelvin", "KELVIN", "zebra", "re", "?", "order 12346", "an die straße"),
    *('"yes"', '"yes" AND no', "no*", "NEAR(", 'x" OR "yes', "question:", "^Said", "-- ", "???"),
)


async def found(database: Database, text: str, limit: int = 2000, **wanted: Any) -> list[str]:
    rows, _ = await part(database, text, None, limit, **wanted)
    return rows


async def part(
    database: Database, text: str, before: PageCursor | None, limit: int = 2000, **wanted: Any
) -> tuple[list[str], PageCursor | None]:
    """Of a list: the ids, and how far was looked if there is more."""
    wanted_of = Filter(text=text, **wanted)
    rows, end = await database.read(lambda conn: suspension_lists.page(conn, wanted_of, before=before, limit=limit))
    return [one.id for one in rows], end


async def few(database: Database, text: str) -> list[str] | None:
    ids = await database.read(lambda conn: question_search.few_containing(conn, text, suspension_lists.MOST_FOUND))
    return None if ids is None else sorted(ids)


async def indexed(database: Database) -> Database:
    """Skips a test that is about the index, if the wheel's PostgreSQL has none of its extensions."""
    if not await database.read(question_search.is_made):
        assert "TEST_PG_BIN" not in os.environ, "make search is there for the index"
        pytest.skip("PostgreSQL without pg_trgm (TEST_PG_BIN names another)")
    return database


def crowd(count: int) -> list[Suspension]:
    return [
        numbered(number, question=f"Crowd {number}", suspended_at=after(seconds=number))
        for number in range(100, 100 + count)
    ]


async def test_every_text_finds_what_reading_every_question_finds(database: Database) -> None:
    odd = [numbered(number, question=text, suspended_at=after(hours=number)) for number, text in enumerate(ODD)]
    await keep(database, *odd)

    def read_all(conn: sa.Connection) -> dict[str, list[str]]:
        own = suspensions.c
        statement = sa.select(own.id).where(own.question.ilike(sa.bindparam("text"), escape="/"))
        newest_first = statement.order_by(own.suspended_at.desc())
        return {text: [*conn.scalars(newest_first, {"text": pattern(text)})] for text in LOOKED_FOR}

    wanted = await database.read(read_all)
    assert wanted['"yes"'] == ["susp-10"]
    assert {text: await found(database, text) for text in LOOKED_FOR} == wanted


async def test_the_other_filters_and_the_order_hold_for_what_is_found(database: Database) -> None:
    await keep(
        database,
        numbered(1, question="A zebra?", suspended_at=after(hours=1)),
        numbered(2, question="Two zebras?", suspended_at=after(hours=3), created_by="other-agent"),
        numbered(3, question="No zebra", suspended_at=after(hours=2)),
        *crowd(20),
    )
    assert await found(database, "ZEBRA") == ["susp-2", "susp-3", "susp-1"]
    assert await found(database, "zebra", limit=2) == ["susp-2", "susp-3"]
    assert await found(database, "zebra", created_by="other-agent") == ["susp-2"]
    assert await found(database, "zebra", created_by="nobody") == []
    assert await found(database, "zebra", status="open", channel="slack") == ["susp-2", "susp-3", "susp-1"]
    assert await found(database, "zebra", status="expired") == []


async def test_few_questions_are_found_by_the_index_and_very_many_are_not(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await indexed(database)
    monkeypatch.setattr(suspension_lists, "MOST_FOUND", 20)
    await keep(database, numbered(1, question="Crowd of zebras?"), *crowd(20))
    assert await few(database, "zebra") == ["susp-1"]
    assert await few(database, "giraffe") == []
    assert await few(database, "crowd 105") == ["susp-105"]
    assert await few(database, "crowd") is None
    assert await few(database, "ze") is None, "no trigram"
    assert await found(database, "crowd", limit=1) == ["susp-119"]


async def test_a_search_without_an_index_looks_at_so_many_and_says_where_it_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suspension_lists, "LOOKED_AT", 10)
    await keep(database, numbered(1, question="A yo-yo?"), *crowd(25))
    ids: list[str] = []
    first, before = await part(database, "yo", None)
    assert (first, before) == ([], (after(seconds=115), "susp-115"))
    while before is not None:
        more, before = await part(database, "yo", before)
        ids += more
    assert ids == ["susp-1"]


async def test_what_has_left_is_found_no_more_and_leaves_the_index(database: Database) -> None:
    await keep(database, numbered(1, question="A zebra?"), numbered(2, question="A zebra or a yak?"))
    await database.write(lambda tx: archive.remove(tx, ["susp-1"], [], after()))
    assert await found(database, "zebra") == ["susp-2"]
    await indexed(database)
    assert await few(database, "zebra") == ["susp-2"]
    await database.write(lambda tx: archive.remove(tx, ["susp-2"], [], after()))
    assert await few(database, "zebra") == []


async def test_what_was_asked_before_the_upgrade_is_found(empty_database: Database) -> None:
    migrate_to(empty_database, "0022")
    with todays_columns(empty_database, suspensions):
        await keep(empty_database, numbered(1, question="A zebra?"), numbered(2, question="A yak?"))
    schema.migrate(empty_database)
    await keep(empty_database, numbered(3, question="More zebras?", suspended_at=after(hours=1)))
    assert await found(empty_database, "zebra") == ["susp-3", "susp-1"]
    await indexed(empty_database)
    assert await few(empty_database, "zebra") == ["susp-1", "susp-3"]


async def test_an_index_that_was_broken_off_half_made_is_made_again(empty_postgres: Database) -> None:
    schema.migrate(empty_postgres)
    await indexed(empty_postgres)
    with empty_postgres.engine.begin() as conn:
        half_made = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_question_search'::regclass"
        conn.exec_driver_sql(half_made)
    await keep(empty_postgres, numbered(1, question="A zebra?"))
    assert await few(empty_postgres, "zebra") is None
    schema.migrate(empty_postgres)
    assert await few(empty_postgres, "zebra") == ["susp-1"]


@pytest.mark.parametrize("lacks", ["CREATE TEMP TABLE pragma_module_list (name)", "too old"])
def test_a_sqlite_that_can_not_keep_the_index_is_refused_with_its_version(lacks: str) -> None:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as conn:
        check_sqlite(conn)
        if lacks == "too old":
            assert conn.connection.driver_connection is not None
            conn.connection.driver_connection.create_function("sqlite_version", 0, lambda: "3.26.0")
        else:
            conn.exec_driver_sql(lacks)  # stands before the list of what this build has
        version = "3.26.0" if lacks == "too old" else sqlite3.sqlite_version
        with pytest.raises(DatabaseUnavailable, match=rf"SQLite 3\.35 or newer with FTS5 is needed.* {version}"):
            check_sqlite(conn)
