"""Connections to PostgreSQL that give up by themselves. Loaded if PostgreSQL is used.

Every wait of psycopg's for the server ends by a deadline of ours (:mod:`core.database.call_deadlines`). A connection
whose answer has not come is thrown away at once, without a word to the server: that word would not arrive either.

If a server no longer serves us (:func:`core.database.failures.is_gone`), everything that was connected with it is let
go, so that whoever comes next is connected with the one that has taken its place. Behind a pooler a connection has no
session of its own: nothing is planned there, and limits are those of a transaction (:mod:`core.database.poolers`).

Source: https://www.psycopg.org/psycopg3/docs/; https://www.postgresql.org/docs/current/libpq-connect.html
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg import waiting
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn
from sqlalchemy.pool import QueuePool

from core.database.call_deadlines import Deadlines, left, spending
from core.database.failures import SHOW_READ_ONLY, has_timed_out, in_sqlalchemys_words, is_gone

RV = TypeVar("RV")

logging.getLogger("psycopg").setLevel(logging.ERROR)
"""Its warnings are of what it raises too."""

CONNECT_SECONDS = 5
"""How long PostgreSQL may take to let us in, where its URL has no ``connect_timeout``."""
CONNECT_SECONDS_EACH = 2
"""The same where the URL names several hosts, which are tried one after the other."""

FEW, MOST = 4, 12
"""Threads that write; see :class:`core.database.group_commit.PooledWriter`."""
READERS = 4
SESSIONS = 1
"""Connections that are kept for the next lock of a session (:mod:`core.database.locks`)."""

_NETWORK: Mapping[str, str] = {
    "connect_timeout": str(CONNECT_SECONDS),
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""libpq's settings, where the operator's URL has none of its own: a dead line is noticed after some 20 seconds."""

_ASK_AFTER = 5.0
_ASK_SECONDS = 2.0
"""A connection that was not asked for so long is asked before it is used whether it lives, and whether its server takes
writes; it gets so long to say so."""

_IDLE_IN_TRANSACTION = timedelta(seconds=8)
"""A client that has gone silent in a transaction holds its locks for so long, and then the server ends it."""

_LET_GO = sa.text(
    """
    SELECT set_config(name, value, CAST(:transaction AS boolean)) FROM (VALUES
        ('statement_timeout', CAST(:statement AS text)), ('idle_in_transaction_session_timeout', CAST(:idle AS text))
    ) AS ours (name, value) WHERE current_setting(name) = '0'
    """
)
"""The server's side of it, if nobody has set it for this role or database: what we have given up ends there too. For
a session, or for one transaction."""

_POOLED = "is_behind_a_pooler"
_NO_WRITES = "the server takes no writes"

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


async def check_takes_writes(connection: psycopg.AsyncConnection[Any]) -> None:
    """Raises the driver's error if the connection is broken, or its server takes no writes: another one does then, and
    a new connection may lead there. This one is closed, so that no pool gives it to anybody again."""
    cursor = await connection.execute(SHOW_READ_ONLY)
    if await cursor.fetchone() != ("off",):
        await connection.close()
        raise psycopg.errors.ReadOnlySqlTransaction(_NO_WRITES)


class Engines(NamedTuple):
    """``reading`` has no transaction: a statement is then one way there and back, in place of three. ``direct``
    neither, and each of its connections has a session of its own."""

    writing: sa.Engine
    reading: sa.Engine
    direct: sa.Engine


def open_engines(url: sa.URL, direct_url: sa.URL, deadlines: Deadlines) -> Engines:
    """Nothing is connected yet. ``direct_url`` leads past a pooler; it may be the same."""
    engines = Engines(
        _open(url, deadlines, MOST),
        _open(url, deadlines, READERS, isolation_level="AUTOCOMMIT"),
        _open(direct_url, deadlines, SESSIONS, isolation_level="AUTOCOMMIT"),
    )
    _let_go_together(engines)
    return engines


def is_pooled(conn: sa.Connection) -> bool:
    """Whether somebody else than PostgreSQL itself answers this connection of one of these engines."""
    return bool(conn.info[_POOLED])


def server_process(connection: psycopg.Connection[Any]) -> int:
    """The server's process that answers now. PostgreSQL tells each client by which process it is served, so that a
    statement can be cancelled; a pooler makes such a number up, since it serves one client by many."""
    row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return int(row[0]) if row else 0


def _let_go_together(engines: Sequence[sa.Engine]) -> None:
    """Once a connection is found broken, those that were made before are closed: they lead to the same server. What is
    in use is closed when it comes back. If a connection was merely too slow, those of the other engines stay."""
    let_go, alone = dict.fromkeys(engines, float("-inf")), threading.Lock()

    def listen(engine: sa.Engine) -> None:
        @sa.event.listens_for(engine, "invalidate")
        def broken(_connection: Any, record: Any, failure: BaseException | None) -> None:
            with alone:
                if failure is None or record.info["begun_at"] < let_go[engine]:
                    return
                for one in [engine] if has_timed_out(failure) else engines:
                    if one is engine and isinstance(failure, sa.exc.InvalidatePoolError):  # which its pool sees to
                        continue
                    one.dispose()
                    let_go[one] = time.monotonic()

        @sa.event.listens_for(engine, "checkin")
        def back(connection: Any, record: Any) -> None:
            """SQLAlchemy would leave it to the garbage collector."""
            if connection is not None and record.info["begun_at"] < let_go[engine]:
                record.invalidate()

    for engine in engines:
        listen(engine)


