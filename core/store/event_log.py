"""The event log: append-only, numbered and chained per intent with a keyed MAC.

Each MAC covers the one before it and everything in the line. The head says where the log ends, and is sealed too. So
nobody who can write to the database but does not hold the key can change, drop or reorder a line unseen.

A line's MAC also says that its writer seals heads. So a log of ours can't be passed off as one of an older version,
whose head had no seal.

Source: RFC-0019 by way of RFC-0025 §3; DESIGN.md, "Where the state lives"; docs/reference/audit.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import GivenRows, Recordset
from core.database.visibility import Cursor, in_order, is_behind, oldest_running, snapshot_of, this_transaction
from core.domain.intent import UNBORN, Dependent, Intent, Moving
from core.domain.root_key import keys_of
from core.domain.suspension import Suspension
from core.domain.vocabulary import OPENED, Event
from core.domain.wire import instant
from core.store.log_seals import (
    LineForm,
    is_seal,
    mac_of_line,
    mac_of_text,
    older_mac_of_line,
    same,
    seal_head,
    sealed_length,
)
from core.store.tables import events, intents, log_starts
from core.store.tables import intent_agents as members


@dataclass(frozen=True, slots=True)
class Logged:
    """One line as it stands in the log. ``cursor`` orders lines over all intents in the order they became visible."""

    id: str
    intent_id: str
    position: int
    type: str
    actor: str
    payload: dict[str, JsonValue]
    created_at: datetime
    mac: str
    cursor: tuple[int, int]


def append(tx: Tx, intent: Intent, added: Sequence[Event], now: datetime, key: bytes) -> Intent:
    """Write ``added`` at the end of the intent's log; returns the intent with the new head, still to be stored."""
    return append_all(tx, [(intent, added)], now, key)[0]


def append_all(tx: Tx, logs: Iterable[tuple[Moving, Sequence[Event]]], now: datetime, key: bytes) -> list[Moving]:
    """As :func:`append`, to the logs of many."""
    lines = _Lines(tx.conn, now, key)
    grown = [lines.add(intent, added) for intent, added in logs]
    _ROWS.run(tx.conn, lines.rows, each=_INSERT, together=_INSERT_TOGETHER)
    return grown


class _Form(NamedTuple):
    """An event as it is written into each log, and as the MACs cover it."""

    event: Event
    payload: dict[str, JsonValue]
    line: LineForm


class _Lines:
    """Lines that are written together. What one event says is put into words once, however many logs it stands in."""

    def __init__(self, conn: sa.Connection, now: datetime, key: bytes) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self._conn, self._now, self._key = conn, now, key
        self._at = instant(now)
        self._forms: dict[int, _Form] = {}

    def add(self, intent: Moving, added: Sequence[Event]) -> Moving:
        """The intent with its new head; its lines are among the rows."""
        if not added:
            return intent
        key, intent_id = self._key, intent.id
        position, mac = intent.log_length, intent.log_mac
        for event in added:
            position += 1
            line_id, form = str(uuid4()), self._form(event)
            mac = mac_of_text(key, mac, form.line.canonical(line_id, intent_id, position))
            self.rows.append((line_id, intent_id, position, event.type, event.actor, form.payload, self._now, mac))
        seal = seal_head(key, intent_id, position, mac) if _is_head(self._conn, intent, key) else intent.log_seal
        return intent.logged(position, mac, seal)

    def _form(self, event: Event) -> _Form:
        """It keeps the event, so that no other one has its identity meanwhile."""
        form = self._forms.get(id(event))
        if form is None:
            form = _Form(event, dict(event.payload), LineForm.of(event, self._at))
            self._forms[id(event)] = form
        return form


def _is_head(conn: sa.Connection, intent: Intent | Dependent, key: bytes) -> bool:
    """Whether the log really ended where the intent says. A head that somebody has set is never sealed over: the next
    check of the trail finds it still."""
    seal, length = intent.log_seal, intent.log_length
    if seal == UNBORN:
        return length == 0
    if seal is None:
        return _ends_unsealed(conn, intent, key)
    if is_seal(key, intent.id, length, intent.log_mac, seal):
        return True
    sealed = sealed_length(seal)  # an older version has written the lines behind it
    if sealed is None or sealed >= length:
        return False
    mac = mac_at(conn, intent.id, sealed)
    return mac is not None and is_seal(key, intent.id, sealed, mac, seal)


