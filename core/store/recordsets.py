"""Many rows as a few values: lists in JSON, which the database takes apart.

A thousand rows are then one statement on PostgreSQL, where each row by itself would cost a message, and
the text of ``IN (…)`` is the same for a thousand ids as for two, so that it is :class:`Prepared` on both databases.

Source: https://www.postgresql.org/docs/current/functions-json.html; https://www.sqlite.org/json1.html
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from core.store.prepared import Prepared, by_column, converted, to_driver

_COMPACT = json.JSONEncoder(separators=(",", ":"), check_circular=False)
_PLACE = "place"


class Recordset:
    """Rows with these columns, as a table for one statement on PostgreSQL: ``rows.c.status``, in their order by
    ``rows.place``. Each column is a list of its own, which the server takes apart sooner than as many objects."""

    def __init__(self, *columns: sa.ColumnClause[Any]) -> None:
        self._columns = columns
        self._names = [column.name for column in columns]
        rows = sa.select(*map(_taken_apart, (*self._names, _PLACE))).subquery("rows").c
        self.c = {column.name: sa.cast(rows[column.name], column.type) for column in columns}
        self.place: sa.ColumnElement[int] = sa.cast(rows[_PLACE], sa.Integer)

    def run(self, conn: sa.Connection, rows: Sequence[Sequence[Any]], *, each: Prepared, together: Prepared) -> None:
        """``rows`` have a value for every column, in their order. PostgreSQL executes ``together``, which is over this
        recordset, once; SQLite ``each`` for one after the other, whose values have the columns' names."""
        if not rows:
            return
        if conn.dialect.name == "postgresql":
            together.run(conn, self._lists(conn.dialect, rows))
        else:
            each.run_rows(conn, self._names, rows)

    def _lists(self, dialect: sa.Dialect, rows: Sequence[Sequence[Any]]) -> Mapping[str, str]:
        given = by_column(self._names, rows)
        kinds = {column.name: to_driver(column.type, dialect) for column in self._columns}
        lists = {name: converted(kinds[name], values) for name, values in given.items()}
        return {_list_of(name): _COMPACT.encode(one) for name, one in {**lists, _PLACE: [*range(len(rows))]}.items()}


def _list_of(name: str) -> str:
    """Not the column's own name: SQLAlchemy keeps that for itself."""
    return f"all_{name}"


def _taken_apart(name: str) -> sa.ColumnElement[str]:
    """Several of these in one SELECT go on in step."""
    given = sa.cast(sa.bindparam(_list_of(name), type_=sa.Text), sa.JSON)
    return sa.func.json_array_elements_text(given, type_=sa.Text).label(name)


def values(name: str) -> Mapping[str, sa.Select[Any]]:
    """The texts of a list, by the name of the dialect. They take ``name``, which :func:`compact` makes. SQLite leaves
    numbers what they are."""
    given = sa.bindparam(name, type_=sa.Text)
    return {
        "sqlite": sa.select(sa.func.json_each(given).table_valued("value", name=f"listed_{name}").c.value),
        "postgresql": sa.select(sa.func.json_array_elements_text(sa.cast(given, sa.JSON))),
    }


VALUES = values("ids")


def by_ids(statement: sa.Select[Any], column: sa.ColumnElement[str]) -> Mapping[str, Prepared]:
    """``statement`` for those rows whose ``column`` is in a list, by the name of the dialect. It takes ``ids``, which
    :func:`listed` makes."""
    return {dialect: Prepared(statement.where(column.in_(values))) for dialect, values in VALUES.items()}


def listed(ids: Collection[str]) -> Mapping[str, str]:
    return {"ids": compact(ids)}


def compact(listed: Collection[str] | Collection[int]) -> str:
    """As :func:`values` takes them."""
    return _COMPACT.encode(list(listed))
