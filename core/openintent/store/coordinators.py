"""Coordinators, to and from their rows, and the intents that they look after (RFC-0013)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import EdgeKind
from core.openintent.domain.coordinator import ACTING, Coordinator, CoordinatorStatus, SuspensionPolicy
from core.openintent.store.tables import coordinators, intent_edges, portfolio_members, portfolios
from core.store import intent_agents
from core.store.tables import intents

_ACTING = sorted(status.value for status in ACTING)


def insert(tx: Tx, made: Coordinator) -> None:
    tx.conn.execute(coordinators.insert(), _columns(made))


def update(tx: Tx, coordinator: Coordinator) -> None:
    values = _columns(coordinator)
    tx.conn.execute(coordinators.update().where(coordinators.c.id == values.pop("id")).values(**values))


def beat(tx: Tx, coordinator_id: str, now: datetime) -> None:
    """Record a heartbeat; the version stays."""
    tx.conn.execute(coordinators.update().where(coordinators.c.id == coordinator_id).values(last_heartbeat=now))


def get(conn: sa.Connection, coordinator_id: str, *, lock: bool = False) -> Coordinator | None:
    """With ``lock`` nobody else changes it until the transaction ends; lock its intent first."""
    statement = sa.select(coordinators).where(coordinators.c.id == coordinator_id)
    row = conn.execute(statement.with_for_update() if lock else statement).first()
    return None if row is None else _record(row)


def of_intent(conn: sa.Connection, intent_id: str) -> Sequence[Coordinator]:
    """The coordinators of this very intent, the oldest first."""
    mine = sa.select(coordinators).where(coordinators.c.intent_id == intent_id)
    return [_record(row) for row in conn.execute(mine.order_by(coordinators.c.granted_at, coordinators.c.id))]


def page(conn: sa.Connection, *, agent: str | None, limit: int, offset: int) -> Sequence[Coordinator]:
    """Newest first; with ``agent`` those of its intents and portfolios."""
    own = coordinators.c
    statement = sa.select(coordinators).order_by(own.granted_at.desc(), own.id.desc())
    if agent is not None:
        made = sa.select(portfolios.c.id).where(portfolios.c.created_by == agent)
        looked_after = own.portfolio_id.is_not(None) & (own.agent_id == agent)
        statement = statement.where(
            sa.or_(own.intent_id.in_(intent_agents.intents_of(agent)), own.portfolio_id.in_(made), looked_after)
        )
    return [_record(row) for row in conn.execute(statement.limit(limit).offset(offset))]


def covering(conn: sa.Connection, intent_ids: Sequence[str], now: datetime) -> Mapping[str, Sequence[Coordinator]]:
    """The coordinators of each intent at ``now``: its own, those of its ancestors, and those of the portfolios of
    any of these."""
    start = sa.select(intents.c.id.label("intent_id"), intents.c.id.label("above")).where(intents.c.id.in_(intent_ids))
    line = start.cte("line", recursive=True)
    up = sa.select(line.c.intent_id, intent_edges.c.intent_id).join(
        intent_edges, (intent_edges.c.upstream_id == line.c.above) & (intent_edges.c.kind == EdgeKind.CHILD)
    )
    line = line.union(up)
    direct = sa.select(line.c.intent_id.label("covered"), coordinators).join(
        coordinators, coordinators.c.intent_id == line.c.above
    )
    held = (
        sa.select(line.c.intent_id.label("covered"), coordinators)
        .join(portfolio_members, portfolio_members.c.intent_id == line.c.above)
        .join(coordinators, coordinators.c.portfolio_id == portfolio_members.c.portfolio_id)
    )
    acting = coordinators.c.status.in_(_ACTING) & (
        coordinators.c.expires_at.is_(None) | (coordinators.c.expires_at > now)
    )
    found: dict[str, dict[str, Coordinator]] = defaultdict(dict)
    for statement in (direct, held):
        for row in conn.execute(statement.where(acting).order_by(coordinators.c.granted_at, coordinators.c.id)):
            values = row._asdict()
            covered = values.pop("covered")
            found[covered][row.id] = _coordinator(values)
    return {intent_id: list(those.values()) for intent_id, those in found.items()}


def _columns(coordinator: Coordinator) -> dict[str, Any]:
    values = asdict(coordinator)
    values["heartbeat_interval_seconds"] = int(values.pop("heartbeat_interval").total_seconds())
    values |= {"status": coordinator.status.value, "suspension_policy": coordinator.suspension_policy.value}
    return {**values, "details": dict(coordinator.details)}


def _record(row: Any) -> Coordinator:
    return _coordinator(row._asdict())


def _coordinator(values: dict[str, Any]) -> Coordinator:
    values["heartbeat_interval"] = timedelta(seconds=values.pop("heartbeat_interval_seconds"))
    values["status"] = CoordinatorStatus(values["status"])
    values["suspension_policy"] = SuspensionPolicy(values["suspension_policy"])
    return Coordinator(**values)
