"""Visibility: which transactions are settled, and in which order their rows became visible.

PostgreSQL numbers transactions when they begin to write, before they commit: a row with a lower number may appear after
one with a higher. A transaction older than every running one is settled: nothing appears before it any more. SQLite
commits one after the other: its transactions have no numbers here, and serial numbers are enough.

Source: https://www.postgresql.org/docs/current/functions-info.html, "pg_snapshot"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

Cursor = tuple[int, int]
"""A transaction's number and a serial number: the place behind a row."""

REPEATABLE = "REPEATABLE READ"
_NEVER = 2**63 - 1


class this_transaction(FunctionElement[int]):  # noqa: N801 (a function of SQL's)
    """The number of the transaction that writes; 0 on SQLite."""

    type = sa.BigInteger()
    inherit_cache = True


class oldest_running(FunctionElement[int]):  # noqa: N801 (a function of SQL's)
    """The number of the oldest transaction that still runs; on SQLite more than any."""

    type = sa.BigInteger()
    inherit_cache = True


class next_transaction(FunctionElement[int]):  # noqa: N801 (a function of SQL's)
    """The first number that this server has not given yet; on SQLite more than any."""

    type = sa.BigInteger()
    inherit_cache = True


@compiles(this_transaction, "sqlite")
def _no_number(element: Any, compiler: Any, **kwargs: Any) -> str:
    return "0"


@compiles(oldest_running, "sqlite")
@compiles(next_transaction, "sqlite")
def _more_than_any(element: Any, compiler: Any, **kwargs: Any) -> str:
    return str(_NEVER)


@compiles(this_transaction, "postgresql")
def _own_number(element: Any, compiler: Any, **kwargs: Any) -> str:
    return "pg_current_xact_id()::text::bigint"


@compiles(oldest_running, "postgresql")
def _oldest_number(element: Any, compiler: Any, **kwargs: Any) -> str:
    return "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


@compiles(next_transaction, "postgresql")
def _next_number(element: Any, compiler: Any, **kwargs: Any) -> str:
    return "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"


def is_behind(
    conn: sa.Connection, transaction_id: sa.Column[int], seq: sa.Column[int], cursor: Cursor
) -> sa.ColumnElement[bool]:
    """Whether a row comes behind ``cursor``, by an index. SQLite would walk one from its start for a comparison of
    pairs."""
    if conn.dialect.name == "sqlite":
        return sa.false() if cursor[0] else seq > cursor[1]
    return sa.tuple_(transaction_id, seq) > sa.tuple_(sa.literal(cursor[0]), sa.literal(cursor[1]))


def in_order(conn: sa.Connection, transaction_id: sa.Column[int], seq: sa.Column[int]) -> Sequence[sa.Column[int]]:
    """What rows are ordered by as they became visible."""
    return [seq] if conn.dialect.name == "sqlite" else [transaction_id, seq]


def snapshot_of(conn: sa.Connection) -> str | None:
    """What is visible now, as ``xmin:xmax:running,running``; ``None`` on SQLite."""
    if conn.dialect.name == "sqlite":
        return None
    return str(conn.scalar(sa.text("SELECT pg_current_snapshot()::text")))


@contextmanager
def one_moment(conn: sa.Connection) -> Iterator[None]:
    """Everything read inside is of one moment. ``conn`` has no transaction yet."""
    if conn.dialect.name == "postgresql":
        if conn.get_execution_options().get("isolation_level") != REPEATABLE:  # else it is a snapshot already
            conn.execution_options(isolation_level=REPEATABLE)  # the pool gives the connection its usual level back
        yield
        return
    conn.exec_driver_sql("BEGIN")
    try:
        yield
    finally:
        conn.exec_driver_sql("ROLLBACK")
