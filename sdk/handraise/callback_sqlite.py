"""Running and done callbacks in a SQLite file: they outlive the process, and several processes share them.

Imported only when it is named: not every agent needs :mod:`sqlite3`.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from os import PathLike, fspath

from handraise.callback_stores import KEEP, CallbackState, checked_keep, utc_now
from handraise.errors import ConfigurationError

LEASE = timedelta(seconds=30)
BUSY_SECONDS = 5.0
"""How long one statement waits while another process writes; the server itself waits 10 s."""

_TABLE = """
CREATE TABLE IF NOT EXISTS handraise_callbacks (
  webhook_id TEXT PRIMARY KEY, session_id TEXT, holder TEXT NOT NULL, held_until REAL NOT NULL, done_at REAL
) WITHOUT ROWID
"""
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS handraise_callbacks_done ON handraise_callbacks (done_at)",
    "CREATE INDEX IF NOT EXISTS handraise_callbacks_running ON handraise_callbacks (session_id) WHERE done_at IS NULL",
)
_FORGET = "DELETE FROM handraise_callbacks WHERE done_at < ?"
_FORGET_GIVEN_UP = "DELETE FROM handraise_callbacks WHERE done_at IS NULL AND held_until < ?"
_FIND = "SELECT done_at IS NOT NULL FROM handraise_callbacks WHERE webhook_id = ?"
_IS_BUSY = "SELECT 1 FROM handraise_callbacks WHERE session_id = ? AND done_at IS NULL"
_BEGIN = "INSERT INTO handraise_callbacks VALUES (?, ?, ?, ?, NULL)"
_RENEW = "UPDATE handraise_callbacks SET held_until = ? WHERE webhook_id = ? AND holder = ? AND done_at IS NULL"
_RELEASE = "DELETE FROM handraise_callbacks WHERE webhook_id = ? AND holder = ? AND done_at IS NULL"
# An insert as well: the row may have lapsed, and been forgotten, while its handler was at work.
_FINISH = """
INSERT INTO handraise_callbacks VALUES (?, NULL, '', 0, ?)
ON CONFLICT (webhook_id) DO UPDATE SET done_at = coalesce(done_at, excluded.done_at)
"""


class SqliteCallbackStore:
    """A table ``handraise_callbacks`` in the SQLite file at ``path``, which is made if it is missing.

    A running callback is its holder's for ``lease`` after the last sign of life. The receiver renews it while the
    handler works, so that it lapses only with its process; then the server's next try is handled. A handler that holds
    up the event loop for longer than the lease counts as gone.

    ``path`` may be your own database: :meth:`finish_in` then marks a callback as done in the transaction that writes
    what its handler did.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        keep: timedelta = KEEP,
        lease: timedelta = LEASE,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._path = fspath(path)
        if not self._path or self._path == ":memory:":
            raise ConfigurationError("path must name a file; MemoryCallbackStore keeps callbacks in memory.")
        if lease <= timedelta(0):
            raise ConfigurationError("lease must be longer than nothing.")
        self._keep = checked_keep(keep)
        self._lease = lease
        self._now = now

    @property
    def lease(self) -> timedelta | None:
        return self._lease

    async def begin(self, webhook_id: str, session_id: str | None, holder: str) -> CallbackState:
        return await asyncio.to_thread(self._begin, webhook_id, session_id, holder)

    async def renew(self, webhook_id: str, holder: str) -> None:
        held_until = (self._now() + self._lease).timestamp()
        await asyncio.to_thread(self._run, _RENEW, held_until, webhook_id, holder)

    async def finish(self, webhook_id: str, holder: str) -> None:
        await asyncio.to_thread(self._run, _FINISH, webhook_id, self._now().timestamp())

    async def release(self, webhook_id: str, holder: str) -> None:
        await asyncio.to_thread(self._run, _RELEASE, webhook_id, holder)

    def finish_in(self, connection: sqlite3.Connection, webhook_id: str) -> None:
        """Mark it as done on ``connection``, whose transaction you commit: it is done exactly if that transaction is
        committed.

        ``connection`` must be one to the file of this store. If the transaction is rolled back, let the handler raise:
        one that returns has its callback marked as done anyway.
        """
        connection.execute(_FINISH, (webhook_id, self._now().timestamp()))

    def _begin(self, webhook_id: str, session_id: str | None, holder: str) -> CallbackState:
        now = self._now()
        with self._transaction() as connection:
            connection.execute(_FORGET, ((now - self._keep).timestamp(),))
            connection.execute(_FORGET_GIVEN_UP, (now.timestamp(),))
            found = connection.execute(_FIND, (webhook_id,)).fetchone()
            if found is not None:
                return CallbackState.DONE if found[0] else CallbackState.RUNNING
            if connection.execute(_IS_BUSY, (session_id,)).fetchone() is not None:
                return CallbackState.RUNNING
            connection.execute(_BEGIN, (webhook_id, session_id, holder, (now + self._lease).timestamp()))
            return CallbackState.NEW

    def _run(self, statement: str, *values: str | float) -> None:
        with self._transaction() as connection:
            connection.execute(statement, values)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection for this call alone, so that threads and forks need no care."""
        with closing(sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            # At once for writing: a reader that turns writer in the middle is refused instead of waiting.
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back
                for statement in (_TABLE, *_INDEXES):
                    connection.execute(statement)
                yield connection