def _ends_unsealed(conn: sa.Connection, intent: Intent | Dependent, key: bytes) -> bool:
    """Whether the last line is by a version that sealed no heads, or was moved out."""
    last = (events.c.intent_id == intent.id) & (events.c.position == intent.log_length)
    row = conn.execute(sa.select(events).where(last)).first()
    before = conn.scalar(sa.select(log_starts.c.mac).where(log_starts.c.intent_id == intent.id))
    if row is None:
        return before is not None and same(before, intent.log_mac)
    previous = mac_at(conn, intent.id, intent.log_length - 1)
    return is_older(_line(row), (before or "") if previous is None else previous, key)


_NAMES = ("id", "intent_id", "position", "type", "actor", "payload", "created_at", "mac")
_ROWS = Recordset(*(events.c[name] for name in _NAMES))


def _insert_together(given: GivenRows) -> sa.Insert:
    values = {**given.c, "transaction_id": this_transaction()}
    return events.insert().from_select([*values], sa.select(*values.values()).order_by(given.place))


_INSERT = Prepared(events.insert())
_INSERT_TOGETHER = _ROWS.together(_insert_together)


def is_genuine(line: Logged, previous: str, key: bytes) -> bool:
    """Whether ``line`` is what was written right behind the line whose MAC is ``previous``."""
    return is_by_one_that_seals(line, previous, key) or is_older(line, previous, key)


def is_by_one_that_seals(line: Logged, previous: str, key: bytes) -> bool:
    """As :func:`is_genuine`, by a version that seals heads."""
    content = _content(line)
    return any(same(mac_of_line(one, previous, content), line.mac) for one in keys_of(key))


def is_older(line: Logged, previous: str, key: bytes) -> bool:
    """As :func:`is_genuine`, by a version that sealed no heads."""
    content = _content(line)
    return any(same(older_mac_of_line(one, previous, content), line.mac) for one in keys_of(key))


def _content(line: Logged) -> dict[str, Any]:
    return {
        "id": line.id,
        "intent_id": line.intent_id,
        "position": line.position,
        "type": line.type,
        "actor": line.actor,
        "payload": line.payload,
        "created_at": line.created_at,
    }


def first_broken(lines: Sequence[Logged], key: bytes) -> Logged | None:
    """The first line of one intent's whole log that is not what was written, ``None`` if the chain holds."""
    mac = ""
    for position, line in enumerate(lines, start=1):
        if line.position != position or not is_genuine(line, mac, key):
            return line
        mac = line.mac
    return None


