"""Intents, to and from their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.domain.intent import UNBORN, Intent, IntentStatus
from core.store import intent_agents
from core.store.database import Tx
from core.store.prepared import Prepared
from core.store.tables import intents, suspensions

_BY_ID = sa.select(intents).where(intents.c.id == sa.bindparam("id"))
_CREATOR = Prepared(sa.select(intents.c.created_by).where(intents.c.id == sa.bindparam("id")))
_BY_ID_LOCKED = _BY_ID.with_for_update()
_BY_SUSPENSION = (
    sa.select(intents)
    .join(suspensions, suspensions.c.intent_id == intents.c.id)
    .where(suspensions.c.id == sa.bindparam("suspension_id"))
)
_BY_SUSPENSION_LOCKED = Prepared(_BY_SUSPENSION.with_for_update(of=intents))
_BY_SUSPENSION_UNLESS_TAKEN = Prepared(_BY_SUSPENSION.with_for_update(of=intents, skip_locked=True))


def insert(tx: Tx, intent: Intent) -> None:
    _INSERT.run(tx.conn, _columns(intent))


_INSERT = Prepared(intents.insert())


def update(tx: Tx, intent: Intent) -> None:
    """Replace the record. Read it with :func:`lock` in the same transaction first."""
    statement = intents.update().where(intents.c.id == sa.bindparam("_id"))
    values = _columns(intent)
    values["_id"] = values.pop("id")
    tx.conn.execute(statement.values({name: sa.bindparam(name) for name in values if name != "_id"}), values)


def advance(tx: Tx, intent: Intent) -> None:
    """Replace what a suspension's move changes, and leave title, state and constraints unread and unwritten."""
    values = {name: getattr(intent, name) for name in _ADVANCING}
    _ADVANCE.run(tx.conn, {**values, "_id": intent.id, "status": intent.status.value})


_ADVANCING = (
    "status",
    "version",
    "abandonment_reason",
    "suspension_id",
    "log_length",
    "log_mac",
    "log_seal",
    "updated_at",
)
_ADVANCE = Prepared(
    intents.update()
    .where(intents.c.id == sa.bindparam("_id"))
    .values({name: sa.bindparam(name) for name in _ADVANCING})
)


def get(conn: sa.Connection, intent_id: str) -> Intent | None:
    row = conn.execute(_BY_ID, {"id": intent_id}).first()
    return None if row is None else _record(row)


def creator(conn: sa.Connection, intent_id: str) -> str | None:
    """Who made the intent; ``None`` if there is none."""
    found: str | None = _CREATOR.scalar(conn, {"id": intent_id})
    return found


def lock(tx: Tx, intent_id: str) -> Intent | None:
    """As :func:`get`; nobody else changes it until this transaction ends."""
    row = tx.conn.execute(_BY_ID_LOCKED, {"id": intent_id}).first()
    return None if row is None else _record(row)


def lock_free(tx: Tx, intent_id: str) -> Intent | None:
    """As :func:`lock`; ``None`` too if somebody else holds it, without waiting for them."""
    row = tx.conn.execute(_BY_ID.with_for_update(skip_locked=True), {"id": intent_id}).first()
    return None if row is None else _record(row)


def lock_by_suspension(tx: Tx, suspension_id: str) -> Intent | None:
    """The intent that a suspension belongs to, locked. Whoever moves a suspension holds its intent."""
    row = _BY_SUSPENSION_LOCKED.first(tx.conn, {"suspension_id": suspension_id})
    return None if row is None else _record(row)


def lock_unless_taken(tx: Tx, suspension_id: str) -> Intent | None:
    """As :func:`lock_by_suspension`; ``None`` too if somebody else holds it, without waiting for them."""
    row = _BY_SUSPENSION_UNLESS_TAKEN.first(tx.conn, {"suspension_id": suspension_id})
    return None if row is None else _record(row)


def page(conn: sa.Connection, *, status: str | None, agent: str | None, limit: int, offset: int) -> Sequence[Intent]:
    """Newest first; with ``agent`` those that it owns or is a member of."""
    statement = sa.select(intents).order_by(intents.c.created_at.desc(), intents.c.id.desc())
    if status is not None:
        statement = statement.where(intents.c.status == status)
    if agent is not None:
        statement = statement.where(intents.c.id.in_(intent_agents.intents_of(agent)))
    return [_record(row) for row in conn.execute(statement.limit(limit).offset(offset))]


def _columns(intent: Intent) -> dict[str, Any]:
    values = {field.name: getattr(intent, field.name) for field in fields(intent)}
    values |= {"state": dict(intent.state), "constraints": dict(intent.constraints)}
    values["depends_on"] = list(intent.depends_on) or None
    return {**values, "status": intent.status.value, "log_seal": intent.log_seal or None}


def _record(row: Any) -> Intent:
    values = row._asdict()
    values["status"] = IntentStatus(values["status"])
    values["log_seal"] = values["log_seal"] or None
    values["depends_on"] = tuple(values["depends_on"] or ())
    return Intent(**values)


def new(intent_id: str, title: str, created_by: str, now: datetime, status: IntentStatus) -> Intent:
    """A fresh intent that nothing has happened to."""
    return Intent(
        id=intent_id,
        title=title,
        description="",
        status=status,
        version=1,
        state={},
        constraints={},
        confidence=0.0,
        created_by=created_by,
        created_at=now,
        updated_at=now,
        log_seal=UNBORN,
    )
