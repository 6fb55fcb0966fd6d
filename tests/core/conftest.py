"""Databases for the tests of core: every store test runs on SQLite and on PostgreSQL.

An SQLite database is a copy of a migrated file. On PostgreSQL the tests of a process share one database, which is
emptied before each: a new one costs fifty times as much, to make and again to delete.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.config.catalogue import descriptions
from core.database.database import Database, open_database
from core.store.tables import metadata

descriptions()  # from here on core knows which channels there are

JOBS = ("procrastinate_jobs", "procrastinate_workers")
EVERYBODY_ELSE = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture(scope="session")
def shared_postgres(postgres_cluster: str) -> sa.Engine:
    """One migrated database for all tests of this process."""
    url = _new_postgres(postgres_cluster, template="template_handraise")
    return sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")


@pytest.fixture
def postgres_url(shared_postgres: sa.Engine) -> str:
    """A migrated database with nothing in it and nobody connected."""
    with shared_postgres.connect() as conn:
        conn.exec_driver_sql(f"SELECT pg_terminate_backend(pid, 5000) {EVERYBODY_ELSE}")
        conn.exec_driver_sql("; ".join(f"DELETE FROM {table}" for table in (*metadata.tables, *JOBS)))
    return shared_postgres.url.render_as_string(hide_password=False)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A migrated database of the test's own, on each kind in turn."""
    database = open_database(database_url)
    yield database
    await database.close()


@pytest.fixture
async def other_database(database_url: str, database: Database) -> AsyncIterator[Database]:
    """The same database once more, as another process would open it."""
    other = open_database(database_url)
    yield other
    await other.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database that nobody has migrated yet."""
    url = f"sqlite+aiosqlite:///{tmp_path}/empty.db"
    if request.param == "postgresql":
        url = _new_postgres(request.getfixturevalue("postgres_cluster"))
    database = open_database(url)
    yield database
    database.engine.dispose()


@pytest.fixture
def empty_postgres(postgres_cluster: str) -> Iterator[Database]:
    """A PostgreSQL database that nobody has migrated yet."""
    database = open_database(_new_postgres(postgres_cluster))
    yield database
    database.engine.dispose()


def _new_postgres(cluster: str, template: str = "template0") -> str:
    name = f"core_{uuid.uuid4().hex}"
    admin = sa.create_engine(f"postgresql+psycopg://postgres@/postgres{cluster}", isolation_level="AUTOCOMMIT")
    with admin.connect() as conn:
        conn.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    admin.dispose()
    return f"postgresql+psycopg://postgres@/{name}{cluster}"
