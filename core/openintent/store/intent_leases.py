"""Leases on an intent's scopes, to and from their rows (RFC-0003).

A row has the status that was written last. The domain computes whether a lease stands, from the row, the intent and its
waits (:func:`standing`). The index ``uq_intent_leases_held`` ensures that a scope never has two holders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import Intent, IntentStatus, Wait
from core.openintent.domain.intent_lease import OVER, IntentLease, LeaseStatus, as_it_stands
from core.openintent.store.tables import intent_leases
from core.store import suspensions

_own = intent_leases.c
_ACTIVE = _own.status == sa.literal_column("'active'")


def insert(tx: Tx, lease: IntentLease) -> None:
    """Raises ``IntegrityError`` if the scope is held."""
    tx.conn.execute(intent_leases.insert(), _columns(lease))


def update(tx: Tx, lease: IntentLease) -> None:
    tx.conn.execute(intent_leases.update().where(_own.id == lease.id), _columns(lease))


def get(conn: sa.Connection, intent_id: str, lease_id: str) -> IntentLease | None:
    """As written; ``None`` if the intent has no such lease."""
    row = conn.execute(sa.select(intent_leases).where(_own.id == lease_id, _own.intent_id == intent_id)).first()
    return None if row is None else _record(row)


def page(conn: sa.Connection, intent_id: str, limit: int, offset: int) -> Sequence[IntentLease]:
    """As written: held leases first, then the newest."""
    ended_last = sa.case((_ACTIVE, 0), else_=1)
    of_intent = sa.select(intent_leases).where(_own.intent_id == intent_id)
    ordered = of_intent.order_by(ended_last, _own.acquired_at.desc(), _own.id.desc())
    return [_record(row) for row in conn.execute(ordered.limit(limit).offset(offset))]


def active(
    conn: sa.Connection, intent_id: str, *, scope: str | None = None, agent_id: str | None = None
) -> Sequence[IntentLease]:
    """Leases whose end is not written yet, in the order in which they were taken; all, or those on ``scope``, or an
    agent's."""
    statement = sa.select(intent_leases).where(_own.intent_id == intent_id, _ACTIVE)
    if scope is not None:
        statement = statement.where(_own.scope == scope)
    if agent_id is not None:
        statement = statement.where(_own.agent_id == agent_id)
    return [_record(row) for row in conn.execute(statement.order_by(_own.acquired_at, _own.id))]


def standing(
    conn: sa.Connection, intent: Intent, leases: Sequence[IntentLease], now: datetime
) -> Sequence[IntentLease]:
    """The same leases, each with its true status ``now``."""
    lapsed = intent.status not in OVER and any(one.is_active and one.expires_at <= now for one in leases)
    waits = _waits(conn, intent) if lapsed else ()
    return [as_it_stands(one, intent, waits, now) for one in leases]


def holds_any(conn: sa.Connection, intent: Intent, agent_id: str, now: datetime) -> bool:
    """Whether ``agent_id`` holds a lease on the intent ``now``."""
    mine = active(conn, intent.id, agent_id=agent_id)
    return any(one.is_active for one in standing(conn, intent, mine, now))


def _waits(conn: sa.Connection, intent: Intent) -> Sequence[Wait]:
    """The intent's waits for a person. The published client suspends an intent a moment before its question is
    there."""
    waits = suspensions.waits(conn, intent.id)
    if intent.status is IntentStatus.SUSPENDED and not any(wait.ended is None for wait in waits):
        return [*waits, Wait(intent.updated_at, None)]
    return waits


def _columns(lease: IntentLease) -> dict[str, Any]:
    return {**asdict(lease), "status": lease.status.value}


def _record(row: Any) -> IntentLease:
    return IntentLease(**{**row._asdict(), "status": LeaseStatus(row.status)})
