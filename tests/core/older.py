"""Databases as an older version left them."""

from __future__ import annotations

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
