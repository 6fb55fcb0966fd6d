"""Due times beside suspensions: one row for each kind and subject, written in the transaction that causes it.

A transaction that writes or takes a row holds its intent or subject, so that two of them never deadlock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import upsert
from core.openintent.store.tables import due_times


class DueKind(StrEnum):
    LEASE_END = "lease_end"
    """The subject is a lease."""
    RECORD_MISSING = "record_missing"
    """The subject is an intent that the published client has suspended, and whose record has not come."""
    RETRY = "retry"
    """The subject is a failure whose next try is due."""
    PORTFOLIO_DEADLINE = "portfolio_deadline"
    """The subject is a portfolio; it belongs to no one intent."""


@dataclass(frozen=True, slots=True)
class DueTime:
    """``intent_id`` is ``None`` if it belongs to no one intent."""

    kind: DueKind
    subject: str
    intent_id: str | None
    at: datetime


def put(tx: Tx, due: DueTime) -> None:
    """Set the time, or move the one that is set."""
    upsert(tx, due_times, {**asdict(due), "kind": due.kind.value}, ("kind", "subject"))


def clear(tx: Tx, kind: DueKind, subject: str) -> None:
    """Remove the due time."""
    tx.conn.execute(due_times.delete().where(due_times.c.kind == kind.value, due_times.c.subject == subject))


def take(tx: Tx, due: DueTime) -> bool:
    """Remove a row if it is as it was read; False if another process was faster, or has moved it."""
    same = (due_times.c.kind == due.kind.value) & (due_times.c.subject == due.subject) & (due_times.c.at == due.at)
    return tx.conn.execute(due_times.delete().where(same)).rowcount > 0


def reached(conn: sa.Connection, now: datetime, limit: int) -> Sequence[DueTime]:
    """The due rows, the most overdue first."""
    statement = sa.select(due_times).where(due_times.c.at <= now).order_by(due_times.c.at).limit(limit)
    return [DueTime(DueKind(row.kind), row.subject, row.intent_id, row.at) for row in conn.execute(statement)]


def next_at(conn: sa.Connection) -> datetime | None:
    found: datetime | None = conn.scalar(sa.select(due_times.c.at).order_by(due_times.c.at).limit(1))
    return found
