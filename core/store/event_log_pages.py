"""Pages of the event log: the logs of all intents in one order, so that memory stays flat however long they are.

A page is read in one snapshot: each intent's head, where its log begins, and its lines belong together.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from core.database.visibility import one_moment
from core.store.chain import BEGINNING, Head, Start
from core.store.event_log import Logged
from core.store.event_log_records import Records, read_records
from core.store.tables import events, intents, log_starts, suspensions

_HEADS_AT_ONCE = 500
_LINES_AT_ONCE = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that can't be what was written: its content is none."""

    intent_id: str
    position: int
    id: str


@dataclass(slots=True)
class LogPart:
    """Lines of one intent in order. ``head`` is ``None`` if there is no such intent; ``goes_on`` where further
    lines come in the next page."""

    intent_id: str
    head: Head | None
    lines: list[Logged | Unreadable] = field(default_factory=list)
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Where a page ended: behind this intent, or behind this line of it."""

    intent_id: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class LogPage:
    """``following`` is ``None`` for the last page."""

    parts: list[LogPart]
    following: LogPosition | None
    records: Records = field(default_factory=Records)


def read_page(
    conn: sa.Connection,
    behind: LogPosition | None,
    *,
    intent_id: str | None = None,
    heads: int = _HEADS_AT_ONCE,
    lines: int = _LINES_AT_ONCE,
) -> LogPage:
    """The next page of all logs, or of one intent's. Intents come in the order of their ids, lines as they happened."""
    with one_moment(conn):
        found = _heads(conn, behind, intent_id, heads)
        upto = found[-1].intent_id if len(found) == heads else None
        rows = conn.execute(_lines(behind, upto, intent_id, lines)).all()
        if len(rows) < lines:
            parts = list(_parts(found, rows))
            return LogPage(parts, None if upto is None else LogPosition(upto), _records(conn, parts))
        last: str = rows[-1].intent_id
        found = _heads(conn, behind, intent_id, heads, upto=last)
        parts = list(_parts(found, rows))
        next(part for part in parts if part.intent_id == last).goes_on = True
        return LogPage(parts, LogPosition(last, rows[-1].position), _records(conn, parts))


def _records(conn: sa.Connection, parts: list[LogPart]) -> Records:
    lines = (line for part in parts for line in part.lines if isinstance(line, Logged))
    return read_records(conn, lines, [part.intent_id for part in parts if not part.goes_on])


def gone(conn: sa.Connection, behind: LogPosition | None, upto: LogPosition | None) -> str | None:
    """The id of an intent that is missing between two positions, although a question or the beginning of a log names
    it."""
    there = sa.select(intents.c.id)
    for named in (suspensions.c.intent_id, log_starts.c.intent_id):
        statement = sa.select(named).where(~there.where(intents.c.id == named).exists()).limit(1)
        if behind is not None:
            statement = statement.where(named > behind.intent_id)
        if upto is not None:
            statement = statement.where(named <= upto.intent_id)
        found: str | None = conn.scalar(statement)
        if found is not None:
            return found
    return None


def _heads(
    conn: sa.Connection, behind: LogPosition | None, intent_id: str | None, limit: int, *, upto: str | None = None
) -> list[Head]:
    start = log_starts.c
    statement = (
        sa.select(intents.c.id, intents.c.log_length, intents.c.log_mac, intents.c.log_seal)
        .add_columns(start.position, start.mac, start.seal)
        .outerjoin(log_starts, start.intent_id == intents.c.id)
        .order_by(intents.c.id)
        .limit(limit)
    )
    if intent_id is not None:
        statement = statement.where(intents.c.id == intent_id)
    if behind is not None:
        here = intents.c.id > behind.intent_id
        statement = statement.where(here if behind.position is None else intents.c.id >= behind.intent_id)
    if upto is not None:
        statement = statement.where(intents.c.id <= upto)
    return [_head(row) for row in conn.execute(statement)]


def _head(row: Any) -> Head:
    start = BEGINNING if row.position is None else Start(row.position, row.mac, row.seal)
    length = row.log_length if isinstance(row.log_length, int) else -1  # SQLite keeps whatever somebody puts there
    return Head(row.id, start, length, str(row.log_mac), None if row.log_seal is None else str(row.log_seal))


def _lines(behind: LogPosition | None, upto: str | None, intent_id: str | None, limit: int) -> sa.Select[Any]:
    """As they stand: what somebody may have put there need not be JSON, or an instant."""
    raw = {
        "payload": sa.type_coerce(events.c.payload, sa.Text).label("payload"),
        "created_at": sa.type_coerce(events.c.created_at, sa.BigInteger).label("created_at"),
    }
    columns: list[Any] = [raw.get(column.name, column) for column in events.c]
    statement: sa.Select[Any] = sa.select(*columns).order_by(events.c.intent_id, events.c.position).limit(limit)
    if intent_id is not None:
        statement = statement.where(events.c.intent_id == intent_id)
    if behind is not None and behind.position is not None:
        place = sa.tuple_(events.c.intent_id, events.c.position)
        statement = statement.where(place > sa.tuple_(sa.literal(behind.intent_id), sa.literal(behind.position)))
    elif behind is not None:
        statement = statement.where(events.c.intent_id > behind.intent_id)
    return statement if upto is None else statement.where(events.c.intent_id <= upto)


def _parts(heads: list[Head], rows: Any) -> Iterator[LogPart]:
    """Heads and lines put together; both come in the database's own order of ids."""
    known = {head.intent_id for head in heads}
    waiting = iter(heads)
    for intent_id, lines in groupby(rows, attrgetter("intent_id")):
        head = (yield from _empty_until(waiting, intent_id)) if intent_id in known else None
        yield LogPart(intent_id, head, list(map(_read, lines)))
    yield from (LogPart(head.intent_id, head) for head in waiting)


def _empty_until(waiting: Iterator[Head], intent_id: str) -> Generator[LogPart, None, Head | None]:
    """The intents without a line before this one; returns its head."""
    for head in waiting:
        if head.intent_id == intent_id:
            return head
        yield LogPart(head.intent_id, head)
    return None


def _read(row: Any) -> Logged | Unreadable:
    position = row.position if isinstance(row.position, int) else 0
    texts = (row.id, row.intent_id, row.type, row.actor, row.mac)
    try:
        payload = json.loads(row.payload)
        at = _EPOCH + timedelta(microseconds=row.created_at)
    except (ValueError, TypeError, OverflowError, RecursionError):
        payload, at = None, _EPOCH
    if not (position and isinstance(payload, dict) and all(isinstance(text, str) for text in texts)):
        return Unreadable(str(row.intent_id), position, str(row.id))
    cursor = (row.transaction_id, row.seq)
    return Logged(row.id, row.intent_id, position, row.type, row.actor, payload, at, row.mac, cursor)
