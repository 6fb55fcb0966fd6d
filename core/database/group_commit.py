"""The threads that run transactions: one that commits together what arrives together on SQLite, a pool on PostgreSQL.

A call whose time was over before its turn came is never begun.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
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

_MANY_ROWS = 500
_PAGES_IN_WAL = 1000
"""A commit that finds so many carries them over into the file, and its callers wait for that. Those of a transaction
that has changed many rows have waited long enough: the next commit does it, whatever it is, so that the WAL stays small
though one long transaction follows the other."""

_GATHERING = 0.002
"""So many seconds does a job that is in no hurry wait for others to be committed with."""

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
        self._left_to_the_next = False
        self._checkpoints: tuple[Any, int] | None = None
        """The connection that was last told how many pages make one, and how many."""
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
                return _Group(self._gathered(first))
        return None

    def _commit_together(self, conn: sa.Connection, group: _Group) -> None:
        """Run what was gathered and whatever else has arrived, commit once."""
        driver = conn.connection.driver_connection
        assert driver is not None  # noqa: S101 (a live connection has one)
        conn.rollback()  # SQLAlchemy saw no commit of the last one, and takes it for open
        changed = driver.total_changes
        try:
            driver.execute("BEGIN IMMEDIATE")
            self._run_jobs(conn, driver, group)
            self._check()
            leaves = driver.total_changes - changed >= _MANY_ROWS and not self._left_to_the_next
            self._checkpoint_at(driver, 0 if leaves else _PAGES_IN_WAL)
            driver.execute("COMMIT")
            self._left_to_the_next = leaves
        except BaseException as failure:
            if driver.in_transaction:
                driver.execute("ROLLBACK")
            if _has_bad_disk(failure):
                conn.invalidate()  # a file that is opened anew may be a good one again
            raise

    def _checkpoint_at(self, driver: Any, pages: int) -> None:
        if self._checkpoints != (driver, pages):
            driver.execute(f"PRAGMA wal_autocheckpoint={pages}")
            self._checkpoints = (driver, pages)

    def _run_jobs(self, conn: sa.Connection, driver: Any, group: _Group) -> None:
        """Hardly a job fails after it has changed something. So none has a savepoint until one does: then all is taken
        back, and these and what comes after them have one each."""
        perform: Callable[[sa.Connection, Any, Call[Any]], _Done] = _performed
        done = group.done
        for call in self._arriving(group.calls):
            changed = driver.total_changes
            one = perform(conn, driver, call)
            done.append(one)
            _raise_what_ended(driver, one)
            if one.error is not None and perform is _performed and driver.total_changes != changed:
                perform = _performed_alone
                driver.execute("ROLLBACK")
                driver.execute("BEGIN IMMEDIATE")
                for place, taken_back in enumerate(done):
                    done[place] = perform(conn, driver, taken_back.call)
                    _raise_what_ended(driver, done[place])

    def _arriving(self, calls: list[Call[Any]]) -> Iterator[Call[Any]]:
        """``calls``, and behind them what else has arrived, which becomes one of them."""
        yield from [*calls]
        for _ in range(_MOST_TOGETHER - len(calls)):
            following = self._following()
            if following is None:
                return
            calls.append(following)
            yield following

    def _gathered(self, first: Call[Any]) -> list[Call[Any]]:
        """``first``, and what else comes in time if it is in no hurry: until somebody is, or its time is over."""
        together = [first]
        until = time.monotonic() + _GATHERING
        while together[-1].can_wait and (left := until - time.monotonic()) > 0 and len(together) < _MOST_TOGETHER:
            following = self._following(left)
            if following is None:
                break
            together.append(following)
        return together

    def _following(self, patience: float = 0) -> Call[Any] | None:
        """The next job that has arrived, or does so within ``patience`` (seconds). The end of the queue stays in it,
        for :meth:`_next` to find."""
        while True:
            try:
                following = self._queue.get(patience > 0, patience or None)
            except queue.Empty:
                return None
            if following is None:
                self._queue.put(None)
                return None
            if not following.given_up:
                return following


def _performed(conn: sa.Connection, _driver: Any, call: Call[Any]) -> _Done:
    tx = Tx(conn)
    try:
        return _Done(call, tx.hooks, call.job(tx))
    except BaseException as error:  # noqa: BLE001 (told to the caller)
        return _Done(call, [], None, in_our_words(error))


def _performed_alone(conn: sa.Connection, driver: Any, call: Call[Any]) -> _Done:
    """As :func:`_performed`; what it has changed stands only if it does not fail."""
    driver.execute("SAVEPOINT job")
    one = _performed(conn, driver, call)
    if driver.in_transaction:
        if one.error is not None:
            driver.execute("ROLLBACK TO job")
        driver.execute("RELEASE job")
    return one


def _raise_what_ended(driver: Any, one: _Done) -> None:
    """A full disk: SQLite has taken all of it back, and not this job alone."""
    if one.error is not None and not driver.in_transaction:
        raise one.error


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
