"""The schema of a database: bring it up to date, or refuse to start on one that does not fit.

Alembic's migrations are in ``migrations/``. Its import costs a quarter of a second, so a start that finds the newest
revision in place does without it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from core.database.database import Database, cannot_be_used, opening
from core.database.text_index import check_sqlite
from core.errors import SchemaTooNew, SchemaTooOld
from core.store import jobs, log_cursors
from core.store.tables import question_search

HEAD = "0026"
"""The newest revision that this version knows."""

_VERSIONS = sa.table("alembic_version", sa.column("version_num", sa.Text))


def current_revision(database: Database) -> str | None:
    """The revision that the database is at, ``None`` for an empty one.

    Raises :class:`DatabaseUnavailable`, or :class:`ForeignDatabase` for a file of another program, which is left as it
    is.
    """
    database.check_ours()
    try:
        with database.engine.connect() as conn:
            if not sa.inspect(conn).has_table("alembic_version"):
                return None
            return conn.scalar(sa.select(_VERSIONS.c.version_num))
    except DBAPIError as failure:
        raise cannot_be_used(database.engine.url, failure) from failure


def prepare(database: Database) -> None:
    """Ready the schema for serving: SQLite is migrated here, PostgreSQL by ``handraise migrate``.

    Raises :class:`SchemaTooNew` or :class:`SchemaTooOld`, and :class:`DatabaseUnavailable` for a SQLite that is too
    old.
    """
    found = current_revision(database)
    if not database.is_shared:
        with database.engine.connect() as conn:
            check_sqlite(conn)
    if found == HEAD and _has_jobs(database):
        return
    refuse_newer(found)
    if database.is_shared:
        raise SchemaTooOld("The database's schema is not up to date: run `handraise migrate` first.")
    migrate(database)


def migrate(database: Database, told: Callable[[int, int], None] | None = None) -> tuple[str | None, str]:
    """Bring the schema to :data:`HEAD`; returns the revision it was at and the one it is at now. ``told`` hears after
    each migration which that was, as a number, and which will be the last."""
    found = current_revision(database)
    refuse_newer(found)
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    engine = _migrating_engine(database)
    with opening(engine.url, database.direct_setting), engine.connect() as conn:
        if database.is_shared:
            jobs.install(conn)
        config.attributes["connection"] = conn
        if told is not None:
            config.attributes["told"] = lambda revision: told(int(revision), int(HEAD))
        command.upgrade(config, HEAD)
        if database.is_shared:
            log_cursors.renumber(conn)  # somebody may have restored it by hand
        conn.commit()
    if database.is_shared:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            question_search.install(conn)
    engine.dispose()
    return found, HEAD


def _has_jobs(database: Database) -> bool:
    """Whether the work engine's own tables are there, where it needs any."""
    if not database.is_shared:
        return True
    with database.engine.connect() as conn:
        return jobs.are_installed(conn)


def _migrating_engine(database: Database) -> sa.Engine:
    """An engine whose transactions cover the DDL too: SQLite's driver would commit before each statement."""
    if database.is_shared:
        unprepared = {"prepare_threshold": None}  # a pooler would give it to whoever comes next
        return sa.create_engine(database.direct.url, poolclass=NullPool, connect_args=unprepared)
    engine = sa.create_engine(database.engine.url, poolclass=NullPool, connect_args={"isolation_level": None})
    sa.event.listen(engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def refuse_newer(found: str | None) -> None:
    """Raises :class:`SchemaTooNew`."""
    if found is not None and found > HEAD:
        raise SchemaTooNew(f"The database's schema ({found}) is newer than this version knows ({HEAD}).")
