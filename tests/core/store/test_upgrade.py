"""A database of an older version, with rows in every table, is brought to the newest. Nothing is lost, and its
questions are read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Database
from core.domain.suspension import Assignment, Claim
from core.store import participants, schema, suspension_lists
from core.store.suspension_lists import Filter
from core.store.tables import suspensions
from tests.core.examples import after, answered
from tests.core.older import migrate_to, todays_columns
from tests.core.store_examples import keep, numbered

BEFORE = "0022"
GONE = {"search_entries", "search_segments", "search_terms"}
NEW = {"participants"}
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
    assert names == filled.keys() - GONE | NEW
    assert counted(empty_database, after) == {**{name: filled[name] for name in names - NEW}, "participants": 0}
    for wanted in (Filter(), Filter(text="zebra"), Filter(status="open"), Filter(created_by="refund-agent")):
        found, _ = await empty_database.read(
            lambda conn, of=wanted: suspension_lists.page(conn, of, before=None, limit=9)
        )
        assert [one.ask.question for one in found] == ["Zebra 2?", "Zebra 1?", "Zebra 0?"]


async def test_who_took_part_before_the_upgrade_and_when_it_ended_is_found_after_it(empty_database: Database) -> None:
    migrate_to(empty_database, "0025")
    done = answered(numbered(1, decision_record={"risk": 0.9}), after(minutes=5)).suspension
    handed = replace(numbered(2), assigned=(Assignment("bob@example.com", "carol@example.com", after()),))
    claimed = replace(numbered(3), claim=Claim("dave@example.com", after(hours=1), "slack"))
    with todays_columns(empty_database, suspensions):
        await keep(empty_database, done, handed, claimed, numbered(4, context={"risk": "low"}), numbered(5))

    schema.migrate(empty_database)

    for name, took_part in {"alice": ["susp-1"], "carol": ["susp-2"], "dave": ["susp-3"], "bob": []}.items():
        places = await empty_database.read(
            lambda conn, who=name: participants.of(conn, {f"{who}@example.com"}, before=None, limit=9)
        )
        assert [one for _, one in places] == took_part
    with empty_database.engine.connect() as conn:
        own = suspensions.c
        kept = conn.execute(sa.select(own.id, own.ended_at, own.risk).order_by(own.id)).all()
    assert [(row.ended_at, row.risk) for row in kept] == [
        (after(minutes=5), 4),
        (None, None),
        (None, None),
        (None, 1),
        (None, None),
    ]


async def test_history_is_entered_for_what_was_there_whatever_an_older_version_has_let_in(
    empty_database: Database,
) -> None:
    migrate_to(empty_database, "0025")
    with todays_columns(empty_database, suspensions):
        await keep(empty_database, numbered(1))
    told = '{"at": "2026-03-24T09:05:00.000002Z", "value": "\\ud800", "by": "Alice@example.com"}'
    with empty_database.engine.begin() as conn:
        conn.exec_driver_sql(f"UPDATE suspensions SET status = 'responded', ended = '{told}'")

    schema.migrate(empty_database)

    with empty_database.engine.connect() as conn:
        assert list(conn.exec_driver_sql("SELECT identity FROM participants").scalars()) == ["alice@example.com"]
        [at] = conn.exec_driver_sql("SELECT ended_at FROM suspensions").scalars()
        assert at % 1_000_000 == 2
