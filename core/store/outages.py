"""Outages of ours, one row each, and which open questions each outage has yet to move.

A question's ``caught_up`` is the number of the last outage that moved it. A new question has the newest number. A
question that an older process wrote has none, but an outage that was over before it was asked does not move it.

Source: API.md §3, "After an outage of ours".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import by_ids, listed
from core.domain.suspension import Suspension
from core.store.suspensions import COLUMNS
from core.store.suspensions import record as record_of
from core.store.tables import PageCursor, outages, suspensions

_IN_TIME = timedelta(minutes=1)
"""So much behind the clock may have been when it fell silent."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Nobody looked for ``length``, from the last beat until ``back_at``."""

    id: int
    silent_from: datetime
    back_at: datetime
    length: timedelta

    @property
    def due_from(self) -> datetime | None:
        """What has moved by it, and was in time before it, is due from then on; ``None`` for a wrong clock's."""
        return self.back_at - _IN_TIME if self.length > timedelta(0) else None

    def since(self, asked_at: datetime) -> timedelta:
        """How much of it a question met that was asked at ``asked_at``, in whole seconds; less than nothing where a
        wrong clock's is taken off (:func:`take_off`)."""
        whole = asked_at <= self.silent_from or self.length < timedelta(0)
        met = self.length if whole else min(self.length, self.back_at - asked_at)
        return timedelta(seconds=math.ceil(met.total_seconds()))


def record(tx: Tx, silent_from: datetime, back_at: datetime, length: timedelta) -> None:
    """Write an outage down, once: raises ``IntegrityError`` where another process has already done so."""
    tx.conn.execute(outages.insert().values(silent_from=silent_from, back_at=back_at, length=length))


def take_off(tx: Tx, now: datetime, by: timedelta) -> None:
    """A clock that was wrongly set forward has been set back: times that moved by it move back, once, whoever says so.

    It is an outage of negative length, met by every question that was asked by then, be it by the wrong clock.
    """
    latest = tx.conn.execute(sa.select(outages).order_by(outages.c.id.desc()).limit(1)).first()
    if latest is None or latest.back_at <= now or latest.length < timedelta(0):
        return  # nothing was recorded by the wrong clock, or somebody else has said so
    asked = tx.conn.scalar(sa.select(sa.func.max(suspensions.c.suspended_at))) or latest.back_at
    record(tx, latest.back_at, max(asked, latest.back_at) + timedelta(microseconds=1), -by)


def newest(conn: sa.Connection) -> Outage | None:
    """The last outage, ``None`` where there never was one."""
    row = _NEWEST.first(conn, {})
    return None if row is None else Outage(*row)


_NEWEST = Prepared(
    sa.select(outages.c.id, outages.c.silent_from, outages.c.back_at, outages.c.length)
    .order_by(outages.c.id.desc())
    .limit(sa.literal_column("1", sa.Integer))
)

_MINE = (
    (suspensions.c.status == sa.literal_column("'open'"))
    & (outages.c.id > sa.func.coalesce(suspensions.c.caught_up, 0))
    & (outages.c.back_at > suspensions.c.suspended_at)
)
_UNHEARD = Prepared(
    sa.select(outages.c.id, outages.c.silent_from, outages.c.back_at, outages.c.length)
    .join_from(outages, suspensions, _MINE)
    .where(suspensions.c.id == sa.bindparam("suspension"))
    .order_by(outages.c.id)
)


_WITH_WHETHER_BEHIND = Prepared(
    sa.select(*COLUMNS, sa.exists().where(_MINE).correlate(suspensions).label("is_behind")).where(
        suspensions.c.id == sa.bindparam("id")
    )
)


def read(conn: sa.Connection, suspension_id: str) -> tuple[Suspension | None, Sequence[Outage]]:
    """A suspension, and the outages that it has lived through while open and not yet heard of, oldest first."""
    row = _WITH_WHETHER_BEHIND.first(conn, {"id": suspension_id})
    if row is None:
        return None, []
    return record_of(row), _unheard(conn, suspension_id) if row.is_behind else []


def _unheard(conn: sa.Connection, suspension_id: str) -> list[Outage]:
    return [Outage(*row) for row in _UNHEARD.all(conn, {"suspension": suspension_id})]


def heard(tx: Tx, suspension_id: str, outage: Outage) -> None:
    """The question knows of ``outage`` and all before it."""
    tx.conn.execute(suspensions.update().where(suspensions.c.id == suspension_id).values(caught_up=outage.id))


@dataclass(frozen=True, slots=True)
class MissedOutages:
    """An open question, and the outages that it has not yet heard of, oldest first."""

    suspension: Suspension
    outages: Sequence[Outage]


_WITH_HEARD = by_ids(
    sa.select(*COLUMNS, sa.func.coalesce(suspensions.c.caught_up, 0).label("heard")).where(
        suspensions.c.status == sa.literal_column("'open'")
    ),
    suspensions.c.id,
)
_SINCE = Prepared(
    sa.select(outages.c.id, outages.c.silent_from, outages.c.back_at, outages.c.length)
    .where(outages.c.id > sa.bindparam("heard"))
    .order_by(outages.c.id)
)


def all_behind(conn: sa.Connection, suspension_ids: Sequence[str]) -> list[MissedOutages]:
    """Those of the suspensions that are open and have an outage to hear of. Their intents must be locked."""
    rows = _WITH_HEARD.all(conn, listed(suspension_ids))
    since = _SINCE.all(conn, {"heard": min((row.heard for row in rows), default=0)})
    known = [Outage(*row) for row in since]
    found = []
    for row in rows:
        suspension = record_of(row)
        own = [one for one in known if one.id > row.heard and one.back_at > suspension.ask.suspended_at]
        if own:
            found.append(MissedOutages(suspension, own))
    return found


def all_heard(tx: Tx, suspension_ids: Sequence[str], newest: int) -> None:
    """These questions know of the outage with this number, and of all before it."""
    update = suspensions.update().where(suspensions.c.id.in_(suspension_ids))
    tx.conn.execute(update.values(caught_up=newest))


def overdue(conn: sa.Connection, before: datetime, limit: int) -> Sequence[str]:
    """Open questions that have an outage to hear of and were due before then by their old times, most overdue first:
    moved, they are due soonest."""
    return [row.id for row in _OVERDUE.all(conn, {"before": before, "limit": limit})]


_OVERDUE = Prepared(
    sa.select(suspensions.c.id)
    .where(
        suspensions.c.status == sa.literal_column("'open'"),
        suspensions.c.look_at < sa.bindparam("before"),
        sa.exists().where(_MINE).correlate(suspensions),
    )
    .order_by(suspensions.c.look_at)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)


def behind(conn: sa.Connection, after: PageCursor | None, limit: int) -> Sequence[PageCursor]:
    """Open questions that have an outage to hear of, oldest first, after that place: when asked, and the id."""
    table = suspensions.c
    unmoved = sa.exists().where(_MINE).correlate(suspensions)
    statement = sa.select(table.suspended_at, table.id).where(table.status == sa.literal_column("'open'"), unmoved)
    if after is not None:
        at, last = sa.literal(after[0], table.suspended_at.type), sa.literal(after[1])
        statement = statement.where(sa.tuple_(table.suspended_at, table.id) > sa.tuple_(at, last))
    statement = statement.order_by(table.suspended_at, table.id).limit(limit)
    return [(row.suspended_at, row.id) for row in conn.execute(statement)]
