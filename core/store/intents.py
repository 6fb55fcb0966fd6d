"""Intents, to and from their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import partial
from typing import Any

import sqlalchemy as sa

from core.database.call_deadlines import BeginAgain
from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import Recordset, by_ids, listed
from core.domain.intent import UNBORN, Dependent, Intent, IntentHold, IntentLink, IntentStatus
from core.store import idempotency, intent_agents
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


def insert_all(tx: Tx, made: Sequence[Intent]) -> None:
    """As :func:`insert`, for many."""
    _INSERT.run(tx.conn, *map(_columns, made))


_INSERT = Prepared(intents.insert())


def update(tx: Tx, intent: Intent) -> None:
    """Replace the record, but for its links. Read it with :func:`lock` in the same transaction first."""
    statement = intents.update().where(intents.c.id == sa.bindparam("_id"))
    values = _columns(intent)
    values["_id"] = values.pop("id")
    del values["links"]
    tx.conn.execute(statement.values({name: sa.bindparam(name) for name in values if name != "_id"}), values)


def advance(tx: Tx, intent: Intent) -> None:
    """Replace what a suspension's move changes, and leave title, state and constraints unread and unwritten."""
    _ADVANCE.run(tx.conn, _advanced(intent))


def _advanced(intent: Intent) -> dict[str, Any]:
    values = {name: getattr(intent, name) for name in _ADVANCING}
    status = intent.status.value
    return {**values, "_id": intent.id, "status": status, "settled": status, "held": int(intent.held)}


_ADVANCING = (
    "status",
    "held",
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
    .values({name: sa.bindparam(name) for name in (*_ADVANCING, "settled")})
)


def link(tx: Tx, intent_ids: Sequence[str], added: IntentLink) -> None:
    """Remember that these intents have such a link. They must be locked in this transaction, or be made in it."""
    new = (intents.c.links.bitwise_and(int(added))) != int(added)
    settled = sa.case((intents.c.links == 0, intents.c.status), else_=intents.c.settled)
    values = {"links": intents.c.links.bitwise_or(int(added)), "settled": settled}
    tx.conn.execute(intents.update().where(intents.c.id.in_(intent_ids), new).values(values))


def get(conn: sa.Connection, intent_id: str) -> Intent | None:
    row = conn.execute(_BY_ID, {"id": intent_id}).first()
    return None if row is None else _record(row)


def those(conn: sa.Connection, intent_ids: Sequence[str]) -> dict[str, Intent]:
    """By id, of those that there are."""
    return {row.id: _record(row) for row in _BY_IDS.all(conn, listed(intent_ids))}


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


def lock_in_order(tx: Tx, intent_ids: Iterable[str]) -> dict[str, Intent]:
    """Those that there are, locked, by id. Nothing else may be locked in this transaction before: it waits."""
    ids = sorted({*intent_ids, *tx.taken})
    return {row.id: _record(row) for row in _BY_IDS_LOCKED.all(tx.conn, listed(ids))}


_BY_IDS = by_ids(sa.select(intents), intents.c.id)
_BY_IDS_LOCKED = by_ids(sa.select(intents).order_by(intents.c.id).with_for_update(), intents.c.id)


def lock_free_ones(tx: Tx, intent_ids: Sequence[str]) -> list[str]:
    """Those that there are and that nobody else holds, locked, by id. Nobody is waited for."""
    statement = sa.select(intents.c.id).where(intents.c.id.in_(intent_ids)).order_by(intents.c.id)
    return list(tx.conn.scalars(statement.with_for_update(skip_locked=True)))


def lock_free_of_suspensions(tx: Tx, suspension_ids: Sequence[str]) -> dict[str, Dependent]:
    """The intents of these suspensions that nobody else holds, locked, by id. Nobody is waited for."""
    rows = _OF_SUSPENSIONS_LOCKED.all(tx.conn, listed(suspension_ids))
    return {row.id: dependent_of(row) for row in rows}


def begin_again_with(tx: Tx, intent_ids: Iterable[str]) -> BeginAgain:
    """To be raised by whoever needs intents of which another transaction holds one: all of them are locked first then,
    in order, and may be waited for."""
    wanted = frozenset({*intent_ids, *tx.taken})
    return BeginAgain(partial(_take_first, intent_ids=wanted, turns=tx.turns))


def dependent_of(row: Iterable[Any]) -> Dependent:
    """``row`` has :data:`DEPENDENT`."""
    intent_id, status, version, links, held, log_length, log_mac, log_seal = row
    return Dependent(
        intent_id,
        IntentStatus(status),
        version,
        IntentLink(links),
        IntentHold(held),
        log_length,
        log_mac,
        log_seal or None,
    )


def advance_dependents(tx: Tx, moved: Sequence[Dependent], now: datetime) -> None:
    """Replace what changes of them, all updated ``now``."""
    rows = [
        (one, status.value, status.value, int(held), version, length, mac, seal, now)
        for one, status, version, _, held, length, mac, seal in moved
    ]
    _MOVED.run(tx.conn, rows, each=_ADVANCE_DEPENDENT, together=_ADVANCE_TOGETHER)


