"""Figures, counted in SQL. All of it is of questions that were asked in a period, read along the index of outcomes,
which holds everything that is asked for; of messages along that of their kinds.

A question that has ended in an older version, or before its columns were there, has no outcome yet: :func:`note` gives
it one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from core.database.database import Tx
from core.database.recordsets import VALUES, listed
from core.domain.insights import QUICK, DeliveryCounts, HowEnded, Period, Quantiles, places, quantiles
from core.domain.suspension import Status
from core.store.outbox import RowKind, RowStatus
from core.store.suspensions import ended_of, outcome_values
from core.store.tables import outbox, suspensions

K = TypeVar("K")

_EPOCH = date(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_AN_HOUR = timedelta(hours=1) // _MICROSECOND
_A_DAY = timedelta(days=1) // _MICROSECOND
_TO_MONDAY = 3 * 24
"""Hours from a Monday to the Thursday with which 1970 began."""
_A_WEEK = 7 * 24

_own = suspensions.c
_asked_at = sa.type_coerce(_own.suspended_at, sa.BigInteger)
_took = sa.type_coerce(_own.ended_at, sa.BigInteger) - _asked_at
_channel = sa.func.coalesce(_own.ended_on, "")
_person = sa.func.coalesce(_own.ended_by, "")
_is_answered = _own.outcome == sa.literal_column(f"'{HowEnded.ANSWERED}'")


class GroupCount(NamedTuple):
    """Answers of ``person`` that came in by ``channel`` in reply to ``attempt``; ``quick`` of them within
    :data:`QUICK`."""

    channel: str
    attempt: int
    person: str
    answers: int
    quick: int


@dataclass(frozen=True, slots=True)
class CountedGroup:
    """Everything that is counted. ``hour_people`` has how many answers there were of whom, for each hour of the week (0
    is Monday's first) that their question was asked in."""

    days: Mapping[tuple[date, HowEnded | None], int]
    groups: Sequence[GroupCount]
    hour_people: Mapping[int, Mapping[str, int]]
    times: Quantiles | None
    channels: Mapping[str, Quantiles]
    attempts: Mapping[int, Quantiles]
    hours: Mapping[int, Quantiles]
    people: Mapping[str, Quantiles]
    deliveries: Sequence[DeliveryCounts]


def counted(conn: sa.Connection, period: Period, *, with_people: bool) -> CountedGroup:
    """One statement after the other: whoever else reads has the other connections. ``people`` is empty unless they are
    asked for."""
    groups, hour_people = answers_by_group(conn, period), answers_by_hour(conn, period)

    def times(by: sa.ColumnElement[Any], key: Callable[[GroupCount], K]) -> Mapping[K, Quantiles]:
        counts = Counter[K]()
        for one in groups:
            counts[key(one)] += one.answers
        return times_by(conn, period, by, counts)

    hour_counts = {hour: sum(people.values()) for hour, people in hour_people.items()}
    return CountedGroup(
        days(conn, period),
        groups,
        hour_people,
        times(sa.literal_column("0"), lambda _one: 0).get(0),
        times(_channel, lambda one: one.channel),
        times(_own.attempt, lambda one: one.attempt),
        times_by(conn, period, _week_hour(period), hour_counts),
        times(_person, lambda one: one.person) if with_people else {},
        deliveries(conn, period),
    )


def days(conn: sa.Connection, period: Period) -> Mapping[tuple[date, HowEnded | None], int]:
    """How many questions of each day have ended in which way; ``None`` if they are open."""
    asked = _asked_in(period, (_local(period) // _number(_A_DAY)).label("day"), _own.outcome).subquery()
    statement = sa.select(asked.c.day, asked.c.outcome, sa.func.count().label("number")).group_by(*asked.c)
    return {
        (_EPOCH + timedelta(days=row.day), None if row.outcome is None else HowEnded(row.outcome)): row.number
        for row in conn.execute(statement)
    }


def answers_by_group(conn: sa.Connection, period: Period) -> Sequence[GroupCount]:
    """How many answers there were of whom, for each channel and attempt."""
    is_quick = sa.case((_took <= _number(QUICK // _MICROSECOND), 1), else_=0).label("quick")
    answers = _asked_in(period, _own.ended_on, _own.attempt, _own.ended_by, is_quick).where(_is_answered).subquery().c
    by = (answers.ended_on, answers.attempt, answers.ended_by)
    statement = sa.select(*by, sa.func.count(), sa.func.sum(answers.quick)).group_by(*by)
    return [GroupCount(row[0] or "", row[1], row[2] or "", row[3], row[4]) for row in conn.execute(statement)]


def answers_by_hour(conn: sa.Connection, period: Period) -> Mapping[int, Mapping[str, int]]:
    """:attr:`CountedGroup.hour_people`."""
    answers = _asked_in(period, _week_hour(period).label("hour"), _own.ended_by).where(_is_answered).subquery()
    statement = sa.select(*answers.c, sa.func.count().label("number")).group_by(*answers.c)
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for row in conn.execute(statement):
        found[row.hour][row.ended_by or ""] = row.number
    return found


def times_by(
    conn: sa.Connection, period: Period, by: sa.ColumnElement[Any], counts: Mapping[K, int]
) -> Mapping[K, Quantiles]:
    """How long answers took, by the value of ``by``; ``counts`` says how many answers each has. Exact: a window numbers
    the answers of each by how long they took, and at most four of them leave the database. To have it count them too
    takes SQLite twice as long."""
    answers = _asked_in(period, by.label("part"), _took.label("took")).where(_is_answered).subquery().c
    number = sa.func.row_number().over(partition_by=answers.part, order_by=answers.took)
    ranked = sa.select(answers.part, answers.took, (number - 1).label("place")).subquery().c
    place = sa.cast(ranked.part, sa.Text) + ":" + sa.cast(ranked.place, sa.Text)
    wanted = listed([f"{part}:{one}" for part, count in counts.items() for one in places(count)])
    found: dict[K, dict[int, timedelta]] = defaultdict(dict)
    for row in conn.execute(sa.select(ranked.part, ranked.place, ranked.took).where(place.in_(VALUES)), wanted):
        found[row.part][row.place] = timedelta(microseconds=row.took)
    return {
        part: quantiles(counts[part], took) for part, took in found.items() if len(took) == len(places(counts[part]))
    }


def _asked_in(period: Period, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    return sa.select(*columns).where(_own.suspended_at >= period.since, _own.suspended_at < period.until)


def _local(period: Period) -> sa.ColumnElement[int]:
    """When a question was asked by the clocks of the period's zone: microseconds since 1970 began there."""
    (_, offset), *later = period.offsets
    changes = [(_own.suspended_at >= at, _number(ahead // _MICROSECOND)) for at, ahead in reversed(later)]
    ahead_of_utc = _number(offset // _MICROSECOND)
    return _asked_at + (sa.case(*changes, else_=ahead_of_utc) if changes else ahead_of_utc)


def _week_hour(period: Period) -> sa.ColumnElement[int]:
    return (_local(period) // _number(_AN_HOUR) + _number(_TO_MONDAY)) % _number(_A_WEEK)


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal(value, sa.BigInteger)


# --- Messages ---------------------------------------------------------------------------------------------------------

_FAILED = (RowStatus.REFUSED.value, RowStatus.DEAD.value)
_WAITING = (RowStatus.PENDING.value, RowStatus.SENDING.value)


def deliveries(conn: sa.Connection, period: Period) -> Sequence[DeliveryCounts]:
    """What became of the notices and the callbacks of the period, by channel. What was dropped, since nobody was to be
    asked any more, counts nowhere."""
    own = outbox.c
    kinds = own.kind.in_((RowKind.NOTIFY.value, RowKind.RESUME.value))
    made = (own.created_at >= period.since) & (own.created_at < period.until)
    counts = [
        sa.func.sum(sa.case((own.status.in_(those), 1), else_=0))
        for those in ((RowStatus.DELIVERED.value,), _FAILED, _WAITING)
    ]
    rows = conn.execute(sa.select(own.channel, *counts).where(kinds, made).group_by(own.channel).order_by(own.channel))
    return [DeliveryCounts(*row) for row in rows if any(row[1:])]


# --- Outcomes that are not noted yet ----------------------------------------------------------------------------------

_UNNOTED = (
    sa.select(_own.id, _own.status, _own.ended)
    .where(_own.status != sa.literal_column("'open'"), _own.outcome.is_(None), _own.ended.is_not(sa.null()))
    .order_by(_own.id)
)
_NOTE = (
    suspensions.update()
    .where(_own.id == sa.bindparam("_id"), _own.outcome.is_(None))
    .values({name: sa.bindparam(name) for name in ("outcome", "ended_at", "ended_on", "ended_by")})
)


def is_any_unnoted(conn: sa.Connection) -> bool:
    return conn.execute(_UNNOTED.limit(1)).first() is not None


def note(tx: Tx, limit: int) -> int:
    """Note the outcome of up to ``limit`` questions; returns of how many."""
    rows = [
        {"_id": row.id, **outcome_values(Status(row.status), ended_of(row.ended))}
        for row in tx.conn.execute(_UNNOTED.limit(limit))
    ]
    if rows:
        tx.conn.execute(_NOTE, rows)
    return len(rows)
