"""PagerDuty's incidents, for every replica alike: their questions, their moves, their assignees.

Also kept: what was reported of an incident before anybody knew it (``parked``), and which mailbox an account had when
it was first seen. Nothing here outlives :data:`KEPT`, except the accounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import insert
from core.domain.incident_claims import IncidentChange, Move
from core.store.tables import incidents, pager_accounts, parked

KEPT = timedelta(days=7)
"""How long after it was last heard of. Events are at most 49 hours old when they arrive."""


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """``refs`` are its questions as of ``mapped_at``, ``None`` if nobody has asked; without ``mapped_at`` its own
    key has said so, which never changes."""

    id: str
    refs: tuple[str, ...] | None = None
    mapped_at: datetime | None = None
    moves: tuple[Move, ...] = ()
    assignees: frozenset[str] = frozenset()
    assigned_at: datetime | None = None

    @property
    def goes_by_its_key(self) -> bool:
        return bool(self.refs) and self.mapped_at is None


@dataclass(frozen=True, slots=True)
class Parked:
    """``body`` is the webhook's, as it came."""

    id: str
    incident: str
    body: str
    arrived_at: datetime
    look_at: datetime


_GET = Prepared(sa.select(incidents).where(incidents.c.id == sa.bindparam("id")))


def get(conn: sa.Connection, incident_id: str) -> IncidentRow | None:
    rows = _GET.all(conn, {"id": incident_id})
    return _incident(rows[0]) if rows else None


def lock(tx: Tx, incident_id: str, now: datetime) -> IncidentRow:
    """The incident, held still until this transaction is over; a new one if it is not known."""
    statement = insert(tx, incidents).values(id=incident_id, touched_at=now).on_conflict_do_nothing()
    tx.conn.execute(statement)
    row = tx.conn.execute(sa.select(incidents).where(incidents.c.id == incident_id).with_for_update()).one()
    return _incident(row)


def keep_moves(tx: Tx, incident_id: str, moves: Sequence[Move], now: datetime) -> None:
    _update(tx, incident_id, moves=[_move_json(one) for one in moves], touched_at=now)


def keep_refs(tx: Tx, incident_id: str, refs: Sequence[str], mapped_at: datetime | None, now: datetime) -> None:
    """Which questions its alerts are about, as they were found at ``mapped_at``; ``None`` if its own key says so."""
    lock(tx, incident_id, now)
    _update(tx, incident_id, refs=list(refs), mapped_at=mapped_at, touched_at=now)


def keep_assignees(tx: Tx, incident: IncidentRow, users: Sequence[str], at: datetime, now: datetime) -> None:
    """To whom it is assigned since ``at``; nothing where something newer is known. It must be locked."""
    if incident.assigned_at is None or incident.assigned_at <= at:
        _update(tx, incident.id, assignees=sorted(users), assigned_at=at, touched_at=now)


def forget_mapping(tx: Tx, incident_ids: Sequence[str]) -> None:
    """Its alerts have moved: whoever wants to know asks again."""
    changed = incidents.c.id.in_(incident_ids)
    tx.conn.execute(incidents.update().where(changed).values(refs=None, mapped_at=None))


def forget_old(tx: Tx, now: datetime) -> None:
    tx.conn.execute(incidents.delete().where(incidents.c.touched_at < now - KEPT))


# --- Parked -------------------------------------------------------------------------------------------------------


def park(tx: Tx, one: Parked) -> None:
    values = {"id": one.id, "incident": one.incident, "body": one.body}
    values |= {"arrived_at": one.arrived_at, "look_at": one.look_at}  # type: ignore[dict-item]
    tx.conn.execute(insert(tx, parked).values(**values).on_conflict_do_nothing())


def parked_of(conn: sa.Connection, incident_id: str) -> list[Parked]:
    """Everything that waits for this incident to be known."""
    return [_parked(row) for row in _PARKED_OF.all(conn, {"incident": incident_id})]


_PARKED_OF = Prepared(
    sa.select(parked).where(parked.c.incident == sa.bindparam("incident")).order_by(parked.c.arrived_at, parked.c.id)
)


def due(conn: sa.Connection, now: datetime, limit: int) -> list[Parked]:
    return [_parked(row) for row in _DUE.all(conn, {"now": now, "limit": limit})]


_DUE = Prepared(
    sa.select(parked)
    .where(parked.c.look_at <= sa.bindparam("now"))
    .order_by(parked.c.look_at, parked.c.id)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)


def next_look(conn: sa.Connection) -> datetime | None:
    return _NEXT_LOOK.scalar(conn, {})


_NEXT_LOOK = Prepared(sa.select(parked.c.look_at).order_by(parked.c.look_at).limit(1))


def look_later(tx: Tx, one: Parked, at: datetime) -> None:
    tx.conn.execute(parked.update().where(parked.c.id == one.id).values(look_at=at))


def unpark(tx: Tx, parked_id: str) -> None:
    tx.conn.execute(parked.delete().where(parked.c.id == parked_id))


# --- Accounts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PagerAccount:
    """A PagerDuty user and the mailbox that it had when it was first seen."""

    id: str
    email: str
    asked_at: datetime


def account(conn: sa.Connection, user_id: str) -> PagerAccount | None:
    rows = _ACCOUNT.all(conn, {"id": user_id})
    return PagerAccount(rows[0].id, rows[0].email, rows[0].asked_at) if rows else None


_ACCOUNT = Prepared(sa.select(pager_accounts).where(pager_accounts.c.id == sa.bindparam("id")))


def keep_account(tx: Tx, user_id: str, email: str, now: datetime) -> None:
    """The mailbox of a new account, or that it is still the same. One that is known is never given another."""
    new = insert(tx, pager_accounts).values(id=user_id, email=email, asked_at=now)
    tx.conn.execute(new.on_conflict_do_nothing())
    same = (pager_accounts.c.id == user_id) & (pager_accounts.c.email == email)
    tx.conn.execute(pager_accounts.update().where(same).values(asked_at=now))


def _update(tx: Tx, incident_id: str, **values: Any) -> None:
    tx.conn.execute(incidents.update().where(incidents.c.id == incident_id).values(**values))


def _incident(row: Any) -> IncidentRow:
    return IncidentRow(
        row.id,
        None if row.refs is None else tuple(row.refs),
        row.mapped_at,
        tuple(_move(one) for one in row.moves or ()),
        frozenset(row.assignees or ()),
        row.assigned_at,
    )


def _parked(row: Any) -> Parked:
    return Parked(row.id, row.incident, row.body, row.arrived_at, row.look_at)


def _move_json(move: Move) -> dict[str, Any]:
    return {"id": move.id, "at": move.at.isoformat(), "did": move.did.value, "by": move.by, "may": list(move.may)}


def _move(kept: dict[str, Any]) -> Move:
    at = datetime.fromisoformat(kept["at"])
    return Move(kept["id"], at, IncidentChange(kept["did"]), kept["by"], tuple(kept["may"]))
