"""Reading inboxes: the open questions that name a person, found by their entries. Only shown records are read.

A question that an older version wrote or changed has no valid entries: it is taken from its record until it is written
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from core.database.prepared import Prepared
from core.database.recordsets import by_ids, listed
from core.database.text_index import pattern
from core.domain.audience import audience_of
from core.domain.suspension import Suspension
from core.domain.wording import stated_risk
from core.store.inbox_entries import NOBODY, references, written
from core.store.suspensions import COLUMNS, record
from core.store.tables import inbox_entries, suspensions

__all__ = ["NOBODY", "Entry", "EntryCursor", "open_naming", "with_refs"]


class Entry(NamedTuple):
    """An open question. ``expires_at`` is ``None`` if it waits for ever, ``audience`` an ``Audience`` as written,
    ``risk`` its rank, 0 for none. ``question`` is read if a text is looked for."""

    suspended_at: datetime
    id: str
    ref: str
    expires_at: datetime | None
    audience: str
    risk: int
    question: str


class EntryCursor(NamedTuple):
    """Where reading goes on: behind this entry, of the beginning with this number; of no entry at all if the number is
    that of beginnings."""

    beginning: int
    reference: str = ""
    suspended_at: datetime = datetime.min.replace(tzinfo=UTC)
    id: str = ""


_table, _entry = suspensions.c, inbox_entries.c
_is_open = _table.status == sa.literal_column("'open'")
_LAST = "\U0010ffff"


def _behind(*columns: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Rows whose ``columns`` come after the values of the same names."""
    place = (sa.bindparam(f"_{column.key}", type_=column.type) for column in columns)
    return sa.tuple_(*columns) > sa.tuple_(*place)


_ENTERED = Prepared(
    sa.select(_entry.reference, _entry.suspended_at, _entry.suspension_id)
    .where(_entry.reference < sa.bindparam("end"), _behind(_entry.reference, _entry.suspended_at, _entry.suspension_id))
    .order_by(_entry.reference, _entry.suspended_at, _entry.suspension_id)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
_READ = (
    *(_table.suspended_at, _table.id, _table.ref, _table.expires_at, _table.audience),
    sa.func.coalesce(_table.risk, 0).label("risk"),
)
_IS_ENTERED = (_table.ended.is_(None), _table.entered_version == _table.version)
_OF_ENTRIES = by_ids(sa.select(*_READ, sa.literal_column("''").label("question")).where(*_IS_ENTERED), _table.id)
"""Not joined with the entries: PostgreSQL would read every question for one entry. Not by status: SQLite would read
everything that is open."""
_CONTAINING = by_ids(
    sa.select(*_READ, _table.question).where(
        *_IS_ENTERED,
        sa.func.lower(_table.question).like(sa.func.lower(sa.bindparam("text", type_=sa.Text)), escape="/"),
    ),
    _table.id,
)
_NOT_ENTERED = Prepared(
    sa.select(*COLUMNS)
    .where(
        _is_open,
        sa.func.coalesce(_table.entered_version, sa.literal_column("0")) != _table.version,
        _behind(_table.suspended_at, _table.id),
    )
    .order_by(_table.suspended_at, _table.id)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
_WITH_REFS = by_ids(sa.select(*COLUMNS), _table.ref)


def open_naming(
    conn: sa.Connection, beginnings: Sequence[str], *, after: EntryCursor | None, limit: int, text: str | None = None
) -> tuple[Sequence[Entry], EntryCursor | None]:
    """Up to ``limit`` open questions that name one of ``beginnings`` (a reference, or how it begins; :data:`NOBODY` for
    those that name no responders), behind ``after``; with ``text``, of those that contain it. For each beginning they
    come by reference, then oldest first.

    One that is named by several comes several times. It may hold some that name them for a later attempt only, or
    elsewhere: look again. The place is where the next ones begin, ``None`` if there are none.
    """
    found: list[Entry] = []
    place: EntryCursor | None = after or EntryCursor(0)
    while place is not None and len(found) < limit:
        room = limit - len(found)
        if place.beginning < len(beginnings):
            some, place = _entered(conn, beginnings[place.beginning], place, room, text)
        else:
            some, place = _not_entered(conn, beginnings, place, room, text)
        found += some
    return found, place


def _entered(
    conn: sa.Connection, beginning: str, place: EntryCursor, limit: int, text: str | None
) -> tuple[list[Entry], EntryCursor | None]:
    start = written(beginning)
    values = {
        "end": start + _LAST if beginning else " ",
        "_reference": place.reference or start,
        "_suspended_at": place.suspended_at,
        "_suspension_id": place.id,
        "limit": limit,
    }
    rows = _ENTERED.all(conn, values)
    ids = [row.suspension_id for row in rows]
    found = {row.id: row for row in _those(conn, ids, text)} if ids else {}
    entries = [Entry._make(found[one]) for one in ids if one in found]
    if len(rows) < limit:
        return entries, EntryCursor(place.beginning + 1)
    return entries, EntryCursor(place.beginning, rows[-1].reference, rows[-1].suspended_at, rows[-1].suspension_id)


def _those(conn: sa.Connection, ids: Sequence[str], text: str | None) -> Sequence[Any]:
    if text is None:
        return _OF_ENTRIES.all(conn, listed(ids))
    return _CONTAINING.all(conn, {**listed(ids), "text": pattern(text)})


def _not_entered(
    conn: sa.Connection, beginnings: Sequence[str], place: EntryCursor, limit: int, text: str | None
) -> tuple[list[Entry], EntryCursor | None]:
    values = {"_suspended_at": place.suspended_at, "_id": place.id, "limit": limit}
    records = [record(row) for row in _NOT_ENTERED.all(conn, values)]
    entries = [
        one if text is not None else one._replace(question="")
        for one in _naming(records, beginnings)
        if text is None or text.lower() in one.question.lower()
    ]
    if len(records) < limit:
        return entries, None
    return entries, EntryCursor(place.beginning, "", records[-1].ask.suspended_at, records[-1].id)


def _naming(found: Sequence[Suspension], beginnings: Sequence[str]) -> Iterator[Entry]:
    for one in found:
        audience = audience_of(one)
        named = references(audience)
        if any(
            name == start or (start and name.startswith(start)) for start in map(written, beginnings) for name in named
        ):
            risk = stated_risk(one.ask.decision_record, one.ask.context)
            rank = 0 if risk is None else risk.rank
            ask = one.ask
            yield Entry(ask.suspended_at, one.id, ask.ref, one.expires_at, audience.written(), rank, ask.question)


def with_refs(conn: sa.Connection, refs: Sequence[str]) -> dict[str, Suspension]:
    """The open questions of ``refs``, by ref."""
    if not refs:
        return {}
    rows = _WITH_REFS.all(conn, listed(refs))
    return {one.ask.ref: one for one in map(record, rows) if one.is_open}
