"""The database: one door for writing, one for reading, and what a transaction promises.

A transaction is one plain function that runs in a thread of its own; nothing in it can await, so nothing can be sent
while it is open. On SQLite one thread writes: it runs whatever has arrived as savepoints of one ``BEGIN IMMEDIATE``
and commits them together, so that a crowd pays for one ``fsync``. On PostgreSQL a pool of threads runs one
transaction each.

What :meth:`Tx.after_commit` was given runs in the event loop, in order, once the commit stands and before the
caller goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import QueuePool

from core.errors import AlreadyRunning, DatabaseUnavailable

T = TypeVar("T")
Job = Callable[["Tx"], T]

_MOST_TOGETHER = 64
"""How many jobs share one commit on SQLite, at most."""

CONNECT_SECONDS = 10
"""How long PostgreSQL may take to let us in, where its URL has no ``connect_timeout``."""

_READERS = 4
_POSTGRES_THREADS = 12
_AGAIN = {"40001", "40P01"}  # serialization failure, deadlock: PostgreSQL asks to run it again


@dataclass(slots=True)
class Tx:
    """One open transaction."""

    conn: sa.Connection
    hooks: list[Callable[[], None]] = field(default_factory=list)

    def after_commit(self, hook: Callable[[], None]) -> None:
        """Run ``hook`` in the event loop once this transaction is committed; never if it is not."""
        self.hooks.append(hook)


class Database:
    """``await write(job)`` and ``await read(job)``; see :func:`open_database`."""

    def __init__(self, engine: sa.Engine, *, dialect: str, path: Path | None) -> None:
        self.engine = engine
        self.dialect = dialect
        self.path = path
        self._lock_file: IO[str] | None = None
        self._closed = False
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="db-read")
        self._writer: _GroupWriter | _PooledWriter = (
            _GroupWriter(engine) if dialect == "sqlite" else _PooledWriter(engine)
        )

    async def write(self, job: Job[T]) -> T:
        """Run ``job`` in a transaction. Returns after the commit; whatever ``job`` raises undoes it alone.

        Raises :class:`DatabaseUnavailable` where the database can't be reached or can't commit, or is closed.
        """
        self._check_open()
        return await self._writer.submit(job)

    async def read(self, job: Callable[[sa.Connection], T]) -> T:
        """Run ``job`` on a connection that sees everything committed so far."""
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, job)

    def _check_open(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("The database is closed.")

    def _read(self, job: Callable[[sa.Connection], T]) -> T:
        with _translated(), self.engine.connect() as conn:
            value = job(conn)
            conn.rollback()
            return value

    @property
    def conninfo(self) -> str:
        """How libpq reaches the same PostgreSQL; it holds the password."""
        from psycopg.conninfo import make_conninfo

        _, options = self.engine.dialect.create_connect_args(self.engine.url)
        options.pop("context", None)  # SQLAlchemy's own
        return make_conninfo(**options)

    def hold_file(self) -> None:
        """Become the one process that uses this SQLite file; raises :class:`AlreadyRunning`.

        A lock of the operating system: it ends with the process.
        """
        self._lock_file = _lock_beside(self.path) if self.path is not None else None

    async def close(self) -> None:
        """Finish what was submitted, then let go of every connection and of the file."""
        self._closed = True
        await asyncio.to_thread(self._writer.close)
        self._readers.shutdown(wait=True)
        self.engine.dispose()
        if self._lock_file is not None:
            self._lock_file.close()


def open_database(url: str) -> Database:
    """A database for ``sqlite+aiosqlite:///file.db`` (or ``sqlite:///``) or ``postgresql+psycopg://…``.

    Nothing is created or migrated here. Raises :class:`DatabaseUnavailable` for a URL that can't be opened.
    """
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise DatabaseUnavailable("database_url: it can't be read as a URL.") from None
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    return Database(
        sa.create_engine(
            _with_patience(parsed.set(drivername="postgresql+psycopg")),
            poolclass=QueuePool,
            pool_size=_POSTGRES_THREADS + _READERS,
            max_overflow=4,
            pool_pre_ping=False,
            pool_recycle=1800,
            hide_parameters=True,  # questions and answers must not be in an error's text
        ),
        dialect="postgresql",
        path=None,
    )


def _with_patience(url: sa.URL) -> sa.URL:
    """libpq would wait for minutes for a host that does not answer."""
    if "connect_timeout" in url.query:
        return url
    return url.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})


def _open_sqlite(url: sa.URL) -> Database:
    path = Path(url.database) if url.database and url.database != ":memory:" else None
    if path is None:
        raise DatabaseUnavailable("SQLite needs a file: an in-memory database would lose every question.")
    if not path.parent.is_dir():
        raise DatabaseUnavailable(f"The folder of the database does not exist: {path.parent}.")
    engine = sa.create_engine(
        url.set(drivername="sqlite+pysqlite"),
        poolclass=QueuePool,
        pool_size=_READERS + 2,
        max_overflow=4,
        hide_parameters=True,
        connect_args={"isolation_level": None, "check_same_thread": False, "timeout": 10, "cached_statements": 512},
    )
    sa.event.listen(engine, "connect", _sqlite_pragmas)
    return Database(engine, dialect="sqlite", path=path)


def _sqlite_pragmas(connection: Any, _record: Any) -> None:
    """WAL so that readers never wait, FULL so that a commit survives a power cut."""
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "busy_timeout=10000",
        "temp_store=MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _lock_beside(path: Path) -> IO[str]:
    lock = Path(f"{path}.lock").open("w")  # noqa: SIM115 (held open for the life of the process)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise AlreadyRunning(f"Another handraise process is using {path}.") from None
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """What the driver says of an absent or failing database, in our own words."""
    try:
        yield
    except (OperationalError, sqlite3.OperationalError) as failure:
        raise _unavailable(failure) from failure


def _unavailable(failure: Exception) -> DatabaseUnavailable:
    cause = getattr(failure, "orig", failure)
    return DatabaseUnavailable(f"The database is not available: {type(cause).__name__}.")


class _Waiting(Generic[T]):
    """A submitted job and the caller that waits for it."""

    __slots__ = ("future", "job", "loop")

    def __init__(self, job: Job[T]) -> None:
        self.job = job
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()

    def settle(self, hooks: list[Callable[[], None]], value: Any, error: BaseException | None) -> None:
        """Called from the database's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            self.loop.call_soon_threadsafe(self._settle_in_loop, hooks, value, error)

    def _settle_in_loop(self, hooks: list[Callable[[], None]], value: Any, error: BaseException | None) -> None:
        """Whatever a hook does, the commit stands: the other hooks run, and the caller is told."""
        failures: list[Exception] = []
        for hook in hooks:
            try:
                hook()
            except Exception as failure:  # noqa: BLE001 (raised below, for the event loop to report)
                failures.append(failure)
        if self.future.cancelled():
            pass
        elif error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(value)
        if failures:
            raise failures[0]


