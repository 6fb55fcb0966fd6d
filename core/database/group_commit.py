"""The threads that run transactions: one that commits together what arrives together on SQLite, a pool on PostgreSQL.

A call whose time was over before its turn came is never begun.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from core.database.call_deadlines import BeginAgain, Call, Tx, spending
from core.database.failures import READ_ONLY, in_our_words, sqlstate, translated
from core.errors import DatabaseUnavailable, Unavailable

T = TypeVar("T")
Hooks = list[Callable[[], None]]


class _Done(NamedTuple):
    """A job that was run, and what came of it."""

    call: Call[Any]
    hooks: Hooks
    value: Any
    error: BaseException | None = None


@dataclass(slots=True)
class _Group:
    """Jobs that share one commit, and what came of each that was run."""

    calls: list[Call[Any]]
    done: list[_Done] = field(default_factory=list)

    def settle(self) -> None:
        for one in self.done:
            one.call.settle(one.hooks, one.value, one.error)

    def fail(self, failure: BaseException) -> None:
        """Tell every caller, whether its job was run or not."""
        for call in self.calls:
            call.settle([], None, failure)


_MOST_TOGETHER = 64
"""How many jobs share one commit on SQLite, at most."""

_STANDSTILL = 0.1
"""So many seconds in which no transaction ends are taken for a wait for locks."""
_TAKEN = object()

_AGAIN = {"40001", "40P01"}  # serialization failure, deadlock: PostgreSQL asks to run it again


class GroupWriter:
    """SQLite's one writer. ``check`` is called before each commit, and keeps it from happening by raising.

    It keeps its connection until something fails: to take one from the pool and to give it back costs as much as two
    statements.
    """

    def __init__(self, engine: sa.Engine, check: Callable[[], None]) -> None:
        self._engine = engine
        self._check = check
        self._queue: queue.SimpleQueue[Call[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="db-write", daemon=True)
        self._thread.start()

    def submit(self, call: Call[Any]) -> None:
        self._queue.put(call)

    def close(self) -> None:
        """Finish the calls that were submitted, then end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        group = self._next()
        while group is not None:
            try:
                with translated(), self._engine.connect() as conn:
                    while group is not None:
                        self._commit_together(conn, group)
                        group.settle()
                        group = self._next()
            except BaseException as failure:  # noqa: BLE001 (told to every caller; the writer itself must live)
                if group is not None:
                    group.fail(failure)
            if group is not None:
                group = self._next()

    def _next(self) -> _Group | None:
        """Waits for it; ``None`` once there is nothing more to come."""
        while (first := self._queue.get()) is not None:
            if not first.given_up:
                return _Group([first])
        return None

    def _commit_together(self, conn: sa.Connection, group: _Group) -> None:
        """Run the group and whatever else has arrived, commit once."""
        driver = conn.connection.driver_connection
        assert driver is not None  # noqa: S101 (a live connection has one)
        conn.rollback()  # SQLAlchemy saw no commit of the last one, and takes it for open
        try:
            driver.execute("BEGIN IMMEDIATE")
            for call in self._arriving(group.calls):
                group.done.append(_performed(conn, driver, call))
            self._check()
            driver.execute("COMMIT")
        except BaseException as failure:
            if driver.in_transaction:
                driver.execute("ROLLBACK")
            if _has_bad_disk(failure):
                conn.invalidate()  # a file that is opened anew may be a good one again
            raise

    def _arriving(self, calls: list[Call[Any]]) -> Iterator[Call[Any]]:
        """The first of ``calls``, and behind it what else has arrived, which becomes one of them."""
        yield calls[0]
        for _ in range(_MOST_TOGETHER - 1):
            following = self._following()
            if following is None:
                return
            calls.append(following)
            yield following

    def _following(self) -> Call[Any] | None:
        """The next job that has arrived. The end of the queue stays in it, for :meth:`_next` to find."""
        while True:
            try:
                following = self._queue.get_nowait()
            except queue.Empty:
                return None
            if following is None:
                self._queue.put(None)
                return None
            if not following.given_up:
                return following


def _performed(conn: sa.Connection, driver: Any, call: Call[Any]) -> _Done:
    """A job that fails is taken back alone. Raises if SQLite has taken everything back, as it does for a full disk."""
    tx = Tx(conn)
    driver.execute("SAVEPOINT job")
    try:
        done = _Done(call, tx.hooks, call.job(tx))
    except BaseException as error:
        failure = in_our_words(error)
        if not driver.in_transaction:
            raise failure from error
        done = _Done(call, [], None, failure)
        driver.execute("ROLLBACK TO job")
    driver.execute("RELEASE job")
    return done


