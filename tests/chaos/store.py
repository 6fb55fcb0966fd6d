"""The run's database: made before it, looked at where a process has just died, and read to the end after it."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from core.database.database import open_database
from core.store import schema
from core.store.tables import outbox, suspensions, workers
from tests.chaos.disk import Disk, a_disk
from tests.chaos.wire import Wire
from tests.postgres import Cluster, cluster

T = TypeVar("T")
_POSTGRES = "postgresql+psycopg://postgres@/postgres"


class Store:
    """``server`` is the PostgreSQL that can be stopped and ``wire`` the line to it, both ``None`` on SQLite; ``disk``
    is what the file of SQLite is on.

    ``service_url`` is where the service finds it.
    """

    def __init__(
        self, url: str, server: Cluster | None = None, wire: Wire | None = None, disk: Disk | None = None
    ) -> None:
        self.url = url
        self.disk = disk
        self.service_url = url if wire is None else f"{_POSTGRES}{wire.query}"
        self.server = server
        self.wire = wire
        driver = "sqlite+pysqlite" if server is None else "postgresql+psycopg"
        self._engine = sa.create_engine(sa.make_url(url).set(drivername=driver), poolclass=NullPool)

    async def look(self, job: Callable[[sa.Connection], T]) -> T | None:
        """``None`` while the database is away."""
        return await asyncio.to_thread(self._look, job)

    def _look(self, job: Callable[[sa.Connection], T]) -> T | None:
        try:
            with self._engine.connect() as conn:
                return job(conn)
        except (DBAPIError, sqlite3.OperationalError):
            return None

    async def stop(self, how: signal.Signals) -> None:
        assert self.server is not None
        await asyncio.to_thread(self.server.stop, how)

    async def start(self) -> None:
        assert self.server is not None
        await asyncio.to_thread(self.server.start)


def being_sent(owner: str | None) -> Callable[[sa.Connection], set[str]]:
    """The delivery ids that ``owner``, or anybody, has in hand."""

    def job(conn: sa.Connection) -> set[str]:
        wanted = sa.select(outbox.c.id).where(outbox.c.status == "sending")
        return set(conn.scalars(wanted if owner is None else wanted.where(outbox.c.lease_owner == owner)))

    return job


def in_hand(conn: sa.Connection) -> Counter[str]:
    """How many rows each worker has leased."""
    leased = sa.select(outbox.c.lease_owner).where(outbox.c.status == "sending", outbox.c.lease_owner.is_not(None))
    return Counter(conn.scalars(leased))


def empty_log(conn: sa.Connection) -> None:
    """SQLite's write-ahead log goes into its file, and gives back its room, unless somebody is reading."""
    conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


def known_workers(conn: sa.Connection) -> set[str]:
    return set(conn.scalars(sa.select(workers.c.id)))


def unfinished(conn: sa.Connection) -> tuple[int, int]:
    """Open suspensions, and rows that are still to be sent."""
    opened = sa.select(sa.func.count()).select_from(suspensions).where(suspensions.c.status == "open")
    waiting = sa.select(sa.func.count()).select_from(outbox).where(outbox.c.status.in_(("pending", "sending")))
    return conn.scalar(opened) or 0, conn.scalar(waiting) or 0


@asynccontextmanager
async def sqlite_store(folder: Path) -> AsyncIterator[Store]:
    with a_disk(folder / "disk") as disk:
        yield Store(f"sqlite+aiosqlite:///{disk.folder}/chaos.db", disk=disk)


@asynccontextmanager
async def postgres_store() -> AsyncIterator[Store]:
    """A cluster of its own whose commits are on disk when they are acknowledged, as far as the server can tell."""
    with cluster(synchronous_commit="on") as server, tempfile.TemporaryDirectory(prefix="hrw-") as folder:
        wire = Wire(Path(folder), server.sockets)
        store = Store(f"{_POSTGRES}{server.query}", server, wire)
        schema.migrate(open_database(store.url))
        with wire.up():
            yield store
