"""Reached checkpoints, to and from their rows (RFC-0012)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.openintent.domain.checkpoint import Checkpoint
from core.openintent.store.tables import checkpoints


def insert(tx: Tx, checkpoint: Checkpoint) -> None:
    tx.conn.execute(checkpoints.insert().values({**asdict(checkpoint), "details": dict(checkpoint.details)}))


def get(conn: sa.Connection, checkpoint_id: str) -> Checkpoint | None:
    return _first(conn, checkpoints.c.id == checkpoint_id)


def of_suspension(conn: sa.Connection, suspension_id: str) -> Checkpoint | None:
    """The checkpoint with this question."""
    return _first(conn, checkpoints.c.suspension_id == suspension_id)


def of_plans(conn: sa.Connection, plan_ids: Sequence[str]) -> Sequence[Checkpoint]:
    """Each plan's checkpoints, in the order in which they were reached."""
    if not plan_ids:
        return []
    statement = sa.select(checkpoints).where(checkpoints.c.plan_id.in_(plan_ids))
    return [_record(row) for row in conn.execute(statement.order_by(checkpoints.c.created_at, checkpoints.c.id))]


def _first(conn: sa.Connection, which: sa.ColumnElement[bool]) -> Checkpoint | None:
    row = conn.execute(sa.select(checkpoints).where(which)).first()
    return None if row is None else _record(row)


def _record(row: Any) -> Checkpoint:
    return Checkpoint(**row._asdict())