def of_intent(
    conn: sa.Connection,
    intent_id: str,
    *,
    types: Sequence[str] | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> list[Logged]:
    """The log of one intent, oldest first; with ``limit`` the newest that many."""
    statement = sa.select(events).where(events.c.intent_id == intent_id)
    if types is not None:
        statement = statement.where(events.c.type.in_(types))
    if since is not None:
        statement = statement.where(events.c.created_at >= since)
    statement = statement.order_by(events.c.position.desc())
    if limit is not None:
        statement = statement.limit(limit)
    return [_line(row) for row in conn.execute(statement)][::-1]


@dataclass(frozen=True, slots=True)
class Following:
    """What came after a cursor, as far as was looked: up to ``reached``, the last line that was looked at, if it is for
    the reader or not. ``is_cut``: there is more behind that. ``held_back``: there is more, which an older transaction
    that still runs might yet come before; nobody will say when that has ended, so look again after a while."""

    lines: list[Logged]
    held_back: bool
    reached: tuple[int, int]
    is_cut: bool = False


def walk(conn: sa.Connection, intent_id: str, *, behind: int = 0, at_once: int = 1000) -> Iterator[Logged]:
    """The log of one intent from behind that position on, oldest first; only so many lines are in memory."""
    while True:
        here = (events.c.intent_id == intent_id) & (events.c.position > behind)
        rows = conn.execute(sa.select(events).where(here).order_by(events.c.position).limit(at_once)).all()
        yield from map(_line, rows)
        if len(rows) < at_once:
            return
        behind = rows[-1].position


def opened_by(conn: sa.Connection, suspension: Suspension) -> frozenset[str]:
    """Who has opened its page, as far as that is noted."""
    noted = sa.select(events.c.payload).where(events.c.intent_id == suspension.ask.intent_id, events.c.type == OPENED)
    found = [payload for payload in conn.scalars(noted) if payload.get("suspension_id") == suspension.id]
    return frozenset(str(payload["opened_by"]) for payload in found)


def mac_at(conn: sa.Connection, intent_id: str, position: int) -> str | None:
    """The MAC of one line, ``None`` if it is not there."""
    found: str | None = conn.scalar(
        sa.select(events.c.mac).where(events.c.intent_id == intent_id, events.c.position == position)
    )
    return found


def after(
    conn: sa.Connection,
    cursor: tuple[int, int],
    *,
    intent_id: str | None,
    agent: str | None,
    limit: int,
    among: sa.Select[Any] | None = None,
) -> Following:
    """Lines that became visible after ``cursor``, in that order, without a gap that could still be filled. With
    ``agent`` those of the intents that it owns or is a member of, with ``among`` those of the intents whose ids that
    SELECT finds.

    The next ``limit`` lines of the log are looked at, whosever they are: what that costs does not grow with what is in
    the log. On PostgreSQL numbers are given before commits happen: what belongs to a transaction younger than the
    oldest one still running is left for a later call, so that nothing appears behind a cursor that has passed it.
    """
    wanted = _wanted(agent, among)
    columns = [one for one in events.c if one is not events.c.payload]
    payload = sa.case((wanted, events.c.payload)).label("payload")
    settled = _IS_SETTLED.label("is_settled")
    statement = sa.select(*columns, payload, settled, wanted.label("is_wanted")).where(_is_behind(conn, cursor))
    if intent_id is not None:
        statement = statement.where(events.c.intent_id == intent_id)
    found = conn.execute(statement.order_by(*_order(conn)).limit(limit)).all()
    seen = [row for row in found if row.is_settled]
    return Following(
        [_line(row) for row in seen if row.is_wanted],
        held_back=any(row.is_wanted for row in found[len(seen) :]),
        reached=(seen[-1].transaction_id, seen[-1].seq) if seen else cursor,
        is_cut=len(seen) == limit,
    )


def _wanted(agent: str | None, among: sa.Select[Any] | None) -> sa.ColumnElement[bool]:
    """Looked up line by line: for an EXISTS, PostgreSQL would list everything that an agent owns."""
    wanted: sa.ColumnElement[bool] = sa.true()
    if agent is not None:
        owner = sa.select(intents.c.created_by).where(intents.c.id == events.c.intent_id).scalar_subquery()
        wanted &= (owner == agent) | _is_one_of(sa.select(members.c.intent_id).where(members.c.agent_id == agent))
    if among is not None:
        wanted &= _is_one_of(among)
    return wanted


def _is_one_of(those: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Whether the line's intent is one of them."""
    mine = those.where(those.selected_columns[0] == events.c.intent_id)
    return mine.limit(1).scalar_subquery().is_not(None)


def _is_behind(conn: sa.Connection, cursor: Cursor) -> sa.ColumnElement[bool]:
    return is_behind(conn, events.c.transaction_id, events.c.seq, cursor)


def _order(conn: sa.Connection) -> Sequence[sa.Column[int]]:
    return in_order(conn, events.c.transaction_id, events.c.seq)


_IS_SETTLED = events.c.transaction_id < oldest_running()


def newest_cursor(conn: sa.Connection) -> tuple[int, int]:
    """The cursor behind everything that is visible for good."""
    statement = sa.select(events.c.transaction_id, events.c.seq).where(_IS_SETTLED)
    statement = statement.order_by(events.c.transaction_id.desc(), events.c.seq.desc()).limit(1)
    row = conn.execute(statement).first()
    return (0, 0) if row is None else (row.transaction_id, row.seq)


def state(conn: sa.Connection) -> str:
    """Which lines are visible now, for :func:`was_there`: the highest number on SQLite, on PostgreSQL a snapshot."""
    return snapshot_of(conn) or str(conn.scalar(sa.select(sa.func.max(events.c.seq))) or 0)


def was_there(state: str, cursor: tuple[int, int]) -> bool:
    """Whether the line at ``cursor`` was visible then.

    Source of the form ``xmin:xmax:running,running``: postgresql.org/docs/current/functions-info.html, "pg_snapshot".
    """
    transaction_id, seq = cursor
    if ":" not in state:
        return seq <= int(state)
    oldest, following, running = state.split(":")
    if transaction_id < int(oldest):
        return True
    return transaction_id < int(following) and str(transaction_id) not in running.split(",")


def _line(row: Any) -> Logged:
    return Logged(
        id=row.id,
        intent_id=row.intent_id,
        position=row.position,
        type=row.type,
        actor=row.actor,
        payload=row.payload,
        created_at=row.created_at,
        mac=row.mac,
        cursor=(row.transaction_id, row.seq),
    )
