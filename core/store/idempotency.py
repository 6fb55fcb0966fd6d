"""Idempotent replies: the first reply to a request with an ``Idempotency-Key`` (API.md §1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.locks import lock_name
from core.store.tables import archived, idempotency, suspensions

KEPT_AFTER_END = timedelta(days=7)
"""How long a reply outlives its suspension."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The first reply to an idempotent request."""

    fingerprint: str
    status: int
    body: str


def wait_turn(tx: Tx, name: str) -> None:
    """Until every transaction that came before under ``name`` has ended. Nothing may be locked in this one before, but
    by turns that everybody takes in the same order. If it begins again, it waits for its turns first, as whoever comes
    after it does."""
    lock_name(tx, name)
    tx.turns = (*tx.turns, name)


def kept_reply(conn: sa.Connection, owner: str, key: str) -> Kept | None:
    statement = sa.select(idempotency).where(idempotency.c.owner == owner, idempotency.c.key == key)
    row = conn.execute(statement).first()
    return None if row is None else Kept(row.fingerprint, row.status, row.body)


def keep_reply(tx: Tx, owner: str, key: str, reply: Kept, suspension_id: str | None, now: datetime) -> None:
    about = {"owner": owner, "key": key, "suspension_id": suspension_id, "created_at": now}
    tx.conn.execute(idempotency.insert(), asdict(reply) | about)


def forget_old(tx: Tx, now: datetime) -> None:
    """Drop the replies that are past their time."""
    before = now - KEPT_AFTER_END
    found = tx.conn.execute(_OLD_REPLIES, {"before": before})
    gone = [
        {"_owner": row.owner, "_key": row.key}
        for row in found
        if _ended_by(row.ended, before) and (row.ended_at is None or row.ended_at < before)
    ]
    if gone:
        tx.conn.execute(_FORGET_REPLY, gone)


_OLD_REPLIES = (
    sa.select(idempotency.c.owner, idempotency.c.key, suspensions.c.ended, archived.c.ended_at)
    .select_from(idempotency)
    .outerjoin(suspensions, suspensions.c.id == idempotency.c.suspension_id)
    .outerjoin(archived, archived.c.id == idempotency.c.suspension_id)
    .where(idempotency.c.created_at < sa.bindparam("before"))
    .where(suspensions.c.status.is_(None) | (suspensions.c.status != sa.literal_column("'open'")))
)
_FORGET_REPLY = idempotency.delete().where(
    idempotency.c.owner == sa.bindparam("_owner"), idempotency.c.key == sa.bindparam("_key")
)


def _ended_by(ended: Mapping[str, Any] | None, before: datetime) -> bool:
    """Whether a suspension had ended ``before`` then; there may have been none."""
    return ended is None or datetime.fromisoformat(ended["at"]) < before