class _GroupWriter:
    """SQLite's one writer: a thread that commits together what arrives together."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[_Waiting[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="db-write", daemon=True)
        self._thread.start()

    async def submit(self, job: Job[T]) -> T:
        waiting = _Waiting(job)
        self._queue.put(waiting)
        return await waiting.future

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            done: list[tuple[_Waiting[Any], list[Callable[[], None]], Any, BaseException | None]] = []
            try:
                with _translated(), self._engine.connect() as conn:
                    self._commit_together(conn, first, done)
            except BaseException as failure:  # noqa: BLE001 (told to every caller; the writer itself must live)
                told = [waiting for waiting, *_ in done] or [first]
                done = [(waiting, [], None, failure) for waiting in told]
            for waiting, hooks, value, error in done:
                waiting.settle(hooks, value, error)

    def _commit_together(
        self,
        conn: sa.Connection,
        first: _Waiting[Any],
        done: list[tuple[_Waiting[Any], list[Callable[[], None]], Any, BaseException | None]],
    ) -> None:
        """Run ``first`` and whatever else has arrived, commit once."""
        driver = conn.connection.driver_connection
        assert driver is not None  # noqa: S101 (a live connection has one)
        driver.execute("BEGIN IMMEDIATE")
        try:
            self._run_jobs(conn, driver, first, done)
            driver.execute("COMMIT")
        except BaseException:
            if driver.in_transaction:
                driver.execute("ROLLBACK")
            raise

    def _run_jobs(self, conn: sa.Connection, driver: Any, first: _Waiting[Any], done: list[Any]) -> None:
        waiting = first
        while True:
            tx = Tx(conn)
            try:
                driver.execute("SAVEPOINT job")
                value = waiting.job(tx)
            except BaseException as error:  # noqa: BLE001 (told to the one caller whose job it was)
                told = _unavailable(error) if isinstance(error, OperationalError) else error
                done.append((waiting, [], None, told))
                driver.execute("ROLLBACK TO job")
            else:
                done.append((waiting, tx.hooks, value, None))
            driver.execute("RELEASE job")
            if len(done) >= _MOST_TOGETHER or (following := self._following()) is None:
                return
            waiting = following

    def _following(self) -> _Waiting[Any] | None:
        """The next job that has arrived. The end of the queue stays in it, for :meth:`_run` to find."""
        try:
            following = self._queue.get_nowait()
        except queue.Empty:
            return None
        if following is None:
            self._queue.put(None)
        return following


class _PooledWriter:
    """PostgreSQL: every job a transaction of its own, in a pool of threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(_POSTGRES_THREADS, thread_name_prefix="db-write")

    async def submit(self, job: Job[T]) -> T:
        waiting = _Waiting(job)
        self._threads.submit(self._run, waiting)
        return await waiting.future

    def close(self) -> None:
        self._threads.shutdown(wait=True)

    def _run(self, waiting: _Waiting[Any]) -> None:
        try:
            hooks, value = self._attempt(waiting.job)
        except BaseException as error:  # noqa: BLE001 (told to the caller)
            waiting.settle([], None, error)
        else:
            waiting.settle(hooks, value, None)

    def _attempt(self, job: Job[T], tries: int = 5) -> tuple[list[Callable[[], None]], T]:
        while True:
            tries -= 1
            try:
                with _translated(), self._engine.begin() as conn:
                    tx = Tx(conn)
                    value = job(tx)
                return tx.hooks, value
            except (DBAPIError, DatabaseUnavailable) as failure:
                cause = failure if isinstance(failure, DBAPIError) else failure.__cause__
                state = getattr(getattr(cause, "orig", None), "sqlstate", None)
                if state not in _AGAIN or tries == 0:
                    raise


__all__ = ["Database", "Job", "Tx", "open_database"]