_ADVANCING_DEPENDENT = ("status", "settled", "held", "version", "log_length", "log_mac", "log_seal", "updated_at")
_ADVANCE_DEPENDENT = Prepared(
    intents.update()
    .where(intents.c.id == sa.bindparam("_id"))
    .values({name: sa.bindparam(name) for name in _ADVANCING_DEPENDENT})
)
_MOVED = Recordset(sa.column("_id", sa.Text), *(intents.c[name] for name in _ADVANCING_DEPENDENT))
_ADVANCE_TOGETHER = _MOVED.together(
    lambda given: (
        intents.update()
        .where(intents.c.id == given.c["_id"])
        .values({name: given.c[name] for name in _ADVANCING_DEPENDENT})
    )
)


def _take_first(tx: Tx, intent_ids: frozenset[str], turns: tuple[str, ...]) -> None:
    for turn in dict.fromkeys(turns):
        idempotency.wait_turn(tx, turn)
    statement = sa.select(intents.c.id).where(intents.c.id.in_(sorted(intent_ids))).order_by(intents.c.id)
    tx.conn.execute(statement.with_for_update())
    tx.taken = intent_ids


def lock_by_suspension(tx: Tx, suspension_id: str) -> Intent | None:
    """The intent that a suspension belongs to, locked. Whoever moves a suspension holds its intent."""
    row = _BY_SUSPENSION_LOCKED.first(tx.conn, {"suspension_id": suspension_id})
    return None if row is None else _record(row)


def lock_unless_taken(tx: Tx, suspension_id: str) -> Intent | None:
    """As :func:`lock_by_suspension`; ``None`` too if somebody else holds it, without waiting for them."""
    row = _BY_SUSPENSION_UNLESS_TAKEN.first(tx.conn, {"suspension_id": suspension_id})
    return None if row is None else _record(row)


def settled(conn: sa.Connection, intent_id: str) -> IntentStatus | None:
    """Up to which status the consequences of its moves were done; ``None`` if it never had any."""
    found = conn.scalar(sa.select(intents.c.settled).where(intents.c.id == intent_id))
    return None if found is None else IntentStatus(found)


def unsettled(conn: sa.Connection, *, behind: str, limit: int) -> Sequence[str]:
    """Intents with links that have not ended, or have not ended for long, and that an older version has moved."""
    moved = sa.and_(_LINKED, intents.c.settled != intents.c.status)
    return _ids(conn, moved, behind, limit)


def unlinked(conn: sa.Connection, *, behind: str, limit: int) -> Sequence[str]:
    """Intents that an older version has made with a parent or dependencies."""
    return _ids(conn, _UNLINKED, behind, limit)


_LINKED = sa.text("links > 0 AND links < 16384")
_UNLINKED = sa.text("((parent_id IS NOT NULL AND (links & 1) = 0) OR (depends_on IS NOT NULL AND (links & 4) = 0))")
"""As the partial indexes have it, word for word: a bound value would not be known to match."""


def _ids(conn: sa.Connection, those: sa.ColumnElement[bool] | sa.TextClause, behind: str, limit: int) -> Sequence[str]:
    found = sa.select(intents.c.id).where(those, intents.c.id > behind).order_by(intents.c.id).limit(limit)
    return list(conn.scalars(found))


def page(conn: sa.Connection, *, status: str | None, agent: str | None, limit: int, offset: int) -> Sequence[Intent]:
    """Newest first; with ``agent`` those that it owns or is a member of."""
    if agent is not None:
        ids = intent_agents.newest_of(conn, agent, status, offset + limit)[offset:]
        found = those(conn, ids)
        return [found[one] for one in ids if one in found]
    statement = sa.select(intents).order_by(intents.c.created_at.desc(), intents.c.id.desc())
    if status is not None:
        statement = statement.where(intents.c.status == status)
    return [_record(row) for row in conn.execute(statement.limit(limit).offset(offset))]


DEPENDENT = [intents.c[name] for name in Dependent._fields]
"""The columns that a :class:`Dependent` is made of."""

_DEPENDENTS = sa.select(*DEPENDENT).order_by(intents.c.id)
_OF_SUSPENSIONS_LOCKED = by_ids(
    _DEPENDENTS.join(suspensions, suspensions.c.intent_id == intents.c.id).with_for_update(
        of=intents, skip_locked=True
    ),
    suspensions.c.id,
)


def _columns(intent: Intent) -> dict[str, Any]:
    values = {field.name: getattr(intent, field.name) for field in fields(intent)}
    values |= {"state": dict(intent.state), "constraints": dict(intent.constraints)}
    values["depends_on"] = list(intent.depends_on) or None
    values |= {"links": int(intent.links), "held": int(intent.held), "settled": intent.status.value}
    return {**values, "status": intent.status.value, "log_seal": intent.log_seal or None}


def _record(row: Any) -> Intent:
    values = row._asdict()
    del values["settled"]
    values["status"] = IntentStatus(values["status"])
    values["log_seal"] = values["log_seal"] or None
    values["depends_on"] = tuple(values["depends_on"] or ())
    values |= {"links": IntentLink(values["links"]), "held": IntentHold(values["held"])}
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
