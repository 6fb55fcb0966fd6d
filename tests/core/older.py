"""Databases as an older version left them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from core.database.database import Database
from core.store import schema


def migrate_to(database: Database, revision: str) -> None:
    """Bring an empty database to ``revision``, as the version that knew no newer one did."""
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    engine = sa.create_engine(database.engine.url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        config.attributes["connection"] = conn
        command.upgrade(config, revision)
        conn.commit()
    engine.dispose()


@contextmanager
def todays_columns(database: Database, table: sa.Table) -> Iterator[None]:
    """Inside, an older ``table`` has the columns that came later, so that today's code writes into it."""
    there = {column["name"] for column in sa.inspect(database.engine).get_columns(table.name)}
    later = [column for column in table.columns if column.name not in there]
    dialect = database.engine.dialect
    for column in later:
        _alter(database, f"ALTER TABLE {table.name} ADD COLUMN {column.name} {column.type.compile(dialect)}")
    yield
    for column in later:
        _alter(database, f"ALTER TABLE {table.name} DROP COLUMN {column.name}")


def _alter(database: Database, statement: str) -> None:
    with database.engine.begin() as conn:
        conn.exec_driver_sql(statement)
