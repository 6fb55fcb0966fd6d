"""Plain times (:mod:`core.domain.plain_times`) on SQLite: read and moved together, without the questions around them.

A driver that hands rows over gives the interpreter up for each of them, and a busy event loop keeps it for a while. So
all of them come as one text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import TypeAdapter

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import VALUES, Recordset, listed
from core.domain.intent import Dependent
from core.domain.plain_times import PlainTimes
from core.store.intents import DEPENDENT, dependent_of
from core.store.outages import Outage
from core.store.suspensions import times_of
from core.store.tables import intents, outages, suspensions

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Plain(NamedTuple):
    """An open question with plain times, and its intent."""

    times: PlainTimes
    ref: str
    version: int
    outage_shift: timedelta
    intent: Dependent


def behind_by(tx: Tx, suspension_ids: Sequence[str], outage: Outage) -> list[Plain]:
    """Those of the suspensions that have plain times, and have to hear of all of ``outage``, the newest, and of no
    other. None on PostgreSQL, which waits for messages and not for an interpreter."""
    if tx.conn.dialect.name != "sqlite" or outage.length <= timedelta(0):
        return []
    values = {**listed(suspension_ids), "newest": outage.id, "silent_from": outage.silent_from}
    return [_plain(row) for row in json.loads(_PLAIN.scalar(tx.conn, values) or "[]")]


def _plain(row: Sequence[Any]) -> Plain:
    one, ref, asked_at, attempt, most, interval, waits_until, ends_at, shift, outage_shift, version, *intent = row
    times = PlainTimes(
        one,
        _EPOCH + timedelta(microseconds=asked_at),
        attempt,
        most,
        _interval(interval),
        _instant(waits_until),
        _instant(ends_at),
        timedelta(microseconds=shift),
    )
    return Plain(times, ref, version, timedelta(microseconds=outage_shift), dependent_of(intent))


_interval = lru_cache(maxsize=1024)(TypeAdapter(timedelta | None).validate_python)
_instant = lru_cache(maxsize=64)(TypeAdapter(datetime | None).validate_python)


def _select() -> sa.Select[Any]:
    own, heard = suspensions.c, sa.func.coalesce(suspensions.c.caught_up, 0)
    ask = sa.type_coerce(own.ask, sa.Text)

    def said(path: str) -> sa.ColumnElement[Any]:
        return sa.func.json_extract(ask, sa.literal_column(path))

    waits_until = said("'$.attempts[' || suspensions.attempt || '].waits_until'")
    columns = (
        own.id,
        own.ref,
        own.suspended_at,
        own.attempt,
        said("'$.policy.max_attempts'"),
        said("'$.policy.interval'"),
        waits_until,
        said("'$.expires_at'"),
        sa.func.coalesce(own.shift, 0),
        sa.func.coalesce(own.outage_shift, 0),
        own.version,
        *DEPENDENT,
    )
    earlier = sa.exists().where(
        outages.c.id > heard, outages.c.id < sa.bindparam("newest"), outages.c.back_at > own.suspended_at
    )
    no_deadline = said("'$.deadline'").is_(None) & (sa.func.coalesce(said("'$.keeps_its_times'"), 0) == 0)
    is_plain = sa.case((sa.func.json_valid(ask) == 1, no_deadline), else_=sa.false())  # NaN is none for SQLite
    return (
        sa.select(sa.func.json_group_array(sa.func.json_array(*columns), type_=sa.Text).label("found"))
        .select_from(suspensions.join(intents, intents.c.id == own.intent_id))
        .where(
            own.id.in_(VALUES),
            own.status == sa.literal_column("'open'"),
            own.look_at.is_not(None),
            own.claim.is_(sa.null()),
            own.clarifications.is_(sa.null()),
            sa.type_coerce(own.held, sa.Text) == sa.literal_column("'[]'"),
            heard < sa.bindparam("newest"),
            own.suspended_at <= sa.bindparam("silent_from", type_=own.suspended_at.type),
            ~earlier,
            is_plain,
        )
    )


_PLAIN = Prepared(_select())


def move(tx: Tx, moved: Sequence[Plain], outage: Outage) -> None:
    """Keep their times and their versions; they know of ``outage``."""
    rows = [
        (
            one.times.suspension_id,
            one.times.shift // _MICROSECOND,
            one.outage_shift // _MICROSECOND,
            _microseconds(one.times.look_at),
            _microseconds(one.times.expires_at),
            one.version,
            outage.id,
        )
        for one in moved
    ]
    _MOVED.run(tx.conn, rows, each=_EACH, together=_TOGETHER)


def _microseconds(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // _MICROSECOND


_NAMES = ("shift", "outage_shift", "look_at", "expires_at", "version", "caught_up")
_MOVED = Recordset(sa.column("_id", sa.Text), *(sa.column(name, sa.BigInteger) for name in _NAMES))
_EACH = Prepared(
    suspensions.update()
    .where(suspensions.c.id == sa.bindparam("_id"))
    .values(times_of({name: sa.bindparam(name, type_=sa.BigInteger) for name in _NAMES}))
)
_TOGETHER = _MOVED.together(
    lambda given: (
        suspensions.update()
        .where(suspensions.c.id == given.c["_id"])
        .values(times_of({name: given.c[name] for name in _NAMES}))
    )
)
