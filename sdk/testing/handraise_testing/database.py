"""A migrated SQLite database, made once in a process, and a copy for each test."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from core.database.database import open_database
from core.store import schema


def lay_down(url: str) -> None:
    """Put a migrated database with nothing in it where ``url`` has none yet. Another kind of database is left alone."""
    parts = sa.make_url(url)
    if parts.get_backend_name() == "sqlite" and parts.database and not (file := Path(parts.database)).exists():
        file.touch(mode=0o600)  # as the service makes it: it has nothing to close then
        file.write_bytes(migrated())


@cache
def migrated() -> bytes:
    """The file's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "handraise.db"
        database = open_database(f"sqlite+aiosqlite:///{file}")
        schema.prepare(database)
        database.engine.dispose()
        return file.read_bytes()
