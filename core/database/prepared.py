"""Statements of the hot path, compiled once.

SQLAlchemy works a statement out anew each time it is executed: about a tenth of a millisecond, five times what SQLite
itself takes for it, and half of what a way to PostgreSQL and back takes. A cycle of suspend, notify, answer and
callback has sixteen of them. A :class:`Prepared` statement goes to the driver as it was compiled; the driver executes
it, and has PostgreSQL plan it once for each connection unless a pooler is between (:mod:`core.database.postgres`).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import sqlalchemy as sa

from core.database.failures import errors_of, in_sqlalchemys_words

Statement = sa.Select[Any] | sa.Insert | sa.Update | sa.Delete
Values = Mapping[str, Any]
Convert = Callable[[Any], Any]


class _Compiled(NamedTuple):
    """SQL text for the driver; the values to be given and those that never change; the name and the converter of each
    of its places; the columns of its rows, and what makes a record of one."""

    text: str
    names: frozenset[str]
    fixed: Values
    places: Sequence[tuple[str, Convert | None]]
    columns: Sequence[sa.ColumnElement[Any]]
    record: Callable[[Iterable[Any]], Any] | None


class Prepared:
    """A statement whose values are given by name, always the same names: :class:`KeyError` for any other.

    A statement that the databases write in different ways is a function of the dialect. Rows have their columns as
    attributes and ``_asdict()``. Driver errors come as SQLAlchemy's.
    """

    def __init__(self, statement: Statement | Callable[[sa.Dialect], Statement]) -> None:
        self.statement = statement
        self._compiled: dict[str, _Compiled] = {}
        self._converters: dict[str, Sequence[tuple[int, Convert]]] = {}

    def first(self, conn: sa.Connection, values: Values) -> Any | None:
        """The first row, ``None`` if there is none."""
        found = self.all(conn, values)
        return found[0] if found else None

    def scalar(self, conn: sa.Connection, values: Values) -> Any | None:
        """The first column of the first row."""
        row = self.first(conn, values)
        return None if row is None else row[0]

    def all(self, conn: sa.Connection, values: Values) -> Sequence[Any]:
        compiled = self._compile(conn.dialect, values)
        return self._records(conn, compiled, _run(conn, compiled, values))

    def run(self, conn: sa.Connection, *values: Values) -> None:
        """Execute once for each of ``values``; there is at least one."""
        self._run(conn, values)

    def _run(self, conn: sa.Connection, values: Sequence[Values]) -> Any:
        compiled = self._compile(conn.dialect, values[0])
        if len(values) == 1:
            return _run(conn, compiled, values[0])
        return _run_many(conn, compiled, [_placed(compiled, one) for one in values])

    def run_rows(self, conn: sa.Connection, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """As :meth:`run`, for many rows: each has the values of ``names``, in that order."""
        compiled = self._compile(conn.dialect, dict.fromkeys(names))
        _check(compiled, frozenset(names))
        lists = {name: [value] * len(rows) for name, value in compiled.fixed.items()} | by_column(names, rows)
        placed = (converted(convert, lists[name]) for name, convert in compiled.places)
        _run_many(conn, compiled, zip(*placed, strict=True))

    def count(self, conn: sa.Connection, *values: Values) -> int:
        """As :meth:`run`; how many rows were changed."""
        return int(self._run(conn, values).rowcount)

    def _records(self, conn: sa.Connection, compiled: _Compiled, cursor: Any) -> Sequence[Any]:
        dialect = conn.dialect
        converters = self._converters.get(dialect.name)
        if converters is None:
            converters = self._converters[dialect.name] = _converters(compiled, dialect, cursor)
        rows = cursor.fetchall()
        if not converters and compiled.record is not None:
            return [*map(compiled.record, rows)]
        return [_record(compiled, converters, row) for row in rows]

    def _compile(self, dialect: sa.Dialect, values: Values) -> _Compiled:
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            statement = self.statement(dialect) if callable(self.statement) else self.statement
            compiled = self._compiled[dialect.name] = _compile(statement, _positional(dialect), values)
        return compiled


def _compile(statement: Statement, dialect: sa.Dialect, values: Values) -> _Compiled:
    written = statement if isinstance(statement, sa.Select) else None
    if isinstance(statement, sa.Insert):
        statement = statement.inline()  # nobody asks for the number of the new row
    compiled = statement.compile(dialect=dialect, column_keys=None if written is not None else list(values))
    assert isinstance(compiled, sa.sql.compiler.SQLCompiler)  # noqa: S101 (no DDL comes here)
    binds = [compiled.binds[name] for name in compiled.positiontup or ()]
    places = [(bind.key, to_driver(bind.type, dialect)) for bind in binds]
    names = frozenset(bind.key for bind in binds if bind.required)
    fixed = {bind.key: bind.value for bind in binds if not bind.required}
    columns = list(written.selected_columns) if written is not None else []
    record: Any = namedtuple("Record", [str(column.key) for column in columns]) if columns else None
    make = None if record is None else record._make
    return _Compiled(str(compiled), names, fixed, places, columns, make)


def _converters(compiled: _Compiled, dialect: sa.Dialect, cursor: Any) -> Sequence[tuple[int, Convert]]:
    """What makes of a driver's value what SQLAlchemy would, at each place where that is another; by the driver's own
    types too."""
    found = []
    for place, (column, described) in enumerate(zip(compiled.columns, cursor.description, strict=True)):
        convert = column.type.dialect_impl(dialect).result_processor(dialect, described[1])
        if convert is not None:
            found.append((place, convert))
    return found


def _positional(dialect: sa.Dialect) -> sa.Dialect:
    """As ``dialect``, with the values in a row. PostgreSQL's own numbers for them need not be worked out anew."""
    kind: Any = type(dialect)
    positional: sa.Dialect = dialect if dialect.positional else kind(paramstyle="numeric_dollar")
    return positional


