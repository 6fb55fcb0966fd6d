"""Failures of an intent's agents and its retry policy, to and from their rows (RFC-0010).

Failures of the database are ``core.database.failures``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import upsert
from core.openintent.domain.retry import MOST_FAILURES, FailurePolicy, IntentFailure, RetryStrategy
from core.openintent.store.tables import intent_failures, retry_policies


def insert(tx: Tx, failure: IntentFailure) -> None:
    tx.conn.execute(intent_failures.insert().values({**asdict(failure), "metadata": dict(failure.metadata)}))


def get(conn: sa.Connection, failure_id: str) -> IntentFailure | None:
    row = conn.execute(sa.select(intent_failures).where(intent_failures.c.id == failure_id)).first()
    return None if row is None else _record(row)


def of_intent(conn: sa.Connection, intent_id: str, limit: int) -> Sequence[IntentFailure]:
    """The newest ``limit`` failures of the intent, oldest of them first."""
    mine = sa.select(intent_failures).where(intent_failures.c.intent_id == intent_id)
    newest = mine.order_by(*(column.desc() for column in _IN_ORDER)).limit(limit)
    return [_record(row) for row in conn.execute(newest)][::-1]


def unresolved(conn: sa.Connection, intent_id: str) -> Sequence[IntentFailure]:
    """The intent's unresolved failures, newest first; those with a takeover before all others. As many as a decision
    needs."""
    own = intent_failures.c
    mine = sa.select(intent_failures).where(own.intent_id == intent_id, _OPEN)
    order = (own.fallback_agent_id.is_(None), *(column.desc() for column in _IN_ORDER))
    return [_record(row) for row in conn.execute(mine.order_by(*order).limit(_ENOUGH))]


def resolve(tx: Tx, ids: Sequence[str], now: datetime) -> None:
    """Resolve the unresolved ones of ``ids``."""
    if ids:
        mine = intent_failures.c.id.in_(ids) & _OPEN
        tx.conn.execute(intent_failures.update().where(mine).values(resolved_at=now))


def resolve_all(tx: Tx, intent_id: str, now: datetime) -> None:
    """Resolve all failures of an intent that is completed."""
    _RESOLVE_ALL.run(tx.conn, {"_intent": intent_id, "resolved_at": now})


_ENOUGH = 2 * MOST_FAILURES
_OPEN = intent_failures.c.resolved_at.is_(None)
_IN_ORDER = (intent_failures.c.occurred_at, intent_failures.c.attempt_number, intent_failures.c.id)
_RESOLVE_ALL = Prepared(
    intent_failures.update()
    .where(intent_failures.c.intent_id == sa.bindparam("_intent"), _OPEN)
    .values(resolved_at=sa.bindparam("resolved_at"))
)


def _record(row: Any) -> IntentFailure:
    return IntentFailure(**row._asdict())


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """The policy of one intent. ``id`` stays when it is replaced."""

    id: str
    intent_id: str
    policy: FailurePolicy
    created_at: datetime
    updated_at: datetime


def put_policy(tx: Tx, stored: StoredPolicy) -> None:
    """Set or replace the intent's policy."""
    policy = {**asdict(stored.policy), "strategy": stored.policy.strategy.value}
    own = {
        "id": stored.id,
        "intent_id": stored.intent_id,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }
    upsert(tx, retry_policies, {**own, **policy}, ("intent_id",))


def policy_of(conn: sa.Connection, intent_id: str) -> StoredPolicy | None:
    row = conn.execute(sa.select(retry_policies).where(retry_policies.c.intent_id == intent_id)).first()
    if row is None:
        return None
    policy = FailurePolicy(
        RetryStrategy(row.strategy),
        row.max_retries,
        row.base_delay_ms,
        row.max_delay_ms,
        row.fallback_agent_id,
        row.failure_threshold,
    )
    return StoredPolicy(row.id, row.intent_id, policy, row.created_at, row.updated_at)
