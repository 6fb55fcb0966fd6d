"""Log followers: the position of each reader of the event log. One row each, locked while it moves."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import insert
from core.store.tables import log_followers

Cursor = tuple[int, int]
"""Of a line of the log (``Logged.cursor``): everything up to it is done."""


def place(conn: sa.Connection, name: str) -> Cursor | None:
    """``None`` before it has begun."""
    return _cursor(conn.execute(_of(name)).first())


def lock(tx: Tx, name: str, start: Cursor) -> Cursor:
    """Where it is, once nobody else moves it; ``start`` if it begins with this."""
    first = {"name": name, "transaction_id": start[0], "seq": start[1]}
    tx.conn.execute(insert(tx, log_followers).values(**first).on_conflict_do_nothing())
    return _cursor(tx.conn.execute(_of(name).with_for_update()).first()) or start


def lock_free(tx: Tx, name: str) -> Cursor | None:
    """As :func:`lock`, of one that has begun; ``None`` if somebody else moves it at this moment."""
    return _cursor(tx.conn.execute(_of(name).with_for_update(skip_locked=True)).first())


def move(tx: Tx, name: str, to: Cursor) -> None:
    """It must be locked in this transaction."""
    values = {"transaction_id": to[0], "seq": to[1]}
    tx.conn.execute(log_followers.update().where(log_followers.c.name == name).values(**values))


def _of(name: str) -> sa.Select[Any]:
    return sa.select(log_followers.c.transaction_id, log_followers.c.seq).where(log_followers.c.name == name)


def _cursor(row: Any) -> Cursor | None:
    return None if row is None else (row.transaction_id, row.seq)
