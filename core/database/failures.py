"""Failures of the database, in our own words: :class:`DatabaseUnavailable`, and why.

The error of a faulty statement (a constraint, a type, wrong SQL) is a bug of ours, and is raised unchanged.

Source: https://www.sqlite.org/rescode.html; https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, DBAPIError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import DatabaseUnavailable, Unavailable

_SAID = {
    Unavailable.DISK_FULL: "its disk is full",
    Unavailable.DISK_FAILS: "its disk fails",
    Unavailable.DAMAGED: "its file is damaged",
    Unavailable.READ_ONLY: "it takes no writes",
    Unavailable.NO_ANSWER: "it has not answered in time",
}

_OF_SQLITE = {
    sqlite3.SQLITE_FULL: Unavailable.DISK_FULL,
    sqlite3.SQLITE_IOERR: Unavailable.DISK_FAILS,
    sqlite3.SQLITE_CORRUPT: Unavailable.DAMAGED,
    sqlite3.SQLITE_NOTADB: Unavailable.DAMAGED,
    sqlite3.SQLITE_READONLY: Unavailable.READ_ONLY,
    sqlite3.SQLITE_BUSY: Unavailable.NO_ANSWER,
}
"""By primary result code."""

_OF_POSTGRES = {
    "53100": Unavailable.DISK_FULL,
    "58030": Unavailable.DISK_FAILS,
    "XX001": Unavailable.DAMAGED,
    "XX002": Unavailable.DAMAGED,
    "25006": Unavailable.READ_ONLY,
    "57014": Unavailable.NO_ANSWER,
    "25P03": Unavailable.NO_ANSWER,
}
"""By SQLSTATE."""

READ_ONLY = "25006"
"""What a server says to a write that has become a standby, or is being handed over to another one."""
SHOW_READ_ONLY = "SHOW transaction_read_only"
"""Its answer is ``on`` from such a server."""

_GONE = {READ_ONLY, "57P01", "57P02", "57P03"}
_CONNECTION_CLASS = "08"

_ABORTED = "25P02"  # an earlier statement failed, and somebody went on all the same: a bug of ours


def is_gone(failure: BaseException | None) -> bool:
    """Whether the server that has said this no longer serves us, though its connections may stand: it takes no writes,
    is shut down, has crashed or is not up yet. Connecting anew may lead to the one that has taken its place."""
    state = sqlstate(failure)
    return state in _GONE or state.startswith(_CONNECTION_CLASS)


def sqlstate(failure: BaseException | None) -> str:
    """PostgreSQL's code for ``failure``; empty for what is none of its words."""
    if isinstance(failure, DatabaseUnavailable):
        failure = failure.__cause__
    if isinstance(failure, DBAPIError):
        failure = failure.orig
    return getattr(failure, "sqlstate", None) or ""


def in_sqlalchemys_words(conn: sa.Connection, text: str, failure: Any) -> BaseException:
    """What the driver has raised where SQLAlchemy was not asked, as SQLAlchemy would raise it. A connection that has
    broken is no longer used, nor is one to a server that :func:`is_gone`. The values must not be in an error's text:
    they are what people wrote."""
    dialect = conn.dialect
    broken = is_gone(failure) or dialect.is_disconnect(failure, conn.connection.driver_connection, None)
    if broken:
        conn.invalidate(failure)
    told: BaseException = DBAPIError.instance(
        text,
        None,
        failure,
        dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=broken,
        dialect=dialect,
    )
    return told


def errors_of(conn: sa.Connection) -> type[Exception]:
    """What the driver raises."""
    errors: type[Exception] = conn.dialect.loaded_dbapi.Error
    return errors


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Whatever an absent or failing database says inside is a :class:`DatabaseUnavailable`."""
    try:
        yield
    except (DBAPIError, PoolTimeout, sqlite3.Error) as failure:
        told = in_our_words(failure)
        if told is failure:
            raise
        raise told from failure


def in_our_words(failure: BaseException) -> BaseException:
    """``failure`` itself, where it is not the database's own."""
    if isinstance(failure, PoolTimeout):
        return no_answer()
    cause = failure.orig if isinstance(failure, DBAPIError) and failure.orig is not None else failure
    reason = _reason(failure, cause)
    return failure if reason is None else unavailable(reason, type(cause).__name__)


def unavailable(reason: Unavailable, name: str = "") -> DatabaseUnavailable:
    """``name`` is what the driver calls it, which is said where we have no better word."""
    return DatabaseUnavailable(f"The database is not available: {_SAID.get(reason, name)}.", reason=reason)


def no_answer() -> DatabaseUnavailable:
    """Its time is over. What has become of it nobody knows, if it had begun."""
    return unavailable(Unavailable.NO_ANSWER)


def _reason(failure: BaseException, cause: BaseException) -> Unavailable | None:
    """``None`` for what is the fault of the statement."""
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    known = _OF_POSTGRES.get(state or "") if code is None else _OF_SQLITE.get(code & 0xFF)
    if known is not None:
        return known
    if isinstance(failure, OperationalError | sqlite3.OperationalError):
        return Unavailable.NO_ANSWER if has_timed_out(cause) else Unavailable.UNREACHABLE
    if isinstance(failure, InternalError) and state != _ABORTED:
        return Unavailable.UNREACHABLE
    vague = type(failure) in {DatabaseError, sqlite3.DatabaseError}
    lost = isinstance(failure, DBAPIError) and failure.connection_invalidated
    return Unavailable.UNREACHABLE if vague or lost else None


def has_timed_out(cause: BaseException) -> bool:
    """psycopg's own timeouts, of a connection and of a wait, have no SQLSTATE."""
    return type(cause).__name__ in {"ConnectionTimeout", "_WaitTimeout"}
