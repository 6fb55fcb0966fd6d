"""The inbox's rows: when each open question ends, and whom it may wait for. Records are read only for those shown.

A row that an older version wrote, or has changed since, has none of that: it is taken from its record.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from core.domain.audience import audience_of
from core.domain.suspension import Suspension
from core.store.suspensions import COLUMNS, record
from core.store.tables import suspensions


class Entry(NamedTuple):
    """An open question. ``expires_at`` is ``None`` if it waits for ever, ``audience`` an ``Audience`` as written."""

    suspended_at: datetime
    id: str
    ref: str
    expires_at: datetime | None
    audience: str


Place = tuple[datetime, str]

NOBODY = ""
_NO_RESPONDERS = '"responders":[]'

_table = suspensions.c
_is_open = _table.status == sa.literal_column("'open'")
_is_kept = sa.and_(_table.audience.is_not(None), _table.audience_version == _table.version)
_COLUMNS = (_table.suspended_at, _table.id, _table.ref, _table.expires_at, _table.audience, _is_kept.label("kept"))
_ask_text, _assigned_text = (sa.type_coerce(column, sa.Text) for column in (_table.ask, _table.assigned))
_named = sa.case((_is_kept, _table.audience), else_=_ask_text + sa.func.coalesce(_assigned_text, ""))
"""Text that has whom a question names, as JSON writes it."""


def open_naming(
    conn: sa.Connection, beginnings: Collection[str], *, after: Place | None, limit: int
) -> tuple[Sequence[Entry], Place | None]:
    """Open questions that name one of ``beginnings`` (a reference, or how it begins; :data:`NOBODY` for those that name
    no responders), oldest first, behind ``after`` (``suspended_at`` and id).

    It may hold some that name them for a later attempt only, or elsewhere: look again. What does not name them is
    passed over in the database, along the index of what is open. The place is where the next ones begin, ``None`` if
    there are none.
    """
    texts = [_NO_RESPONDERS if one is NOBODY else json.dumps(one)[:-1] for one in beginnings]
    statement = (
        sa.select(
            _table.suspended_at, _table.id, _table.ref, _table.expires_at, _table.audience, _is_kept.label("kept")
        )
        .where(_is_open, sa.or_(*(_named.contains(text, autoescape=True) for text in texts)))
        .order_by(_table.suspended_at, _table.id)
        .limit(limit)
    )
    if after is not None:
        place = sa.tuple_(sa.literal(after[0], _table.suspended_at.type), sa.literal(after[1], sa.Text))
        statement = statement.where(sa.tuple_(_table.suspended_at, _table.id) > place)
    rows = conn.execute(statement).all()
    records = _by_id(conn, [row.id for row in rows if not row.kept])
    found = (_kept(row) if row.kept else _looked_up(records.get(row.id)) for row in rows)
    last = (rows[-1].suspended_at, rows[-1].id) if len(rows) == limit else None
    return [entry for entry in found if entry is not None], last


def _kept(row: Any) -> Entry:
    return Entry(row.suspended_at, row.id, row.ref, row.expires_at, row.audience)


def _looked_up(found: Suspension | None) -> Entry | None:
    """``None`` for one that was moved out meanwhile."""
    if found is None:
        return None
    ask = found.ask
    return Entry(ask.suspended_at, ask.id, ask.ref, found.expires_at, audience_of(found).written())


def _by_id(conn: sa.Connection, ids: Sequence[str]) -> dict[str, Suspension]:
    if not ids:
        return {}
    rows = conn.execute(sa.select(*COLUMNS).where(_table.id.in_(ids)))
    return {one.id: one for one in map(record, rows)}


def with_refs(conn: sa.Connection, refs: Sequence[str]) -> dict[str, Suspension]:
    """The open questions of ``refs``, by ref."""
    if not refs:
        return {}
    rows = conn.execute(sa.select(*COLUMNS).where(_table.ref.in_(refs), _is_open))
    return {one.ask.ref: one for one in map(record, rows)}
