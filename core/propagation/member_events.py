"""Portfolios of an intent that moves: their readers learn of it in the intent's own log (RFC-0026 §10)."""

from __future__ import annotations

import sqlalchemy as sa

from core.domain.intent import Intent, IntentStatus
from core.domain.propagation import member_event
from core.domain.vocabulary import Event
from core.store.container_tables import portfolio_members
from core.store.database import Tx


def member_events(tx: Tx, before: IntentStatus, intent: Intent, suspension_id: str | None) -> list[Event]:
    """A line for each portfolio that the intent is in."""
    mine = sa.select(portfolio_members.c.portfolio_id).where(portfolio_members.c.intent_id == intent.id)
    found = tx.conn.scalars(mine.order_by(portfolio_members.c.portfolio_id))
    said = (member_event(before, intent, portfolio_id, suspension_id) for portfolio_id in found)
    return [event for event in said if event is not None]
