"""Statements of the hot path, compiled once.

SQLAlchemy works a statement out anew each time it is executed: about a tenth of a millisecond, five times what SQLite
itself takes for it. A cycle of suspend, notify, answer and callback has sixteen of them. On SQLite a
:class:`Prepared` statement goes to the driver as it was compiled; on PostgreSQL, where the way to the server costs
more than that, it is executed as usual.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

Values = Mapping[str, Any]
_Convert = Callable[[Any], Any]


class _Compiled(NamedTuple):
    """SQL text for the driver; the values to be given and those that never change; the name and the converter of each
    of its places; what makes a record of a row."""

    text: str
    names: frozenset[str]
    fixed: Values
    places: Sequence[tuple[str, _Convert | None]]
    record: Callable[[Iterable[Any]], Any] | None
    converters: Sequence[tuple[int, _Convert]]


class Prepared:
    """A statement whose values are given by name, always the same names: :class:`KeyError` for any other.

    Rows have their columns as attributes and ``_asdict()``. Driver errors come as SQLAlchemy's.
    """

    def __init__(self, statement: sa.Select[Any] | sa.Insert | sa.Update) -> None:
        self.statement = statement
        self._compiled: _Compiled | None = None

    def first(self, conn: sa.Connection, values: Values) -> Any | None:
        """The first row, ``None`` if there is none."""
        found = self.all(conn, values)
        return found[0] if found else None

    def scalar(self, conn: sa.Connection, values: Values) -> Any | None:
        """The first column of the first row."""
        row = self.first(conn, values)
        return None if row is None else row[0]

    def all(self, conn: sa.Connection, values: Values) -> Sequence[Any]:
        if conn.dialect.name != "sqlite":
            return conn.execute(self.statement, values).all()
        compiled = self._compiled or self._compile(conn.dialect, values)
        return [_record(compiled, row) for row in self._run(conn, compiled, [values]).fetchall()]

    def run(self, conn: sa.Connection, *values: Values) -> int:
        """Execute once for each of ``values``; returns how many rows were changed."""
        if conn.dialect.name != "sqlite":
            return conn.execute(self.statement, list(values)).rowcount
        return int(self._run(conn, self._compiled or self._compile(conn.dialect, values[0]), values).rowcount)

    def _run(self, conn: sa.Connection, compiled: _Compiled, values: Sequence[Values]) -> sqlite3.Cursor:
        rows = [_placed(compiled, one) for one in values]
        driver: Any = conn.connection.driver_connection
        try:
            if len(rows) == 1:
                return driver.execute(compiled.text, rows[0])  # type: ignore[no-any-return]
            return driver.executemany(compiled.text, rows)  # type: ignore[no-any-return]
        except sqlite3.Error as failure:
            raise DBAPIError.instance(  # the values must not be in an error's text: they are what people wrote
                compiled.text, None, failure, sqlite3.Error, hide_parameters=True, dialect=conn.dialect
            ) from failure

    def _compile(self, dialect: sa.Dialect, values: Values) -> _Compiled:
        written = self.statement if isinstance(self.statement, sa.Select) else None
        compiled = self.statement.compile(dialect=dialect, column_keys=None if written is not None else list(values))
        assert isinstance(compiled, sa.sql.compiler.SQLCompiler)  # noqa: S101 (no DDL comes here)
        binds = [compiled.binds[name] for name in compiled.positiontup or ()]
        places = [(bind.key, _to_driver(bind.type, dialect)) for bind in binds]
        names = frozenset(bind.key for bind in binds if bind.required)
        fixed = {bind.key: bind.value for bind in binds if not bind.required}
        columns = list(written.selected_columns) if written is not None else []
        record: Any = namedtuple("Record", [str(column.key) for column in columns]) if columns else None
        converters = [
            (place, convert)
            for place, column in enumerate(columns)
            if (convert := _from_driver(column.type, dialect)) is not None
        ]
        make = None if record is None else record._make
        self._compiled = _Compiled(str(compiled), names, fixed, places, make, converters)
        return self._compiled


def _placed(compiled: _Compiled, values: Values) -> list[Any]:
    if values.keys() != compiled.names:
        raise KeyError(f"This statement takes {sorted(compiled.names)}.")
    given = {**compiled.fixed, **values}
    return [given[name] if convert is None else convert(given[name]) for name, convert in compiled.places]


def _record(compiled: _Compiled, row: Sequence[Any]) -> Any:
    assert compiled.record is not None  # noqa: S101 (only a SELECT has rows)
    converted = list(row)
    for place, convert in compiled.converters:
        converted[place] = convert(converted[place])
    return compiled.record(converted)


def _to_driver(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> _Convert | None:
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _from_driver(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> _Convert | None:
    return kind.dialect_impl(dialect).result_processor(dialect, None)
