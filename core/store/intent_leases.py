"""Leases on an intent's scopes, to and from their rows (RFC-0003)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.store.database import Tx
from core.store.tables import intent_leases


def holds_any(conn: sa.Connection, intent_id: str, agent_id: str) -> bool:
    """Whether ``agent_id`` holds a lease on the intent."""
    mine = (intent_leases.c.intent_id == intent_id) & (intent_leases.c.agent_id == agent_id)
    held = sa.select(intent_leases.c.id).where(mine, intent_leases.c.status == sa.literal_column("'active'"))
    return conn.scalar(held.limit(1)) is not None


@dataclass(frozen=True, slots=True)
class HandedLease:
    """A scope that one agent held, and another holds now, under a lease of its own."""

    scope: str
    released: str
    acquired: str
    expires_at: datetime


def hand_over(tx: Tx, intent_id: str, from_agent: str, to_agent: str, now: datetime) -> Sequence[HandedLease]:
    """Release every lease of ``from_agent`` on the intent, and give ``to_agent`` one of the same length on each of
    those scopes. The intent must be locked in this transaction, so that nobody holds a scope in between."""
    own = intent_leases.c
    mine = (own.intent_id == intent_id) & (own.agent_id == from_agent) & (own.status == sa.literal_column("'active'"))
    held = tx.conn.execute(sa.select(intent_leases).where(mine).order_by(own.acquired_at, own.id)).all()
    if not held:
        return []
    tx.conn.execute(intent_leases.update().where(mine).values(status="released", released_at=now))
    acquired = [
        {
            "id": str(uuid.uuid4()),
            "intent_id": intent_id,
            "agent_id": to_agent,
            "scope": lease.scope,
            "status": "active",
            "acquired_at": now,
            "expires_at": now + (lease.expires_at - lease.acquired_at),
        }
        for lease in held
    ]
    tx.conn.execute(intent_leases.insert(), acquired)
    return [
        HandedLease(old.scope, old.id, str(new["id"]), new["expires_at"])
        for old, new in zip(held, acquired, strict=True)
    ]