def _open(url: sa.URL, deadlines: Deadlines, connections: int, **options: Any) -> sa.Engine:
    """SQLAlchemy over a pool whose connections keep ``deadlines``."""
    engine = sa.create_engine(
        _with_patience(url.set(drivername="postgresql+psycopg")),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=4,
        pool_timeout=deadlines.statement.total_seconds(),
        pool_pre_ping=False,  # see _ask_now_and_then
        pool_recycle=1800,
        hide_parameters=True,  # questions and answers must not be in an error's text
        **options,
    )
    seconds = deadlines.statement.total_seconds()
    limits = {"statement": _milliseconds(deadlines.statement * 0.9), "idle": _milliseconds(_IDLE_IN_TRANSACTION)}

    class Keeping(Connection):
        statement_seconds = seconds

    @sa.event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, record: Any, arguments: Any, options: Any) -> Any:
        record.info["begun_at"] = time.monotonic()
        options["connect_timeout"] = _patience(float(options["connect_timeout"]))
        return Keeping.connect(*arguments, **options)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, record: Any) -> None:
        with _without_transaction(connection):
            record.info[_POOLED] = server_process(connection) != connection.info.backend_pid
            record.info["is_read_only"] = _is_read_only(connection)
            if record.info[_POOLED]:
                connection.prepare_threshold = None
            else:
                connection.execute(str(_LET_GO.compile(dialect=engine.dialect)), {**limits, "transaction": False})

    @sa.event.listens_for(engine, "begin")
    def begin(conn: sa.Connection) -> None:
        driver: Any = conn.connection.driver_connection
        if is_pooled(conn) and not driver.autocommit:
            conn.execute(_LET_GO, {**limits, "transaction": True})

    @sa.event.listens_for(engine, "commit")
    def commit(conn: sa.Connection) -> None:
        """The server would carry out the COMMIT of a transaction that has failed as a ROLLBACK, and say nothing."""
        driver: Any = conn.connection.driver_connection
        if driver.info.transaction_status == TransactionStatus.INERROR:
            failure = psycopg.errors.InFailedSqlTransaction("a statement of the transaction has failed")
            raise in_sqlalchemys_words(conn, "COMMIT", failure) from failure

    @sa.event.listens_for(engine, "handle_error")
    def judge(context: sa.engine.ExceptionContext) -> None:
        context.is_disconnect = context.is_disconnect or is_gone(context.original_exception)

    _ask_now_and_then(engine)
    return engine


def _ask_now_and_then(engine: sa.Engine) -> None:
    """Pre-ping, with a bound, now and then: before each use it would be a tenth of what a transaction costs. So nobody
    reads for long from a server that has handed over to another one: it would go on to say what was there before."""

    @sa.event.listens_for(engine, "checkout")
    def ask(connection: Any, record: Any, _proxy: Any) -> None:
        now = time.monotonic()
        asked_at = record.info.setdefault("asked_at", now)
        if asked_at is now or now - asked_at < _ASK_AFTER:  # it was just connected
            return
        try:
            with spending(time.monotonic() + _ASK_SECONDS), _without_transaction(connection):
                if _is_read_only(connection):
                    raise psycopg.errors.ReadOnlySqlTransaction(_NO_WRITES)
        except psycopg.Error as failure:
            raise sa.exc.InvalidatePoolError from failure  # the others are on the same line
        record.info["asked_at"] = time.monotonic()

    @sa.event.listens_for(engine, "checkin")
    def back(connection: Any, record: Any) -> None:
        """Of a server that takes no writes none is kept: the next one may lead to the server that does."""
        if connection is not None and record.info["is_read_only"]:
            record.invalidate()


@contextmanager
def _without_transaction(connection: psycopg.Connection[Any]) -> Iterator[None]:
    before = connection.autocommit
    if not before:
        connection.autocommit = True
    yield
    if not before:
        connection.autocommit = False


def _is_read_only(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute(SHOW_READ_ONLY, prepare=False).fetchone() != ("off",)


def _patience(wanted: float) -> int:
    """Whole seconds, as libpq has them. The URL's own word counts as far as this thread's call has as much left."""
    return max(1, int(min(wanted if wanted > 0 else A_DAY, left(A_DAY))))


def _milliseconds(span: timedelta) -> str:
    return f"{int(span.total_seconds() * 1000)}ms"


def _with_patience(url: sa.URL) -> sa.URL:
    """libpq would wait for minutes for a host that does not answer; what the URL says itself counts."""
    ours = {**_NETWORK, "connect_timeout": str(CONNECT_SECONDS_EACH)} if _has_several_hosts(url) else _NETWORK
    return url.update_query_dict({name: value for name, value in ours.items() if name not in url.query})


def _has_several_hosts(url: sa.URL) -> bool:
    host = url.query.get("host", url.host or "")
    return not isinstance(host, str) or "," in host
