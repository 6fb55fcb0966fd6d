"""The database: one door for writing, one for reading, and what a transaction promises.

A transaction is one plain function in a thread of its own. Nothing in it can await, so nothing is sent while it is
open. On SQLite one thread writes: it runs what has arrived as savepoints of one ``BEGIN IMMEDIATE`` and commits them
together, so that a crowd pays for one ``fsync``. On PostgreSQL a pool of threads runs one transaction each
(:mod:`core.database.group_commit`).

Whatever :meth:`Tx.after_commit` was given runs in the event loop, in order, after the commit and before the caller goes
on. Every call has a deadline (:mod:`core.database.call_deadlines`).

A database that can't be opened is one line for the operator (:func:`cannot_be_used`). It names the setting and never
the URL: a password that was written wrongly (``p@ss`` is ``p%40ss`` in a URL) would be half readable.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from core.database.call_deadlines import Call, Deadlines, Tx, Watchdog
from core.database.database_file import DatabaseFile
from core.database.group_commit import GroupWriter, PooledWriter, Readers
from core.errors import DatabaseUnavailable

T = TypeVar("T")
Job = Callable[[Tx], T]

_READERS = 4
_CLOSING = timedelta(seconds=10)


def is_file(conn: sa.Connection) -> bool:
    """Whether it leads to a file of SQLite's, whose one writer holds everything."""
    return conn.dialect.name == "sqlite"


class Database:
    """``await write(job)`` and ``await read(job)``; see :func:`open_database`."""

    def __init__(
        self,
        engine: sa.Engine,
        *,
        dialect: str,
        file: DatabaseFile | None,
        writer: GroupWriter | PooledWriter,
        deadlines: Deadlines,
        reading: sa.Engine | None = None,
        direct: sa.Engine | None = None,
    ) -> None:
        self.engine = engine
        self.reading = engine if reading is None else reading
        self.direct = engine if direct is None else direct
        """Each of its connections has a session of its own on PostgreSQL, whatever pooler ``engine`` leads through."""
        self.dialect = dialect
        self.deadlines = deadlines
        self.written_at: float | None = None
        """When a transaction was last committed, by :func:`time.monotonic`."""
        self._file = file
        self._closed = False
        self._watch = Watchdog(deadlines.call.total_seconds())
        self._readers = Readers(self.reading, _READERS)
        self._writer = writer

    @property
    def direct_setting(self) -> str:
        """The setting that says where ``direct`` leads."""
        return "database_url" if self.direct.url == self.engine.url else "database.direct_url"

    @property
    def is_shared(self) -> bool:
        """Whether several processes may use it at once: PostgreSQL, not a file."""
        return self._file is None

    @property
    def path(self) -> Path | None:
        return None if self._file is None else self._file.path

    async def write(self, job: Job[T], within: timedelta | None = None) -> T:
        """Run ``job`` in a transaction. Returns after the commit; whatever ``job`` raises undoes it alone.

        Raises :class:`DatabaseUnavailable` if the database can't be reached or can't commit, has not done it
        ``within`` its time (what has become of it nobody knows then), or is closed.
        """
        call = self._call(job, within)
        self._writer.submit(call)
        value = await call.future
        self.written_at = time.monotonic()
        return value

    async def read(self, job: Callable[[sa.Connection], T], within: timedelta | None = None) -> T:
        """Run ``job`` on a connection that sees everything committed so far. Raises as :meth:`write`."""
        call = self._call(job, within)
        self._readers.submit(call)
        return await call.future

    def _call(self, job: Callable[[Any], T], within: timedelta | None) -> Call[T]:
        if self._closed:
            raise DatabaseUnavailable("The database is closed.")
        return Call(job, self._watch if within is None else Watchdog(within.total_seconds()), within)

    @property
    def conninfo(self) -> str:
        """How libpq reaches the same PostgreSQL; it holds the password."""
        return _conninfo(self.engine)

    @property
    def direct_conninfo(self) -> str:
        """The same for a connection that has a session of its own."""
        return _conninfo(self.direct)

    def check_ours(self) -> None:
        """Raises :class:`ForeignDatabase` for an SQLite file of another program."""
        if self._file is not None:
            self._file.check_ours()

    def hold_file(self) -> None:
        """Become the one process that uses this SQLite file; raises :class:`AlreadyRunning`."""
        if self._file is not None:
            self._file.hold()

    def check_file(self) -> None:
        """Raises :class:`DatabaseReplaced` if the SQLite file is no longer the one that is held."""
        if self._file is not None:
            self._file.check()

    async def close(self, patience: timedelta = _CLOSING) -> None:
        """Finish what was submitted, then let go of every connection and of the file. A thread that is stuck is left
        behind after ``patience``; raises :class:`DatabaseUnavailable` then."""
        self._closed = True
        until = time.monotonic() + patience.total_seconds()
        ended = [await _ended(close, until) for close in (self._writer.close, self._readers.close)]
        if not all(ended):
            raise DatabaseUnavailable("The database did not close in time: a call is still under way.")
        for engine in (self.engine, self.reading, self.direct):
            engine.dispose()
        if self._file is not None:
            self._file.release()


