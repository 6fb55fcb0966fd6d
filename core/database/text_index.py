"""An index of trigrams: finds the few rows of a table that contain a text. FTS5 on SQLite, ``pg_trgm`` on PostgreSQL.

On SQLite a migration makes it, with triggers that maintain it. PostgreSQL needs an extension for it, which may be
unavailable: then there is none, and a search has to read rows.

Source: https://www.sqlite.org/fts5.html#the_trigram_tokenizer; https://www.postgresql.org/docs/current/pgtrgm.html
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from core.errors import DatabaseUnavailable

_MOST_TRIGRAMS = 32
"""Of a text that is looked up; more tell hardly more."""
_WORD_LIKE = re.compile(r"\w{3}")
"""What ``pg_trgm`` makes trigrams of."""


@dataclass(frozen=True, slots=True)
class TextIndex:
    """Of the column ``text`` of a table with the primary key ``key``. On SQLite the FTS5 table is called ``name``, and
    ``{name}_numbers`` has the ``key`` of each of its numbers."""

    name: str
    key: sa.Column[Any]
    text: sa.Column[Any]

    def few_containing(self, conn: sa.Connection, text: str, most: int) -> Collection[str] | None:
        """Keys of all rows that contain ``text``; some of them may not contain it. ``None`` if more than ``most`` may,
        if ``text`` is too short for an index, or if there is none."""
        statement = self._fts5(text) if conn.dialect.name == "sqlite" else self._pg_trgm(conn, text)
        found = None if statement is None else conn.scalars(statement.limit(most + 1)).all()
        return None if found is None or len(found) > most else found

    def _fts5(self, text: str) -> sa.Select[Any] | None:
        if not (trigrams := _trigrams(text)):
            return None
        index = sa.table(self.name, sa.column("rowid"))
        numbers = sa.table(f"{self.name}_numbers", sa.column("number"), sa.column(self.key.name, sa.Text))
        all_of_them = sa.literal_column(self.name).match(trigrams)
        found = numbers.join(index, numbers.c.number == index.c.rowid)
        return sa.select(numbers.c[self.key.name]).select_from(found).where(all_of_them)

    def _pg_trgm(self, conn: sa.Connection, text: str) -> sa.Select[Any] | None:
        if _WORD_LIKE.search(text) is None or not self.is_made(conn):
            return None
        return sa.select(self.key).where(self.text.ilike(pattern(text), escape="/"))

    def is_made(self, conn: sa.Connection) -> bool:
        """On SQLite it always is."""
        if conn.dialect.name == "sqlite":
            return True
        valid = sa.text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
        return conn.scalar(valid, {"name": f"ix_{self.name}"}) is True

    def install(self, conn: sa.Connection) -> None:
        """Make PostgreSQL's index, with its extension, while others write; ``conn`` commits each statement. Nothing is
        made if the extension is absent, or if this user may not create it."""
        if self.is_made(conn):
            return
        index, column = f"ix_{self.name}", f"{self.text.table} USING gin ({self.text.name} gin_trgm_ops)"
        try:
            conn.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            conn.exec_driver_sql(f"DROP INDEX CONCURRENTLY IF EXISTS {index}")  # somebody broke it off half made
            conn.exec_driver_sql(f"CREATE INDEX CONCURRENTLY {index} ON {column}")
        except DBAPIError:
            return


def pattern(text: str) -> str:
    """What LIKE takes to find ``text`` as it stands, with ``/`` to escape."""
    return f"%{text.replace('/', '//').replace('%', '/%').replace('_', '/_')}%"


def _trigrams(text: str) -> str:
    """Trigrams that cover ``text``, as FTS5 is asked for all of them; empty if it has none. Nothing that somebody
    typed is part of a query's syntax."""
    places = [*range(0, len(text) - 3, 3), len(text) - 3] if len(text) >= 3 else []
    chosen = dict.fromkeys(text[place : place + 3] for place in places[:_MOST_TRIGRAMS])
    quoted = ['"{}"'.format(one.replace('"', '""')) for one in chosen if "\0" not in one]
    return " AND ".join(quoted)


def check_sqlite(conn: sa.Connection) -> None:
    """Raises :class:`DatabaseUnavailable` if this SQLite can't keep such an index: then it could take no row."""
    version = conn.exec_driver_sql("SELECT sqlite_version()").scalar_one()
    modules = conn.exec_driver_sql("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'").scalar_one()
    if not modules or [*map(int, version.split("."))] < [3, 35]:
        raise DatabaseUnavailable(f"SQLite 3.35 or newer with FTS5 is needed; this Python has {version}.")
