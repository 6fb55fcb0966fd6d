"""Questions of one key with the same action or invocation: the open ones, and the earlier answers."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from core.database.prepared import Prepared
from core.domain.suspension import Resume, Suspension
from core.store.suspensions import COLUMNS, record
from core.store.tables import suspensions

_own = suspensions.c
_OPEN = _own.status == sa.literal_column("'open'")
_OF_KEY = _own.created_by == sa.bindparam("created_by")
_OF_ACTION = _OF_KEY & (_own.action_digest == sa.bindparam("action_digest"))

_INVOKED = Prepared(
    sa.select(*COLUMNS).where(
        _OF_KEY,
        _own.invocation_id == sa.bindparam("invocation_id"),
        _own.session_id == sa.bindparam("session_id"),
        _OPEN,
    )
)
_ACTING = Prepared(sa.select(*COLUMNS).where(_OF_ACTION, _own.answered_at.is_(None), _OPEN))
_ANSWERED = Prepared(
    sa.select(*COLUMNS)
    .where(_OF_ACTION, _own.answered_at > sa.bindparam("since", type_=_own.answered_at.type))
    .order_by(_own.answered_at.desc())
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
_DENIED = Prepared(
    sa.select(*COLUMNS)
    .where(
        _OF_ACTION,
        _own.answered_at > sa.bindparam("since", type_=_own.answered_at.type),
        _own.denied_at.is_not(None),
    )
    .order_by(_own.answered_at.desc())
    .limit(1)
)


def open_of_invocation(conn: sa.Connection, creator: str, resume: Resume) -> list[Suspension]:
    """Those that wait, of the session and the invocation that ``resume`` names."""
    named = {"session_id": resume.session_id, "invocation_id": resume.invocation_id}
    return [record(row) for row in _INVOKED.all(conn, {"created_by": creator, **named})]


def open_of_action(conn: sa.Connection, creator: str, action_digest: str) -> list[Suspension]:
    """Those that wait."""
    return [record(row) for row in _ACTING.all(conn, {"created_by": creator, "action_digest": action_digest})]


def answered(conn: sa.Connection, creator: str, action_digest: str, since: datetime, limit: int) -> list[Suspension]:
    """Those that have ended after ``since`` and that somebody has answered, the latest first."""
    wanted = {"created_by": creator, "action_digest": action_digest, "since": since, "limit": limit}
    return [record(row) for row in _ANSWERED.all(conn, wanted)]


def denied(conn: sa.Connection, creator: str, action_digest: str, since: datetime) -> Suspension | None:
    """The latest that was answered after ``since`` with a no."""
    row = _DENIED.first(conn, {"created_by": creator, "action_digest": action_digest, "since": since})
    return None if row is None else record(row)
