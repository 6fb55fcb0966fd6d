"""Subscriptions: which key receives which events, and at which URL (RFC-0006).

A row is only ever changed to end it (``active``). ``begins_after`` is the position in the event log when it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.store.tables import PageCursor, newest_first, subscriptions


@dataclass(frozen=True, slots=True)
class Subscription:
    """``subscriber_id`` is the key that owns it. With neither ``intent_id`` nor ``portfolio_id`` it covers every
    intent that the key may read. An empty ``event_types`` means all."""

    id: str
    subscriber_id: str
    intent_id: str | None
    event_types: tuple[str, ...]
    webhook_url: str
    active: bool
    expires_at: datetime | None
    begins_after: str
    created_at: datetime
    portfolio_id: str | None = None

    def is_live(self, now: datetime) -> bool:
        return self.active and (self.expires_at is None or now < self.expires_at)


def insert(tx: Tx, made: Subscription) -> None:
    tx.conn.execute(subscriptions.insert(), {**asdict(made), "event_types": list(made.event_types)})


def get(conn: sa.Connection, subscription_id: str) -> Subscription | None:
    row = conn.execute(sa.select(subscriptions).where(subscriptions.c.id == subscription_id)).first()
    return None if row is None else _record(row)


def end(tx: Tx, subscription_id: str) -> bool:
    """End it; the row stays visible. False if it had ended."""
    live = (subscriptions.c.id == subscription_id) & subscriptions.c.active
    return tx.conn.execute(subscriptions.update().where(live).values(active=False)).rowcount > 0


def remove(tx: Tx, subscription_id: str) -> None:
    tx.conn.execute(subscriptions.delete().where(subscriptions.c.id == subscription_id))


def remove_ended(tx: Tx, subscriber_id: str, now: datetime) -> None:
    """Remove a key's ended subscriptions, to make room."""
    mine = subscriptions.c.subscriber_id == subscriber_id
    tx.conn.execute(subscriptions.delete().where(mine, sa.not_(_live(now))))


def count(conn: sa.Connection, subscriber_id: str) -> int:
    mine = subscriptions.c.subscriber_id == subscriber_id
    return conn.scalar(sa.select(sa.func.count()).select_from(subscriptions).where(mine)) or 0


def page(
    conn: sa.Connection,
    *,
    subscriber_id: str | None,
    intent_id: str | None,
    portfolio_id: str | None,
    before: PageCursor | None,
    limit: int,
) -> Sequence[Subscription]:
    """Newest first, ended ones too."""
    own = subscriptions.c
    statement = sa.select(subscriptions)
    if subscriber_id is not None:
        statement = statement.where(own.subscriber_id == subscriber_id)
    if intent_id is not None:
        statement = statement.where(own.intent_id == intent_id)
    if portfolio_id is not None:
        statement = statement.where(own.portfolio_id == portfolio_id)
    statement = newest_first(statement, own.created_at, own.id, before, limit)
    return [_record(row) for row in conn.execute(statement)]


def live(conn: sa.Connection, now: datetime) -> Sequence[Subscription]:
    return [_record(row) for row in conn.execute(sa.select(subscriptions).where(_live(now)))]


def is_any_live(conn: sa.Connection, now: datetime) -> bool:
    return conn.scalar(sa.select(subscriptions.c.id).where(_live(now)).limit(1)) is not None


def _live(now: datetime) -> sa.ColumnElement[bool]:
    expires_at = subscriptions.c.expires_at
    return subscriptions.c.active & (expires_at.is_(sa.null()) | (expires_at > now))


def _record(row: Any) -> Subscription:
    values = row._asdict()
    return Subscription(**{**values, "event_types": tuple(values["event_types"])})
