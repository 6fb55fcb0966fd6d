"""Receipts of answers: when an agent got one first, and when it was used. A row each, made when there is something to
say, and moved out with its question. Apart from ``core/engine/receipts.py``, because SQL stands in the store alone."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import insert
from core.store.tables import answer_receipts

_own = answer_receipts.c


def delivered_at(conn: sa.Connection, suspension_id: str) -> datetime | None:
    """When the agent got the receipt first, ``None`` if it has not yet."""
    found: datetime | None = conn.scalar(sa.select(_own.delivered_at).where(_own.suspension_id == suspension_id))
    return found


def note_delivered(tx: Tx, suspension_id: str, now: datetime) -> None:
    """The agent has it now, if it had not before."""
    row = insert(tx, answer_receipts).values(suspension_id=suspension_id, delivered_at=now)
    first = row.on_conflict_do_update(
        index_elements=["suspension_id"], set_={"delivered_at": now}, where=_own.delivered_at.is_(None)
    )
    tx.conn.execute(first)


def use(tx: Tx, suspension_id: str, now: datetime) -> bool:
    """True for one alone of all that use it."""
    row = insert(tx, answer_receipts).values(suspension_id=suspension_id, used_at=now)
    first = row.on_conflict_do_update(
        index_elements=["suspension_id"], set_={"used_at": now}, where=_own.used_at.is_(None)
    )
    return tx.conn.execute(first, execution_options={"preserve_rowcount": True}).rowcount == 1
