"""Leases on an intent's scopes, to and from their rows (RFC-0003)."""

from __future__ import annotations

import sqlalchemy as sa

from core.store.tables import intent_leases


def holds_any(conn: sa.Connection, intent_id: str, agent_id: str) -> bool:
    """Whether ``agent_id`` holds a lease on the intent."""
    mine = (intent_leases.c.intent_id == intent_id) & (intent_leases.c.agent_id == agent_id)
    held = sa.select(intent_leases.c.id).where(mine, intent_leases.c.status == sa.literal_column("'active'"))
    return conn.scalar(held.limit(1)) is not None