def _has_bad_disk(failure: BaseException) -> bool:
    told = in_our_words(failure)
    return isinstance(told, DatabaseUnavailable) and told.reason in {Unavailable.DISK_FAILS, Unavailable.DAMAGED}


class PooledWriter:
    """PostgreSQL: every job a transaction of its own, in a pool of threads.

    ``few`` threads do the work: each one more that has something to compute takes the interpreter from the others, and
    three times as many get a third less done. While all of those wait for locks, the rest of ``most`` take over.
    """

    def __init__(self, engine: sa.Engine, few: int, most: int) -> None:
        self._engine = engine
        self._few = ThreadPoolExecutor(few, thread_name_prefix="db-write")
        self._rest = ThreadPoolExecutor(most - few, thread_name_prefix="db-write-more")
        self._unbegun: dict[Call[Any], None] = {}
        self._ended = 0
        self._is_watched = False

    def submit(self, call: Call[Any]) -> None:
        self._unbegun[call] = None
        self._few.submit(self._run, call)
        if not self._is_watched:
            self._watch(call.loop)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_watched = True
        loop.call_later(_STANDSTILL, self._look, loop, self._ended, [*self._unbegun])

    def _look(self, loop: asyncio.AbstractEventLoop, ended: int, waited: Sequence[Call[Any]]) -> None:
        """Whether anything has moved since ``ended``; ``waited`` have not begun then."""
        self._is_watched = False
        if ended == self._ended:
            for call in waited:
                if call in self._unbegun:
                    self._rest.submit(self._run, call)
        if self._unbegun:
            self._watch(loop)

    def close(self) -> None:
        """Finish the calls that were submitted, then end."""
        self._few.shutdown(wait=True)
        self._rest.shutdown(wait=True)

    def _run(self, call: Call[Any]) -> None:
        if self._unbegun.pop(call, _TAKEN) is _TAKEN or call.given_up:
            return
        try:
            with spending(call.until, call.statement):
                hooks, value = self._attempt(call)
        except BaseException as error:  # noqa: BLE001 (told to the caller)
            call.settle([], None, error)
        else:
            call.settle(hooks, value, None)
        self._ended += 1

    def _attempt(self, call: Call[T], tries: int = 5) -> tuple[Hooks, T]:
        first: Callable[[Tx], None] | None = None
        is_elsewhere = False
        while True:
            tries -= 1
            try:
                with translated(), self._engine.begin() as conn:
                    allow(conn, call)
                    tx = Tx(conn)
                    if first is not None:
                        first(tx)
                    value = call.job(tx)
                return tx.hooks, value
            except BeginAgain as again:  # its statements have the deadline of the call
                first, tries = again.first, tries + 1
            except (DBAPIError, DatabaseUnavailable) as failure:
                state = sqlstate(failure)
                if state == READ_ONLY and not is_elsewhere:  # another server may have taken its place already
                    is_elsewhere = True
                elif state not in _AGAIN or tries == 0:
                    raise


class Readers:
    """Threads that read, each on a connection that sees everything committed so far."""

    def __init__(self, engine: sa.Engine, threads: int) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="db-read")

    def submit(self, call: Call[Any]) -> None:
        self._threads.submit(self._run, call)

    def close(self) -> None:
        self._threads.shutdown(wait=True)

    def _run(self, call: Call[Any]) -> None:
        if call.given_up:
            return
        try:
            with spending(call.until, call.statement), translated(), self._engine.connect() as conn:
                value = self._read(conn, call)
        except BaseException as error:  # noqa: BLE001 (told to the caller)
            call.settle([], None, error)
        else:
            call.settle([], value, None)

    def _read(self, conn: sa.Connection, call: Call[T]) -> T:
        try:
            if call.statement is not None and conn.dialect.name == "postgresql":  # has no transaction otherwise
                conn.execution_options(isolation_level="READ COMMITTED")
            allow(conn, call)
            value = call.job(conn)
            conn.rollback()
        except BaseException as failure:
            if _has_bad_disk(failure):
                conn.invalidate()
            raise
        return value


_ALLOW = sa.text("SELECT set_config('statement_timeout', :span, true)")


def allow(conn: sa.Connection, call: Call[Any]) -> None:
    """A call that was given more time than usual is given it by PostgreSQL too, until its transaction ends."""
    if call.statement is not None and conn.dialect.name == "postgresql":
        conn.execute(_ALLOW, {"span": f"{call.statement:.0f}s"})
