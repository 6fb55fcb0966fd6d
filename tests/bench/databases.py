"""PostgreSQL databases to measure on, as durable as in production."""

from __future__ import annotations

import sqlalchemy as sa

from core.database.database import open_database
from core.store import schema

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


def migrated(query: str, name: str) -> str:
    """The URL of a fresh database of the cluster, with the schema."""
    admin = sa.create_engine(f"postgresql+psycopg://postgres@/postgres{query}", isolation_level="AUTOCOMMIT")
    with admin.connect() as conn:
        conn.exec_driver_sql(f"CREATE DATABASE {name}")
    admin.dispose()
    url = f"postgresql+psycopg://postgres@/{name}{query}"
    database = open_database(url)
    schema.migrate(database)
    database.engine.dispose()
    return url
