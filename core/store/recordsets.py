"""Many rows as one value: a JSON document, which the database takes apart.

A thousand rows are then one statement with one value on PostgreSQL, where each row by itself would cost a message, and
the text of ``IN (…)`` is the same for a thousand ids as for two, so that it is :class:`Prepared` on both databases.

Source: https://www.postgresql.org/docs/current/functions-json.html; https://www.sqlite.org/json1.html
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from core.store.prepared import Prepared, to_driver

_COMPACT = json.JSONEncoder(separators=(",", ":"), check_circular=False)
_PLACE = "place"


class Recordset:
    """Rows with these columns, as a table for one statement on PostgreSQL: ``rows.c.status``, in their order by
    ``rows.place``. :meth:`document` makes the value ``rows`` that the statement takes."""

    def __init__(self, *columns: sa.ColumnClause[Any]) -> None:
        self._columns = columns
        given = sa.cast(sa.bindparam("rows", type_=sa.Text), sa.JSON)
        parts = [sa.column(column.name, column.type) for column in columns]
        table = sa.func.json_to_recordset(given).table_valued(*parts, sa.column(_PLACE, sa.Integer), name="rows")
        self.c = table.render_derived(with_types=True).c
        self.place: sa.ColumnElement[int] = self.c[_PLACE]

    def document(self, dialect: sa.Dialect, rows: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
        """The statement's value for ``rows``, each with every column."""
        ways = [(column.name, to_driver(column.type, dialect)) for column in self._columns]
        made = []
        for place, row in enumerate(rows):
            one: dict[str, Any] = {name: row[name] if to is None else to(row[name]) for name, to in ways}
            one[_PLACE] = place
            made.append(one)
        return {"rows": _COMPACT.encode(made)}


VALUES: Mapping[str, sa.Select[Any]] = {
    "sqlite": sa.select(
        sa.func.json_each(sa.bindparam("ids", type_=sa.Text)).table_valued("value", name="listed").c.value
    ),
    "postgresql": sa.select(sa.func.json_array_elements_text(sa.cast(sa.bindparam("ids", type_=sa.Text), sa.JSON))),
}
"""The texts of a list, by the name of the dialect. They take ``ids``, which :func:`listed` makes."""


def by_ids(statement: sa.Select[Any], column: sa.ColumnElement[str]) -> Mapping[str, Prepared]:
    """``statement`` for those rows whose ``column`` is in a list, by the name of the dialect. It takes ``ids``, which
    :func:`listed` makes."""
    return {dialect: Prepared(statement.where(column.in_(values))) for dialect, values in VALUES.items()}


def listed(ids: Collection[str]) -> Mapping[str, str]:
    return {"ids": _COMPACT.encode(list(ids))}
