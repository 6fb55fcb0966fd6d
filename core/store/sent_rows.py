"""What has become of a question's notices, for people: its rows of the outbox without their bodies, and the use of its
receipt. Each is found by an index of the question's own id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.prepared import Prepared
from core.store.outbox import RowKind, RowStatus
from core.store.tables import answer_receipts, is_notice, outbox, outbox_kind


@dataclass(frozen=True, slots=True)
class SentRow:
    """A notice, or a callback. ``recipient`` is the identity that it was for, ``address`` where it went."""

    kind: RowKind
    status: RowStatus
    channel: str
    attempt: int | None
    recipient: str | None
    address: str | None
    tries: int
    reason: str | None
    created_at: datetime
    due_at: datetime
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReceiptUse:
    """When the agent got the receipt first, and when it was used; ``None`` for not yet."""

    delivered_at: datetime | None = None
    used_at: datetime | None = None


UNUSED = ReceiptUse()

_own = outbox.c
_ROWS = Prepared(
    sa.select(
        *(_own.kind, _own.status, _own.channel, _own.attempt, _own.person, _own.address),
        *(_own.tries, _own.reason, _own.created_at, _own.due_at, _own.settled_at),
    )
    .where(_own.suspension_id == sa.bindparam("suspension_id"))
    .where(is_notice | (outbox_kind == sa.literal_column("'resume'")))
    .order_by(_own.created_at, _own.id)
)


def notices_and_callbacks(conn: sa.Connection, suspension_id: str) -> Sequence[SentRow]:
    """Its notices and callbacks, the oldest first."""
    return [
        SentRow(
            RowKind(row.kind),
            RowStatus(row.status),
            row.channel,
            row.attempt,
            row.person,
            row.address,
            row.tries,
            row.reason,
            row.created_at,
            row.due_at,
            row.settled_at,
        )
        for row in _ROWS.all(conn, {"suspension_id": suspension_id})
    ]


_RECEIPT = Prepared(
    sa.select(answer_receipts.c.delivered_at, answer_receipts.c.used_at).where(
        answer_receipts.c.suspension_id == sa.bindparam("suspension_id")
    )
)


def receipt_use(conn: sa.Connection, suspension_id: str) -> ReceiptUse:
    row = _RECEIPT.first(conn, {"suspension_id": suspension_id})
    return UNUSED if row is None else ReceiptUse(row.delivered_at, row.used_at)
