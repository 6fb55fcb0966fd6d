"""Outcomes that come too late: while a message was being sent, the row's lease was given to somebody else.

A worker that is frozen, or cut off from the database, is taken for dead, and others take up what it had in hand. When
it comes back it finishes its tries all the same. What it then has to say no longer counts, but for one thing: a message
that is there is there, and has to be withdrawn with the others when its question ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import structlog

from core.store import outbox
from core.store.database import Tx
from core.store.outbox import Row, RowKind, RowStatus

log = structlog.get_logger(__name__)

TWICE = "sent_twice"
"""The ``reason`` of a row for a message that two workers have sent."""


def delivered(tx: Tx, row: Row, receipt: Mapping[str, str], now: datetime) -> Row | None:
    """A message that has arrived after all: keep its receipt. Returns the row that holds it, ``None`` where nothing
    had to be kept.

    Where nobody has begun with the row again it is delivered. Otherwise the message may be there twice, so the other
    one gets a row of its own; not where both are the same (mail and PagerDuty know them by the delivery's id), nor
    where it has come back by now.
    """
    if outbox.accept(tx, row, now, receipt):
        _tell(tx, row, "accepted")
        return replace(row, receipt=receipt)
    found = outbox.get(tx.conn, row.id)
    if row.kind is not RowKind.NOTIFY or found is None or found.receipt == receipt or outbox.has_returned(found):
        left_alone(tx, row, "delivered")
        return None
    second = replace(
        row,
        id=uuid.uuid4().hex,
        status=RowStatus.DELIVERED,
        receipt=receipt,
        reason=TWICE,
        settled_at=now,
        lease_until=None,
    )
    outbox.insert(tx, [second], "")
    _tell(tx, row, "kept")
    return second


def left_alone(tx: Tx, row: Row, outcome: str) -> None:
    """Whoever has the row in hand now says what becomes of it."""
    _tell(tx, row, "dropped", outcome)


def _tell(tx: Tx, row: Row, done: str, outcome: str = "delivered") -> None:
    tx.after_commit(
        lambda: log.warning("relay.outcome_came_late", delivery=row.id, channel=row.channel, outcome=outcome, done=done)
    )
