"""Lists of suspensions, newest first: all that a client wants, and those that may mean one person.

For one person the database passes over what does not name them, along the index by which suspensions are listed. It
looks at a bounded number of rows for each part of a list, however few of them are theirs.

Source: API.md §2; docs/decisions/0074.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.domain.people import Actor
from core.domain.suspension import Status, Suspension
from core.store import search_index
from core.store.recordsets import VALUES, listed
from core.store.suspensions import COLUMNS, REF_START, record
from core.store.tables import suspensions

LOOKED_AT = 20_000
"""Rows that one part of a person's list looks at. The text of so many is read in about a tenth of a second."""
AT_ONCE = 200
"""Records that are read at once."""

Place = tuple[datetime, str]
Columns = sa.sql.base.ReadOnlyColumnCollection[str, Any]
_table: Columns = suspensions.c


@dataclass(frozen=True, slots=True)
class Filter:
    """Which suspensions to list; ``None`` means any."""

    status: str | None = None
    session_id: str | None = None
    invocation_id: str | None = None
    signal_id: str | None = None
    channel: str | None = None
    text: str | None = None
    created_by: str | None = None


def page(
    conn: sa.Connection, wanted: Filter, *, before: tuple[datetime, str] | None, limit: int
) -> Sequence[Suspension]:
    """Newest first, older than ``before`` (its ``suspended_at`` and id). A text that is a question's ref finds that
    question alone; any other is looked for in the questions, by an index if few have it."""
    if (ref := _ref_in(wanted.text)) is not None:
        named = _wanted(sa.select(*COLUMNS).where(_table.ref == ref), replace(wanted, text=None), before)
        if found := conn.execute(named).all():
            return [record(row) for row in found]
    ids = None if wanted.text is None else search_index.may_contain(conn, wanted.text, wanted.created_by)
    if ids is None:
        statement = _wanted(sa.select(*COLUMNS), wanted, before)
    else:
        few = _WITH_IDS[conn.dialect.name]
        columns = (sa.type_coerce(few.ask, sa.Text).label("ask"), *(few[column.name] for column in COLUMNS[1:]))
        statement = _wanted(sa.select(*columns), wanted, before, few)
    return [record(row) for row in conn.execute(statement.limit(limit), {} if ids is None else listed(ids))]


_WITH_IDS: Mapping[str, Columns] = {
    dialect: suspensions.select().where(_table.id.in_(ids)).offset(0).subquery("few").c
    for dialect, ids in VALUES.items()
}
"""Suspensions of a list of ids, read before anything else is asked of them. Without OFFSET a database may take an index
of what they are filtered or ordered by, and pass everything that is not among them."""


def _ref_in(text: str | None) -> str | None:
    ref = "" if text is None else text.strip().upper()
    return ref if ref.startswith(REF_START) else None


@dataclass(frozen=True, slots=True)
class PersonTexts:
    """How the text of a question shows that it may mean somebody. ``beginnings`` are of references, as JSON writes
    them; ``creator`` is their own key."""

    beginnings: Collection[str]
    creator: str | None

    @classmethod
    def of(cls, references: Collection[str], actor: Actor) -> PersonTexts:
        """``references`` are what a reference to ``actor`` may begin with. Whoever has answered is named by their
        identity; a question that names nobody is every operator's."""
        return cls((*(json.dumps(one)[:-1] for one in (*references, actor.identity)), '"responders":[]'), actor.key)


_TEXT: sa.ColumnElement[str] = sa.type_coerce(_table.ask, sa.Text)
for _more in (_table.assigned, _table.answers, _table.ended):
    _TEXT += sa.func.coalesce(sa.type_coerce(_more, sa.Text), "")


def horizon(conn: sa.Connection, wanted: Filter, before: Place | None) -> Place | None:
    """The last row that one part of a person's list looks at; ``None`` if that reaches the end."""
    statement = _wanted(sa.select(_table.suspended_at, _table.id), wanted, before)
    row = conn.execute(statement.offset(LOOKED_AT - 1).limit(1)).first()
    return None if row is None else (row.suspended_at, row.id)


def naming(
    conn: sa.Connection, wanted: Filter, names: PersonTexts, *, before: Place | None, until: Place | None
) -> Sequence[Suspension]:
    """Up to :data:`AT_ONCE` suspensions that may mean somebody, down to ``until``. It may hold some that do not: look
    again."""
    named = sa.or_(*(_TEXT.contains(text, autoescape=True) for text in names.beginnings))
    if names.creator is not None:
        named |= _table.created_by == names.creator
    statement = _wanted(sa.select(*COLUMNS), wanted, before).where(named)
    if until is not None:
        statement = statement.where(sa.tuple_(_table.suspended_at, _table.id) >= sa.tuple_(*_typed(until)))
    return [record(row) for row in conn.execute(statement.limit(AT_ONCE))]


def _wanted(
    statement: sa.Select[Any],
    wanted: Filter,
    before: Place | None,
    table: Columns = _table,
) -> sa.Select[Any]:
    """``statement`` of what is ``wanted`` and older than ``before``, newest first. ``table`` has the columns of
    suspensions."""
    statement = statement.order_by(table.suspended_at.desc(), table.id.desc())
    named = {
        table.session_id: wanted.session_id,
        table.invocation_id: wanted.invocation_id,
        table.signal_id: wanted.signal_id,
    }
    for column, value in named.items():
        if value is not None:
            statement = statement.where(column == value)
    if wanted.status is not None:
        statement = statement.where(_has_status(table.status, Status(wanted.status)))
    if wanted.channel is not None:
        statement = statement.where(table.channel == wanted.channel)
    if wanted.created_by is not None:
        is_by_name = any(value is not None for value in named.values())
        creator = sa.func.coalesce(table.created_by, "") if is_by_name else table.created_by
        statement = statement.where(creator == wanted.created_by)  # no index of creators where a better one is there
    if wanted.text is not None:
        found = table.question.icontains(wanted.text, autoescape=True) | (table.ref == wanted.text.strip().upper())
        statement = statement.where(found)
    if before is not None:
        statement = statement.where(sa.tuple_(table.suspended_at, table.id) < sa.tuple_(*_typed(before)))
    return statement


def _has_status(column: sa.ColumnElement[str], status: Status) -> sa.ColumnElement[bool]:
    """Written out, as the conditions of the indexes are."""
    is_it = column == sa.literal_column(f"'{status.value}'")
    return is_it if status is Status.AWAITING else is_it & (column != sa.literal_column("'open'"))


def _typed(before: tuple[datetime, str]) -> tuple[Any, Any]:
    at, last = before
    return sa.literal(at, suspensions.c.suspended_at.type), sa.literal(last, sa.Text)