def _run(conn: sa.Connection, compiled: _Compiled, values: Values) -> Any:
    """The driver's cursor, after the statement was executed."""
    placed = _placed(compiled, values)
    try:
        return _cursor(conn).execute(compiled.text, placed)
    except errors_of(conn) as failure:
        raise in_sqlalchemys_words(conn, compiled.text, failure) from failure


def _run_many(conn: sa.Connection, compiled: _Compiled, rows: Iterable[Sequence[Any]]) -> Any:
    """The driver's cursor, after the statement was executed once for each of ``rows``."""
    try:
        cursor = _cursor(conn)
        return cursor.executemany(compiled.text, rows) or cursor
    except errors_of(conn) as failure:
        raise in_sqlalchemys_words(conn, compiled.text, failure) from failure


def _cursor(conn: sa.Connection) -> Any:
    """The driver's, which takes SQL as it is; SQLite's connection makes one by itself."""
    driver = conn.connection.dbapi_connection
    return conn.dialect.loaded_dbapi.RawCursor(driver) if conn.dialect.name == "postgresql" else driver


def _placed(compiled: _Compiled, values: Values) -> list[Any]:
    _check(compiled, values.keys())
    given = {**compiled.fixed, **values} if compiled.fixed else values
    return [given[name] if convert is None else convert(given[name]) for name, convert in compiled.places]


def _check(compiled: _Compiled, names: Set[str]) -> None:
    if names != compiled.names:
        raise KeyError(f"This statement takes {sorted(compiled.names)}.")


def by_column(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """The values of all rows, by the name of their column. There is at least one row."""
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def converted(convert: Convert | None, values: Sequence[Any]) -> Sequence[Any]:
    """All of them; a value that stands in many rows (a time, what an event says) is converted once."""
    if convert is None:
        return values
    different = {id(value): value for value in values}
    made = {identity: convert(value) for identity, value in different.items()}
    return [made[id(value)] for value in values]


def _record(compiled: _Compiled, converters: Sequence[tuple[int, Convert]], row: Sequence[Any]) -> Any:
    assert compiled.record is not None  # noqa: S101 (only a SELECT has rows)
    converted = list(row)
    for place, convert in converters:
        converted[place] = convert(converted[place])
    return compiled.record(converted)


def to_driver(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Convert | None:
    """What makes a value of that type what the driver takes; ``None`` if it takes it as it is."""
    return kind.dialect_impl(dialect).bind_processor(dialect)
