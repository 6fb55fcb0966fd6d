"""Types of columns, and options of tables and indexes, that mean the same on both databases.

Instants are whole microseconds since 1970 (UTC), so that both order and compare them the same way; JSON is text, since
nothing in it is ever queried.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from core.domain.wire import json_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Instant(TypeDecorator[datetime]):
    """An aware UTC instant, kept as microseconds since 1970."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + timedelta(microseconds=value)


class Duration(TypeDecorator[timedelta]):
    """A length of time, kept as microseconds."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: timedelta | None, dialect: Dialect) -> int | None:
        return None if value is None else value // _MICROSECOND

    def process_result_value(self, value: Any, dialect: Dialect) -> timedelta | None:
        return None if value is None else timedelta(microseconds=value)


class Json(TypeDecorator[Any]):
    """Any JSON value as compact text; ``None`` is SQL's NULL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json_text(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""A number that the database counts up: SQLite does so for INTEGER alone."""

BY_BYTES = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Text that is ordered by its bytes, as SQLite does, so that LIKE 'abc%' has an index."""

ROOM_ON_PAGES: dict[str, Any] = {"postgresql_with": {"fillfactor": 50}}
"""For a table whose rows move by the thousand: a page has room for the next version of each, so that PostgreSQL need
not write all indexes anew."""

CLUSTERED: dict[str, Any] = {"sqlite_with_rowid": False}
"""For a table that is its primary key: SQLite keeps no rows beside it."""

NEVER_REUSED: dict[str, Any] = {"sqlite_autoincrement": True}
"""For a table whose numbers are never given twice, whatever is deleted."""


def where(condition: sa.TextClause) -> dict[str, Any]:
    """The options of an index that holds only the rows for which ``condition`` is true."""
    return {"sqlite_where": condition, "postgresql_where": condition}
