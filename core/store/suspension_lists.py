"""Lists of suspensions, newest first: all that match a client's filter, or only those that may mean one person. What is
filtered by when it ended is listed by that. Also those of one key with the same action or invocation: the open ones,
and the earlier answers.

For one person the database skips suspensions that do not name them, along the index of the lists. It reads a bounded
number of rows for each part of a list, however few of them are theirs.

Source: API.md §2; docs/decisions/0074.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from core.database.prepared import Prepared
from core.database.recordsets import VALUES, listed
from core.database.text_index import pattern
from core.domain.people import Actor
from core.domain.suspension import Resume, Status, Suspension
from core.store.suspensions import COLUMNS, REF_START, record
from core.store.tables import PageCursor, question_search, suspensions

LOOKED_AT = 20_000
"""Rows that one part of a person's list looks at, or of a search without an index. The text of so many is read in
about a tenth of a second."""
MOST_FOUND = 1_000
"""A text that more questions may contain is found sooner by reading the newest."""
AT_ONCE = 200
"""Records that are read at once."""

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
    risk: int | None = None
    """As :attr:`core.domain.wording.Risk.rank` counts it."""
    ended_since: datetime | None = None
    ended_before: datetime | None = None

    @property
    def by_end(self) -> bool:
        """Whether the list goes by when a question ended, and not by when it was asked."""
        return self.ended_since is not None or self.ended_before is not None

    def place_of(self, suspension: Suspension) -> PageCursor:
        """Where it stands in the list."""
        ended = suspension.ended
        return (ended.at if self.by_end and ended is not None else suspension.ask.suspended_at), suspension.id


def page(
    conn: sa.Connection, wanted: Filter, *, before: PageCursor | None, limit: int
) -> tuple[Sequence[Suspension], PageCursor | None]:
    """Newest first, older than ``before`` (its ``suspended_at`` and id); and how far was looked, if there is more
    behind that. A text that is a question's ref finds that question alone; any other is looked for in the questions:
    by an index if few have it, else in the newest :data:`LOOKED_AT`."""
    if (ref := _ref_in(wanted.text)) is not None:
        named = replace(wanted, text=None)
        form = _form(named, before, among="ref")
        if found := _page(form).all(conn, {**_values(named, before, limit), "ref": ref}):
            return [record(row) for row in found], None
    few = None if wanted.text is None else question_search.few_containing(conn, wanted.text, MOST_FOUND)
    if few is not None:
        form = _form(wanted, before, among="few")
        found = _page(form).all(conn, {**_values(wanted, before, limit), **listed(few)}) if few else ()
        return [record(row) for row in found], None
    end = None if wanted.text is None else horizon(conn, wanted, before)
    found = _page(_form(wanted, before, end)).all(conn, _values(wanted, before, limit, end))
    return [record(row) for row in found], end


class _Form(NamedTuple):
    """Which statement reads a list: those of one form differ in values alone. ``among`` says that it is of one
    ref, or of a few questions that are listed."""

    given: frozenset[str]
    status: str | None
    among: str | None = None


def _form(
    wanted: Filter, before: PageCursor | None, until: PageCursor | None = None, among: str | None = None
) -> _Form:
    bounds = {"before": before, "until": until}
    given = [name for name in _FILTERS if getattr(wanted, name) is not None]
    return _Form(
        frozenset([*given, *(name for name, place in bounds.items() if place is not None)]), wanted.status, among
    )


_FILTERS = (
    *("session_id", "invocation_id", "signal_id", "channel", "created_by", "text"),
    *("risk", "ended_since", "ended_before"),
)


_BY_END = {"ended_since", "ended_before"}


def _values(wanted: Filter, before: PageCursor | None, limit: int, until: PageCursor | None = None) -> dict[str, Any]:
    """What a statement of that form takes."""
    given = {name: value for name in _FILTERS if (value := getattr(wanted, name)) is not None}
    if wanted.text is not None:
        given["text"] = pattern(wanted.text)
    for name, place in (("before", before), ("until", until)):
        if place is not None:
            given |= {f"{name}_at": place[0], f"{name}_id": place[1]}
    return {**given, "limit": limit}


@lru_cache(maxsize=256)
def _page(form: _Form) -> Prepared:
    if form.among is None:
        return Prepared(_wanted(sa.select(*COLUMNS), form))
    if form.among == "ref":
        return Prepared(_wanted(sa.select(*COLUMNS).where(_table.ref == sa.bindparam("ref")), form))
    few = _listed()
    columns = (sa.type_coerce(few.ask, sa.Text).label("ask"), *(few[column.name] for column in COLUMNS[1:]))
    return Prepared(_wanted(sa.select(*columns), form, few))


def _listed() -> Columns:
    """Suspensions of a list of ids, read before anything else is asked of them. Without OFFSET a database may take an
    index of what they are filtered or ordered by, and pass everything that is not among them."""
    return suspensions.select().where(_table.id.in_(VALUES)).offset(0).subquery("few").c


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


def horizon(conn: sa.Connection, wanted: Filter, before: PageCursor | None) -> PageCursor | None:
    """The last row that one part of such a list looks at, whatever text is wanted; ``None`` if that reaches the
    end."""
    wanted = replace(wanted, text=None)
    form = _form(wanted, before)
    at = _order(form, _table)
    places: sa.Select[Any] = sa.select(at, _table.id)
    row = conn.execute(_wanted(places, form).offset(LOOKED_AT - 1), _values(wanted, before, 1)).first()
    return None if row is None else (row[0], row[1])


def count(conn: sa.Connection, wanted: Filter, most: int, *, until: PageCursor | None = None) -> int:
    """How many there are, ``most`` at most; with ``until`` down to that place. Not of what has a text: rows would have
    to be read."""
    form = _form(wanted, None, until)
    those = _wanted(sa.select(_table.id), form).subquery()
    return conn.scalar(sa.select(sa.func.count()).select_from(those), _values(wanted, None, most, until)) or 0


def ids_at(conn: sa.Connection, at: datetime, *, by_end: bool) -> Sequence[str]:
    """The questions that stand at exactly this instant of a list."""
    column = _table.ended_at if by_end else _table.suspended_at
    return conn.scalars(sa.select(_table.id).where(column == at)).all()


def back(conn: sa.Connection, wanted: Filter, before: PageCursor, limit: int) -> PageCursor | None:
    """What the page before the one that comes after ``before`` comes after; ``None`` if that is the first."""
    form = _form(wanted, None, before)
    at = _order(form, _table)
    places: sa.Select[Any] = sa.select(at, _table.id)
    earlier = _where(places, form, _table).order_by(at, _table.id).offset(limit).limit(1)
    row = conn.execute(earlier, _values(wanted, None, limit, before)).first()
    return None if row is None else (row[0], row[1])


def naming(
    conn: sa.Connection, wanted: Filter, names: PersonTexts, *, before: PageCursor | None, until: PageCursor | None
) -> Sequence[Suspension]:
    """Up to :data:`AT_ONCE` suspensions that may mean somebody, down to ``until``. It may hold some that do not: look
    again."""
    named = sa.or_(*(_TEXT.contains(text, autoescape=True) for text in names.beginnings))
    if names.creator is not None:
        named |= _table.created_by == names.creator
    statement = _wanted(sa.select(*COLUMNS), _form(wanted, before, until)).where(named)
    return [record(row) for row in conn.execute(statement, _values(wanted, before, AT_ONCE, until))]


def _wanted(statement: sa.Select[Any], form: _Form, table: Columns = _table) -> sa.Select[Any]:
    """``statement`` of what is wanted and older than ``before``, newest first; :func:`_values` makes what it takes.
    ``table`` has the columns of suspensions."""
    statement = statement.order_by(_order(form, table).desc(), table.id.desc())
    return _where(statement.limit(sa.bindparam("limit", type_=sa.Integer)), form, table)


def _order(form: _Form, table: Columns) -> sa.ColumnElement[Any]:
    at: sa.ColumnElement[Any] = table.ended_at if form.given & _BY_END else table.suspended_at
    return at


def _where(statement: sa.Select[Any], form: _Form, table: Columns) -> sa.Select[Any]:
    """Those alone that are wanted."""
    named = form.given & {"session_id", "invocation_id", "signal_id"}
    for name in (*sorted(named), *({"channel"} & form.given)):
        statement = statement.where(table[name] == sa.bindparam(name, type_=sa.Text))
    if form.status is not None:
        statement = statement.where(_has_status(table.status, Status(form.status)))
    if "created_by" in form.given:
        creator = sa.func.coalesce(table.created_by, "") if named else table.created_by
        statement = statement.where(creator == sa.bindparam("created_by", type_=sa.Text))
        # no index of creators where a better one is there
    if "text" in form.given:
        wanted = sa.func.lower(sa.bindparam("text", type_=sa.Text))
        statement = statement.where(sa.func.lower(table.question).like(wanted, escape="/"))
        # as ILIKE, PostgreSQL might read its whole index of trigrams for a text that has none
    if "risk" in form.given:
        statement = statement.where(table.risk == sa.bindparam("risk", type_=sa.Integer))
    if form.given & _BY_END:
        statement = statement.where(table.ended_at.is_not(None))  # as the index says
    if "ended_since" in form.given:
        statement = statement.where(table.ended_at >= sa.bindparam("ended_since", type_=table.ended_at.type))
    if "ended_before" in form.given:
        statement = statement.where(table.ended_at < sa.bindparam("ended_before", type_=table.ended_at.type))
    place = sa.tuple_(_order(form, table), table.id)
    if "before" in form.given:
        statement = statement.where(place < _bound("before"))
    if "until" in form.given:
        statement = statement.where(place >= _bound("until"))
    return statement


def _bound(name: str) -> sa.ColumnElement[Any]:
    at = sa.bindparam(f"{name}_at", type_=_table.suspended_at.type)
    return sa.tuple_(at, sa.bindparam(f"{name}_id", type_=sa.Text))


def _has_status(column: sa.ColumnElement[str], status: Status) -> sa.ColumnElement[bool]:
    """Written out, as the conditions of the indexes are."""
    is_it = column == sa.literal_column(f"'{status.value}'")
    return is_it if status is Status.AWAITING else is_it & (column != sa.literal_column("'open'"))


# --- Of one key, with the same action or invocation ----------------------------------------------------------------

_OPEN = _table.status == sa.literal_column("'open'")
_OF_KEY = _table.created_by == sa.bindparam("created_by")
_OF_ACTION = _OF_KEY & (_table.action_digest == sa.bindparam("action_digest"))

_INVOKED = Prepared(
    sa.select(*COLUMNS).where(
        _OF_KEY,
        _table.invocation_id == sa.bindparam("invocation_id"),
        _table.session_id == sa.bindparam("session_id"),
        _OPEN,
    )
)
_ACTING = Prepared(sa.select(*COLUMNS).where(_OF_ACTION, _table.answered_at.is_(None), _OPEN))
_ANSWERED = Prepared(
    sa.select(*COLUMNS)
    .where(_OF_ACTION, _table.answered_at > sa.bindparam("since", type_=_table.answered_at.type))
    .order_by(_table.answered_at.desc())
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
_DENIED = Prepared(
    sa.select(*COLUMNS)
    .where(
        _OF_ACTION,
        _table.answered_at > sa.bindparam("since", type_=_table.answered_at.type),
        _table.denied_at.is_not(None),
    )
    .order_by(_table.answered_at.desc())
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
