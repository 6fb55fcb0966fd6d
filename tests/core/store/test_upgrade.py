"""A database of an older version, with rows in every table, is brought to the newest. Nothing is lost, and its
questions are read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Database
from core.store import schema, suspension_lists
from core.store.suspension_lists import Filter
from core.store.tables import suspensions
from tests.core.older import migrate_to, todays_columns
from tests.core.store_examples import keep, numbered

BEFORE = "0022"
GONE = {"search_entries", "search_segments", "search_terms"}
OTHERS = ("alembic", "procrastinate")
"""What the tables of the libraries' own begin with."""


def tables(database: Database) -> list[sa.Table]:
    there = sa.MetaData()
    with database.engine.connect() as conn:
        there.reflect(conn)
    return [one for one in there.sorted_tables if not one.name.startswith((*OTHERS, "question_search", "sqlite"))]


def value_of(column: sa.Column[Any]) -> Any:
    """Something that the column takes; a JSON text fits any text."""
    examples = {str: "{}", int: 1, float: 0.5, bool: True, bytes: b"{}", datetime: datetime(2026, 1, 1, tzinfo=UTC)}
    return {} if isinstance(column.type, sa.JSON) else examples[column.type.python_type]


def counted(database: Database, of: list[sa.Table]) -> dict[str, int]:
    with database.engine.connect() as conn:
        return {one.name: conn.scalars(sa.select(sa.func.count()).select_from(one)).one() for one in of}


async def test_a_database_with_rows_in_every_table_is_upgraded_and_read(empty_database: Database) -> None:
    migrate_to(empty_database, BEFORE)
    with todays_columns(empty_database, suspensions):
        await keep(empty_database, *(numbered(number, question=f"Zebra {number}?") for number in range(3)))
    before = tables(empty_database)
    there = counted(empty_database, before)
    with empty_database.engine.begin() as conn:
        for table in before:
            if not there[table.name]:
                conn.execute(table.insert(), {column.name: value_of(column) for column in table.columns})
    filled = counted(empty_database, before)
    assert min(filled.values()) > 0

    schema.migrate(empty_database)

    after = tables(empty_database)
    names = {one.name for one in after}
    assert names == filled.keys() - GONE
    assert counted(empty_database, after) == {name: filled[name] for name in names}
    for wanted in (Filter(), Filter(text="zebra"), Filter(status="open"), Filter(created_by="refund-agent")):
        found, _ = await empty_database.read(
            lambda conn, of=wanted: suspension_lists.page(conn, of, before=None, limit=9)
        )
        assert [one.ask.question for one in found] == ["Zebra 2?", "Zebra 1?", "Zebra 0?"]
