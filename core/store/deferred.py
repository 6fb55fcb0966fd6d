"""PostgreSQL: statements whose results nobody reads wait for the next one that is read, or for the end.

They then go out together, and the transaction's BEGIN with the first: a question of ten statements is four ways to the
server and back. If one fails, the statement that it went out with says so. Nothing of the transaction stands then.

Source: https://www.postgresql.org/docs/current/libpq-pipeline-mode.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from core.store.failures import in_sqlalchemys_words

Statement = tuple[str, Sequence[Any]]
"""Text for the driver, and its values."""

_WAITING = "statements that wait"
_DEFERS = "defers_statements"
_IN_TRANSACTION, _FAILED = 2, 3  # libpq's PQTRANS_INTRANS and PQTRANS_INERROR


def install(engine: sa.Engine) -> None:
    """From here on statements wait, and go out before whatever else happens on a connection of ``engine``."""
    engine.update_execution_options(**{_DEFERS: True})
    sa.event.listen(engine, "before_cursor_execute", lambda conn, *_: send(conn))
    sa.event.listen(engine, "commit", _send_the_last)
    sa.event.listen(engine, "rollback", lambda conn: None if conn.invalidated else _taken(conn))
    sa.event.listen(engine, "checkin", lambda _driver, record: record.info.pop(_WAITING, None))


def later(conn: sa.Connection, *statements: Statement) -> None:
    """They wait; on a connection of any other engine they are executed now."""
    if conn.get_execution_options().get(_DEFERS):
        conn.info.setdefault(_WAITING, []).extend(statements)
        return
    for one in statements:
        now(conn, one)


def now(conn: sa.Connection, statement: Statement) -> Any:
    """The driver's cursor, with the results of ``statement``."""
    driver, waiting = _driver(conn), _taken(conn)
    with in_sqlalchemys_words(conn, statement[0]):
        if not waiting and (driver.autocommit or driver.pgconn.transaction_status == _IN_TRANSACTION):
            return driver.execute(*statement)
        with driver.pipeline():
            for one in waiting:
                driver.execute(*one)
            return driver.execute(*statement)


def send(conn: sa.Connection) -> None:
    """Everything that waits goes out now, and what of it fails is raised: before a savepoint, whose own failure is no
    failure of the transaction."""
    driver, waiting = _driver(conn), _taken(conn)
    if not waiting:
        return
    with in_sqlalchemys_words(conn, waiting[-1][0]), driver.pipeline():
        for one in waiting:
            driver.execute(*one)


def _send_the_last(conn: sa.Connection) -> None:
    """Before COMMIT, which does not go out with the rest: the server would carry that out even if we are killed while
    one of the statements waits for a lock. In a failed transaction it would answer ROLLBACK, and nobody would know."""
    send(conn)
    if _driver(conn).pgconn.transaction_status == _FAILED:
        with in_sqlalchemys_words(conn, "COMMIT"):
            errors: Any = conn.dialect.loaded_dbapi.errors
            raise errors.InFailedSqlTransaction("a statement of the transaction has failed")


def _taken(conn: sa.Connection) -> list[Statement]:
    waiting: list[Statement] = conn.info.pop(_WAITING, [])
    return waiting


def _driver(conn: sa.Connection) -> Any:
    return conn.connection.driver_connection
