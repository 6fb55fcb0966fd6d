"""Retry policies of intents, to and from their rows (RFC-0010)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import upsert
from core.openintent.domain.retry import FailurePolicy, RetryStrategy
from core.openintent.store.tables import retry_policies


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """The policy of one intent. ``id`` stays when it is replaced."""

    id: str
    intent_id: str
    policy: FailurePolicy
    created_at: datetime
    updated_at: datetime


def put(tx: Tx, stored: StoredPolicy) -> None:
    """Set or replace the intent's policy."""
    policy = {**asdict(stored.policy), "strategy": stored.policy.strategy.value}
    own = {
        "id": stored.id,
        "intent_id": stored.intent_id,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }
    upsert(tx, retry_policies, {**own, **policy}, ("intent_id",))


def get(conn: sa.Connection, intent_id: str) -> StoredPolicy | None:
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
