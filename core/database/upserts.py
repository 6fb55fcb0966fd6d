"""Inserts that may meet a row with the same key, on either database."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from core.database.database import Tx


def insert(tx: Tx, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that takes ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    return insert_on(tx.conn.dialect, table)


def insert_on(dialect: sa.Dialect, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """As :func:`insert`, for a :class:`Prepared` statement."""
    return postgresql.insert(table) if dialect.name == "postgresql" else sqlite.insert(table)


def upsert(tx: Tx, table: sa.Table, values: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Insert a row, or replace what the one with the same ``keys`` holds; its ``created_at`` stays."""
    statement = insert(tx, table).values(**values)
    changed = {name: statement.excluded[name] for name in values if name not in keys and name != "created_at"}
    tx.conn.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=changed))
