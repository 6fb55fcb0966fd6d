"""A snapshot: one moment of a database, read for minutes while others write.

A backup is verified at the very moment of its copy. On PostgreSQL ``pg_dump`` reads the same moment by the snapshot's
name. A copy of an SQLite file is opened as immutable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from core.database.read_only import moment_of_file, moment_of_server
from core.store.installation import known_check
from core.store.tables import archived, events, intents

T = TypeVar("T")

_VERSIONS = sa.table("alembic_version", sa.column("version_num", sa.Text))


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database holds. ``revision`` is the schema's, ``None`` if there are no tables of ours. ``batches`` are the
    archive's files that it knows of; ``key_check`` tells its secret key from others, if it was used with one."""

    revision: str | None
    intents: int = 0
    events: int = 0
    batches: tuple[str, ...] = ()
    key_check: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``name`` is PostgreSQL's, ``None`` for a file. One :meth:`read` at a time."""

    connection: sa.Connection
    name: str | None = None

    async def read(self, job: Callable[[sa.Connection], T]) -> T:
        """As :meth:`core.database.database.Database.read`, of this moment."""
        return await asyncio.to_thread(job, self.connection)

    def contents(self) -> Contents:
        conn = self.connection
        tables = set(sa.inspect(conn).get_table_names())
        revision = conn.scalar(sa.select(_VERSIONS.c.version_num)) if "alembic_version" in tables else None
        if revision is None:
            return Contents(None)
        batches = sa.select(archived.c.batch).distinct().order_by(archived.c.batch)
        return Contents(
            revision,
            _count(conn, intents),
            _count(conn, events),
            tuple(conn.scalars(batches)) if archived.name in tables else (),
            known_check(conn),
        )


def _count(conn: sa.Connection, table: sa.Table) -> int:
    return conn.scalar(sa.select(sa.func.count()).select_from(table)) or 0


@contextmanager
def postgres_snapshot(url: sa.URL) -> Iterator[Snapshot]:
    """This moment of a PostgreSQL database. Raises :class:`DatabaseUnavailable`."""
    with moment_of_server(url) as (conn, name):
        yield Snapshot(conn, name)


@contextmanager
def file_snapshot(path: Path) -> Iterator[Snapshot]:
    """An SQLite file that nobody writes to. Raises :class:`DatabaseUnavailable`."""
    with moment_of_file(path) as conn:
        yield Snapshot(conn)