def _conninfo(engine: sa.Engine) -> str:
    from psycopg.conninfo import make_conninfo

    _, options = engine.dialect.create_connect_args(engine.url)
    options.pop("context", None)  # SQLAlchemy's own
    return make_conninfo(**options)


async def _ended(close: Callable[[], None], until: float) -> bool:
    """Whether ``close`` has come back by then. In a thread of its own, which keeps no process alive."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def run() -> None:
        close()
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="db-close", daemon=True).start()
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            await done.wait()
    except TimeoutError:
        return False
    return True


def open_database(url: str, deadlines: Deadlines | None = None, direct_url: str | None = None) -> Database:
    """A database for ``sqlite+aiosqlite:///file.db`` (or ``sqlite:///``) or ``postgresql+psycopg://…``. If ``url``
    leads through a pooler, ``direct_url`` leads past it, to the same PostgreSQL.

    Nothing is created or migrated here. Raises :class:`DatabaseUnavailable` for a URL that can't be opened.
    """
    deadlines = deadlines or Deadlines()
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise DatabaseUnavailable("database_url: it can't be read as a URL.") from None
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed, deadlines)
    from core.database import postgres

    engine, reading, direct = postgres.open_engines(parsed, sa.make_url(direct_url or url), deadlines)
    writer = PooledWriter(engine, postgres.FEW, postgres.MOST)
    return Database(
        engine, dialect="postgresql", file=None, writer=writer, deadlines=deadlines, reading=reading, direct=direct
    )


def _open_sqlite(url: sa.URL, deadlines: Deadlines) -> Database:
    path = Path(url.database) if url.database and url.database != ":memory:" else None
    if path is None:
        raise DatabaseUnavailable("SQLite needs a file: an in-memory database would lose every question.")
    if not path.parent.is_dir():
        raise DatabaseUnavailable(f"The folder of the database does not exist: {path.parent}.")
    file = DatabaseFile(path)
    writing, reading = (_sqlite_engine(url, file, deadlines, connections) for connections in (1, _READERS + 1))
    writer = GroupWriter(writing, file.check)
    return Database(writing, dialect="sqlite", file=file, writer=writer, deadlines=deadlines, reading=reading)


def _sqlite_engine(url: sa.URL, file: DatabaseFile, deadlines: Deadlines, connections: int) -> sa.Engine:
    """So many ``connections`` stay open. Whoever writes keeps one: another would read anew what it has written."""
    seconds = deadlines.statement.total_seconds()
    engine = sa.create_engine(
        url.set(drivername="sqlite+pysqlite"),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=5,
        pool_use_lifo=True,  # what was read last is in the cache of its connection
        pool_timeout=seconds,
        hide_parameters=True,
        connect_args={
            "isolation_level": None,
            "check_same_thread": False,
            "timeout": seconds,
            "cached_statements": 512,
        },
    )
    busy = int(seconds * 1000)
    sa.event.listen(engine, "do_connect", lambda _dialect, _record, arguments, options: _find(file, arguments, options))
    sa.event.listen(engine, "connect", lambda connection, _record: _set_pragmas(connection, busy))
    return engine


def _find(file: DatabaseFile, arguments: list[Any], options: dict[str, Any]) -> None:
    """SQLite itself would make a file that is not there, readable for everybody."""
    if not file.path.is_dir():
        file.make()
    arguments[0], options["uri"] = file.uri, True


def _set_pragmas(connection: Any, busy_milliseconds: int) -> None:
    """WAL so that readers never wait, FULL so that a commit survives a power cut."""
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        f"busy_timeout={busy_milliseconds}",
        "temp_store=MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")


def cannot_be_used(url: sa.URL, failure: BaseException, setting: str = "database_url") -> DatabaseUnavailable:
    """``failure`` is the driver's own, or SQLAlchemy's around it."""
    cause = getattr(failure, "orig", None) or failure
    return DatabaseUnavailable(f"{setting}: {_place(url)} can't be used: {_reason(cause)}.")


@contextlib.contextmanager
def opening(url: sa.URL, setting: str = "database_url") -> Iterator[None]:
    """Whatever goes wrong with the database inside is one :class:`DatabaseUnavailable` that says so."""
    try:
        yield
    except DBAPIError as failure:
        raise cannot_be_used(url, failure, setting) from failure
    except DatabaseUnavailable as failure:
        if failure.__cause__ is None:  # it has said in its own words what is wrong
            raise
        raise cannot_be_used(url, failure.__cause__, setting) from failure


def _place(url: sa.URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"the file {url.database}"
    given = url.host or url.query.get("host") or "its socket"
    hosts = given if isinstance(given, str) else ", ".join(given)
    if "@" in hosts:
        return "PostgreSQL"
    return f"PostgreSQL at {hosts}" + (f":{url.port}" if url.port else "")


def _reason(cause: BaseException) -> str:
    """The server's own words if it was reached, else the last part of what libpq tells: ``… failed: refused``."""
    said = str(cause).strip()
    if "FATAL:" in said:
        return said.split("FATAL:", 1)[1].strip().splitlines()[0]
    first = said.splitlines()[0] if said else type(cause).__name__
    return first.rsplit(": ", 1)[-1].rstrip(".")


__all__ = ["Database", "Job", "Tx", "open_database"]
