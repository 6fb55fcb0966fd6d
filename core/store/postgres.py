"""Connections to PostgreSQL that give up by themselves. Loaded if PostgreSQL is used.

Every wait of psycopg's for the server ends by a deadline of ours (:mod:`core.store.call_deadlines`). A connection whose
answer has not come is thrown away at once, without a word to the server: that word would not arrive either.

Source: https://www.psycopg.org/psycopg3/docs/; https://www.postgresql.org/docs/current/libpq-connect.html
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg import waiting
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn
from sqlalchemy.pool import QueuePool

from core.store.call_deadlines import Deadlines, left, spending
from core.store.failures import in_sqlalchemys_words

RV = TypeVar("RV")

logging.getLogger("psycopg").setLevel(logging.ERROR)
"""Its warnings are of what it raises too."""

CONNECT_SECONDS = 5
"""How long PostgreSQL may take to let us in, where its URL has no ``connect_timeout``."""

FEW, MOST = 4, 12
"""Threads that write; see :class:`core.store.group_commit.PooledWriter`."""
READERS = 4

_NETWORK: Mapping[str, str] = {
    "connect_timeout": str(CONNECT_SECONDS),
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""libpq's settings, where the operator's URL has none of its own: a dead line is noticed after some 20 seconds."""

_PING_AFTER = 5.0
_PING_SECONDS = 2.0
"""A connection that has rested so long is asked whether it lives before it is used, and gets so long to say so."""

_IDLE_IN_TRANSACTION = timedelta(seconds=8)
"""A client that has gone silent in a transaction holds its locks for so long, and then the server ends it."""

_LET_GO = sa.text(
    """
    SELECT set_config(name, value, false) FROM (VALUES
        ('statement_timeout', CAST(:statement AS text)), ('idle_in_transaction_session_timeout', CAST(:idle AS text))
    ) AS ours (name, value) WHERE current_setting(name) = '0'
    """
)
"""The server's side of it, if nobody has set it for this role or database: what we have given up ends there too."""

_INTERVAL = 0.1
A_DAY = 86_400.0


class Connection(psycopg.Connection[Any]):
    """The connection of a thread. A statement is given up at its deadline, and the connection is thrown away."""

    statement_seconds = 5.0

    def wait(self, gen: PQGen[RV], interval: float = _INTERVAL, timeout: float | None = None) -> RV:
        most = left(self.statement_seconds) if timeout is None else timeout
        try:
            return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=most)
        except BaseException as failure:
            if not _is_the_answer(failure):
                _throw_away_unanswered(self.pgconn)
            raise


class AsyncConnection(psycopg.AsyncConnection[Any]):
    """The connection of the event loop. Whoever is cancelled does not wait for the server's word on it either."""

    statement_seconds = 5.0

    async def wait(  # as psycopg's own
        self,
        gen: PQGen[RV],
        interval: float = _INTERVAL,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> RV:
        most = self.statement_seconds if timeout is None else timeout
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=interval, timeout=most)
        except BaseException:
            _throw_away_unanswered(self.pgconn)
            raise


def _is_the_answer(failure: BaseException) -> bool:
    """Whether it is what the server has said to a statement; of a pipeline it owes more answers, and they will come."""
    return isinstance(failure, psycopg.Error) and failure.sqlstate is not None


def _throw_away_unanswered(pgconn: PGconn) -> None:
    """Close it if the server still owes an answer; nothing can be asked on it before that has come."""
    if pgconn.transaction_status == TransactionStatus.ACTIVE:
        pgconn.finish()


def async_connections(deadlines: Deadlines) -> type[AsyncConnection]:
    """The class of connections that keep ``deadlines``."""
    seconds = deadlines.statement.total_seconds()

    class Keeping(AsyncConnection):
        statement_seconds = seconds

    return Keeping


def open_engines(url: sa.URL, deadlines: Deadlines) -> tuple[sa.Engine, sa.Engine]:
    """One that writes, and one that reads without a transaction: a statement is then one way there and back, in place
    of three. Nothing is connected yet."""
    writing = _open(url, deadlines, MOST)
    reading = _open(url, deadlines, READERS, isolation_level="AUTOCOMMIT")
    return writing, reading


def _open(url: sa.URL, deadlines: Deadlines, connections: int, **options: Any) -> sa.Engine:
    """SQLAlchemy over a pool whose connections keep ``deadlines``."""
    engine = sa.create_engine(
        _with_patience(url.set(drivername="postgresql+psycopg")),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=4,
        pool_timeout=deadlines.statement.total_seconds(),
        pool_pre_ping=False,  # see _ask_a_rested_one
        pool_recycle=1800,
        hide_parameters=True,  # questions and answers must not be in an error's text
        **options,
    )
    seconds = deadlines.statement.total_seconds()

    class Keeping(Connection):
        statement_seconds = seconds

    @sa.event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        options["connect_timeout"] = _patience(float(options["connect_timeout"]))
        return Keeping.connect(*arguments, **options)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: Any) -> None:
        values = {"statement": _milliseconds(deadlines.statement * 0.9), "idle": _milliseconds(_IDLE_IN_TRANSACTION)}
        reads = connection.autocommit
        connection.autocommit = True
        compiled = _LET_GO.compile(dialect=engine.dialect)
        connection.execute(str(compiled), values)
        connection.autocommit = reads

    @sa.event.listens_for(engine, "commit")
    def commit(conn: sa.Connection) -> None:
        """The server would carry out the COMMIT of a transaction that has failed as a ROLLBACK, and say nothing."""
        driver: Any = conn.connection.driver_connection
        if driver.info.transaction_status == TransactionStatus.INERROR:
            failure = psycopg.errors.InFailedSqlTransaction("a statement of the transaction has failed")
            raise in_sqlalchemys_words(conn, "COMMIT", failure) from failure

    _ask_a_rested_one(engine)
    return engine


def _ask_a_rested_one(engine: sa.Engine) -> None:
    """Pre-ping, with a bound, of connections that nobody has used for a while: where they come one after the other the
    ping would be a tenth of what they cost."""

    @sa.event.listens_for(engine, "checkin")
    def rest(_connection: Any, record: Any) -> None:
        record.info["rests_since"] = time.monotonic()

    @sa.event.listens_for(engine, "checkout")
    def ask(connection: Any, record: Any, _proxy: Any) -> None:
        since = record.info.get("rests_since")
        if since is None or time.monotonic() - since < _PING_AFTER:
            return
        try:
            with spending(time.monotonic() + _PING_SECONDS):
                engine.dialect.do_ping(connection)
        except psycopg.Error as failure:
            raise sa.exc.InvalidatePoolError from failure  # the others have rested on the same line


def _patience(wanted: float) -> int:
    """Whole seconds, as libpq has them. The URL's own word counts as far as this thread's call has as much left."""
    return max(1, int(min(wanted if wanted > 0 else A_DAY, left(A_DAY))))


def _milliseconds(span: timedelta) -> str:
    return f"{int(span.total_seconds() * 1000)}ms"


def _with_patience(url: sa.URL) -> sa.URL:
    """libpq would wait for minutes for a host that does not answer; what the URL says itself counts."""
    return url.update_query_dict({name: value for name, value in _NETWORK.items() if name not in url.query})
