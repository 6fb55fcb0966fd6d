"""Intents, suspensions and outbox rows that the store tests keep, and short ways to keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentStatus
from core.domain.suspension import Suspension
from core.store import intents, outbox, suspensions, tables
from core.store.log_seals import seal_head
from core.store.outbox import Row, RowKind, RowStatus
from tests.core.examples import START, a_question, opened

OWNER = "this-process"
LOG_KEY = b"k" * 32
_AT_ONCE = 200


def an_intent(intent_id: str = "intent-1", created_by: str = "refund-agent", now: datetime = START) -> Intent:
    """One that nothing has been logged of, though it is kept: in production both happen at once."""
    made = intents.new(intent_id, "Refund order 12345", created_by, now, IntentStatus.ACTIVE)
    return replace(made, log_seal=seal_head(LOG_KEY, intent_id, 0, ""))


async def keep_intents(database: Database, *kept: Intent) -> None:
    await database.write(lambda tx: [intents.insert(tx, intent) for intent in kept])


async def keep(database: Database, *kept: Suspension) -> None:
    """Keep suspensions, each of an intent that need not be there. A write has seconds, however busy the machine is."""
    for first in range(0, len(kept), _AT_ONCE):
        some = kept[first : first + _AT_ONCE]
        await database.write(partial(_insert, some=some))


def _insert(tx: Tx, some: Sequence[Suspension]) -> None:
    for suspension in some:
        suspensions.insert(tx, suspension)


def take_due(tx: Tx, channel: str, *, now: datetime, limit: int, owner: str, until: datetime) -> list[Row]:
    """Lease up to ``limit`` rows of ``channel`` that are due, the most overdue first."""
    rows = outbox.due(tx, channel, now=now, limit=limit)
    outbox.lease(tx, rows, owner, until)
    return rows


async def stored(database: Database, suspension_id: str) -> Suspension | None:
    return await database.read(lambda conn: suspensions.get(conn, suspension_id))


def numbered(number: int, **fields: Any) -> Suspension:
    """One of several suspensions that don't get into each other's way."""
    names = {"suspension_id": f"susp-{number}", "ref": f"HR-{number:04}", "intent_id": f"intent-{number}"}
    return opened(a_question(**{**names, **fields}))


def a_row(row_id: str = "row-1", **fields: Any) -> Row:
    given = {
        "kind": RowKind.NOTIFY,
        "channel": "slack",
        "created_at": START,
        "due_at": START,
        "suspension_id": "susp-1",
        "attempt": 1,
        "address": "C0OPS",
    }
    return Row(**{**given, "id": row_id, **fields})


def in_hand(row_id: str = "row-1", **fields: Any) -> Row:
    """A row that is being sent."""
    return a_row(row_id, status=RowStatus.SENDING, lease_until=START, **fields)


async def write_rows(database: Database, rows: Sequence[Row], owner: str = OWNER) -> None:
    await database.write(lambda tx: outbox.insert(tx, rows, owner))


async def end_row(database: Database, row_id: str, status: RowStatus, at: datetime) -> None:
    """As somebody who had it in hand has settled it."""
    ended = tables.outbox.update().where(tables.outbox.c.id == row_id).values(status=status.value, settled_at=at)
    await database.write(lambda tx: tx.conn.execute(ended))


async def row_of(database: Database, row_id: str = "row-1") -> Row:
    row = await database.read(lambda conn: outbox.get(conn, row_id))
    assert row is not None
    return row
