"""Many rows as a few values: lists in JSON, which the database takes apart.

A thousand rows are then one statement. On PostgreSQL each row by itself would cost a message; on SQLite it would give
the interpreter up, and wait for it. The text of ``IN (…)`` is the same for a thousand ids as for two, so that it is
:class:`Prepared` on both databases.

Source: https://www.postgresql.org/docs/current/functions-json.html; https://www.sqlite.org/json1.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from core.database.prepared import Convert, Prepared, by_column, converted, to_driver

_COMPACT = json.JSONEncoder(separators=(",", ":"), check_circular=False)
_PLACE = "place"
_ROWS = "all_rows"


class GivenRows(NamedTuple):
    """A recordset's rows as a table of one statement: a value for each column (``c.status``), and their order."""

    c: Mapping[str, sa.ColumnElement[Any]]
    place: sa.ColumnElement[int]


Together = Mapping[str, Prepared]
"""One statement over all rows, by the name of the dialect."""

_FEW = 8


class Recordset:
    """Rows with these columns, as a table for one statement."""

    def __init__(self, *columns: sa.ColumnClause[Any]) -> None:
        self._columns = columns
        self._names = [column.name for column in columns]
        self._converters: dict[str, Mapping[str, Convert | None]] = {}
        """By the name of the dialect, and of the column: all dialects of one name convert alike here."""

    def together(self, statement: Callable[[GivenRows], sa.Insert | sa.Update]) -> Together:
        """What ``statement`` makes of the rows, for :meth:`run`."""
        taken_apart = {"sqlite": self._on_sqlite(), "postgresql": self._on_postgres()}
        return {dialect: Prepared(statement(self._given(rows))) for dialect, rows in taken_apart.items()}

    def _given(self, rows: sa.Select[Any]) -> GivenRows:
        own = rows.subquery("rows").c
        columns = {column.name: sa.cast(own[column.name], column.type) for column in self._columns}
        return GivenRows(columns, sa.cast(own[_PLACE], sa.Integer))

    def _on_postgres(self) -> sa.Select[Any]:
        """Each column is a list of its own, which the server takes apart sooner than as many objects."""
        columns: list[sa.ColumnElement[Any]] = [*map(_taken_apart, (*self._names, _PLACE))]
        return sa.select(*columns)

    def _on_sqlite(self) -> sa.Select[Any]:
        """Each row is a list."""
        given = sa.func.json_each(sa.bindparam(_ROWS, type_=sa.Text)).table_valued("key", "value", name="given").c
        columns: list[sa.ColumnElement[Any]] = [
            sa.func.json_extract(given.value, sa.literal_column(f"'$[{place}]'")).label(name)
            for place, name in enumerate(self._names)
        ]
        return sa.select(*columns, given.key.label(_PLACE))

    def run(self, conn: sa.Connection, rows: Sequence[Sequence[Any]], *, each: Prepared, together: Together) -> None:
        """``rows`` have a value for every column, in their order. Of a few, SQLite executes ``each`` for one after the
        other, whose values have the columns' names; many are one statement, which does not give the interpreter up for
        every row, and wait for it again."""
        if not rows:
            return
        dialect = conn.dialect.name
        if dialect == "sqlite" and len(rows) < _FEW:
            each.run_rows(conn, self._names, rows)
            return
        lists = self._lists(conn.dialect, rows)
        if dialect == "sqlite":
            together[dialect].run(conn, {_ROWS: _COMPACT.encode([*zip(*lists.values(), strict=True)])})
        else:
            given = {**lists, _PLACE: range(len(rows))}
            together[dialect].run(conn, {_list_of(name): _COMPACT.encode([*one]) for name, one in given.items()})

    def _lists(self, dialect: sa.Dialect, rows: Sequence[Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
        converters = self._converters.get(dialect.name)
        if converters is None:
            converters = {column.name: to_driver(column.type, dialect) for column in self._columns}
            self._converters[dialect.name] = converters
        given = by_column(self._names, rows)
        return {name: converted(converters[name], values) for name, values in given.items()}


def _list_of(name: str) -> str:
    """Not the column's own name: SQLAlchemy keeps that for itself."""
    return f"all_{name}"


def _taken_apart(name: str) -> sa.ColumnElement[str]:
    """Several of these in one SELECT go on in step."""
    given = sa.cast(sa.bindparam(_list_of(name), type_=sa.Text), sa.JSON)
    return sa.func.json_array_elements_text(given, type_=sa.Text).label(name)


class _TextsOf(FunctionElement[str]):
    """A list in JSON as a table of its texts."""

    name = "texts_of"
    inherit_cache = True


@compiles(_TextsOf, "sqlite")
def _on_sqlite(element: _TextsOf, compiler: Any, **kwargs: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **kwargs)})"


@compiles(_TextsOf, "postgresql")
def _on_postgres(element: _TextsOf, compiler: Any, **kwargs: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **kwargs)} AS JSON))"


_IDS = _TextsOf(sa.bindparam("ids", type_=sa.Text)).table_valued(sa.column("value", sa.Text), name="listed_ids")
VALUES = sa.select(_IDS.c.value)
"""The texts of a list. The statement takes what :func:`listed` makes."""


def by_ids(statement: sa.Select[Any], column: sa.ColumnElement[str]) -> Prepared:
    """``statement`` for those rows whose ``column`` is in a list. It takes ``ids``, which :func:`listed` makes."""
    return Prepared(statement.where(column.in_(VALUES)))


def listed(ids: Collection[str]) -> Mapping[str, str]:
    return {"ids": _COMPACT.encode(list(ids))}


class IsFound(FunctionElement[bool]):
    """Whether a value, the first, is one that a query finds, of which there may be thousands. PostgreSQL expects few
    and would look each one up by itself. As an array they are looked up in one go."""

    type = sa.Boolean()
    inherit_cache = True


@compiles(IsFound)
def _in_query(element: IsFound, compiler: Any, **kwargs: Any) -> str:
    value, those = (compiler.process(one, **kwargs) for one in element.clauses)
    return f"{value} IN {those}"


@compiles(IsFound, "postgresql")
def _in_array(element: IsFound, compiler: Any, **kwargs: Any) -> str:
    value, those = (compiler.process(one, **kwargs) for one in element.clauses)
    return f"{value} = ANY (ARRAY{those})"
