"""Read-only connections: beside a service that writes, to a copy, or to one moment for minutes.

Source: https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-SNAPSHOT-SYNCHRONIZATION;
https://www.sqlite.org/uri.html#uriimmutable
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from core.database.database import cannot_be_used, opening
from core.database.visibility import REPEATABLE
from core.errors import DatabaseUnavailable

_WITHOUT_TIMEOUTS = sa.text(
    "SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN "
    "('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')"
)
_NAME = sa.text("SELECT pg_export_snapshot()")


@contextmanager
def looking(url: sa.URL, seconds: float) -> Iterator[sa.Connection | None]:
    """A connection that writes nothing; ``None`` for a file that is not there yet. It takes as long as ``seconds`` to
    connect, and as long for a statement.

    Raises :class:`DatabaseUnavailable`, which repeats no password; for what the block meets, too.
    """
    is_file = url.get_backend_name() == "sqlite"
    if is_file and not Path(url.database or "").parent.is_dir():
        raise DatabaseUnavailable(f"The folder of the database does not exist: {Path(url.database or '').parent}.")
    if is_file and not Path(url.database or "").exists():
        yield None
        return
    engine = _file_engine(url, seconds) if is_file else _server_engine(url, seconds)
    try:
        with engine.connect() as conn:
            yield conn
    except (DBAPIError, sqlite3.Error) as failure:
        raise cannot_be_used(url, failure) from None
    finally:
        engine.dispose()


def _file_engine(url: sa.URL, seconds: float) -> sa.Engine:
    path = url.database or ""
    # With the log there, SQLite reads beside whoever writes. Without it nobody does: it would make a log and an index
    # now, which are then the files of whoever runs this, and the service may not be able to use them.
    uri = f"file:{quote(path)}?mode=ro" + ("" if Path(f"{path}-wal").exists() else "&immutable=1")

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, timeout=seconds)

    return sa.create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)


def _server_engine(url: sa.URL, seconds: float) -> sa.Engine:
    patient = url if "connect_timeout" in url.query else url.update_query_dict({"connect_timeout": f"{seconds:.0f}"})
    engine = sa.create_engine(patient.set(drivername="postgresql+psycopg"), poolclass=NullPool, hide_parameters=True)

    @sa.event.listens_for(engine, "connect")
    def read_only(connection: Any, _record: Any) -> None:
        connection.read_only = True
        connection.prepare_threshold = None

    @sa.event.listens_for(engine, "begin")
    def limit(conn: sa.Connection) -> None:
        """For this transaction alone: through a pooler, the session is anybody's afterwards."""
        conn.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")

    return engine


@contextmanager
def moment_of_server(url: sa.URL) -> Iterator[tuple[sa.Connection, str]]:
    """This moment of a PostgreSQL database, for as long as it takes, and the name by which ``pg_dump`` reads the same.
    Raises :class:`DatabaseUnavailable`."""
    options = {"isolation_level": REPEATABLE}
    engine = sa.create_engine(url, poolclass=NullPool, execution_options=options, hide_parameters=True)
    with opening(url), engine.connect() as conn:
        conn.execute(_WITHOUT_TIMEOUTS)
        yield conn, str(conn.scalar(_NAME))


@contextmanager
def moment_of_file(path: Path) -> Iterator[sa.Connection]:
    """An SQLite file that nobody writes to; nothing is left beside it. Raises :class:`DatabaseUnavailable`."""
    uri = f"file:{quote(str(path))}?mode=ro&immutable=1"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    engine = sa.create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    with opening(sa.URL.create("sqlite", database=str(path))), engine.connect() as conn:
        yield conn
