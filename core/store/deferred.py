"""PostgreSQL: statements whose results nobody reads wait for the next one that is read, or for the end.

They then go out together (:mod:`core.store.statement_pipeline`), and the transaction's BEGIN with the first: a question
of ten statements is three ways to the server and back. If one fails, the statement that it went out with raises it.
Nothing of the transaction stands then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from core.store.failures import errors_of, in_sqlalchemys_words

if TYPE_CHECKING:
    from core.store.statement_pipeline import Asked, StatementPipeline, StatementResult

_PIPELINE = "pipeline"
_DEFERS = "defers_statements"


def install(engine: sa.Engine) -> None:
    """From here on statements wait, and go out before whatever else happens on a connection of ``engine``."""
    engine.update_execution_options(**{_DEFERS: True})
    sa.event.listen(engine, "before_cursor_execute", lambda conn, *_: send(conn))
    sa.event.listen(engine, "commit", _send_the_last)
    sa.event.listen(engine, "rollback", lambda conn: None if conn.invalidated else _forget(conn.info))
    sa.event.listen(engine, "checkin", lambda _driver, record: _forget(record.info))


def later(
    conn: sa.Connection, text: str, values: Sequence[Any], otherwise: Callable[[], Exception] | None = None
) -> Asked:
    """It waits; on a connection of any other engine it is executed now. If it changes no row, what ``otherwise`` makes
    is raised, as a failure would be."""
    pipeline = _pipeline(conn)
    try:
        asked = pipeline.later(text, values)
    except errors_of(conn) as failure:
        raise in_sqlalchemys_words(conn, text, failure) from failure
    asked.otherwise = otherwise
    if not conn.get_execution_options().get(_DEFERS):
        send(conn)
    return asked


def now(conn: sa.Connection, text: str, values: Sequence[Any]) -> StatementResult:
    """What the server says to it, and to what has waited before it."""
    return answer(conn, later(conn, text, values))


def answer(conn: sa.Connection, asked: Asked) -> StatementResult:
    """What the server says to one that waits, or has waited."""
    if asked.answer is None:
        send(conn)
    assert asked.answer is not None  # noqa: S101 (of a transaction that was rolled back nobody asks)
    return asked.answer


def send(conn: sa.Connection) -> None:
    """Everything that waits goes out now, and what of it fails is raised: before a savepoint, whose own failure is no
    failure of the transaction."""
    pipeline = _pipeline(conn)
    if not pipeline.waiting:
        return
    last = pipeline.waiting[-1]
    try:
        sent = pipeline.send()
    except errors_of(conn) as failure:
        raise in_sqlalchemys_words(conn, last.text, failure) from failure
    for one in sent:
        if one.answer is not None and (refused := one.answer.failure) is not None:
            raise in_sqlalchemys_words(conn, one.text, refused) from refused
        if one.otherwise is not None and one.answer is not None and one.answer.rowcount == 0:
            pipeline.is_refused = True
            raise one.otherwise()


def _send_the_last(conn: sa.Connection) -> None:
    """Before COMMIT, which does not go out with the rest: the server would carry that out even if we are killed while
    one of the statements waits for a lock. In a failed transaction it would answer ROLLBACK, and nobody would know."""
    send(conn)
    if _pipeline(conn).has_failed:
        errors: Any = conn.dialect.loaded_dbapi.errors
        failure = errors.InFailedSqlTransaction("a statement of the transaction has failed")
        raise in_sqlalchemys_words(conn, "COMMIT", failure) from failure


def _pipeline(conn: sa.Connection) -> StatementPipeline:
    found: StatementPipeline | None = conn.info.get(_PIPELINE)
    if found is None:
        from core.store.statement_pipeline import StatementPipeline

        driver: Any = conn.connection.driver_connection
        found = conn.info[_PIPELINE] = StatementPipeline(driver)
    return found


def _forget(info: dict[Any, Any]) -> None:
    """What waits in a transaction that is undone is never sent."""
    pipeline: StatementPipeline | None = info.get(_PIPELINE)
    if pipeline is not None:
        pipeline.forget()
