"""Markers: things that were seen, said or done before, one row each in the table ``seen``, for every process.

A row's ``channel`` is the kind of marker and its ``key`` the thing; only this module knows how they are written. A
marker is deleted after :data:`KEPT`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import insert, upsert
from core.store.tables import seen

KEPT = timedelta(days=7)


def forget_old(tx: Tx, now: datetime) -> None:
    tx.conn.execute(seen.delete().where(seen.c.at < now - KEPT))


# --- Ids that came in ---------------------------------------------------------------------------------------------


def note_seen(tx: Tx, channel: str, key: str, now: datetime) -> bool:
    """Remember an inbound id. True if it was there already."""
    statement = insert(tx, seen).values(channel=channel, key=key, at=now).on_conflict_do_nothing()
    counting = {"preserve_rowcount": True}  # of an INSERT, SQLAlchemy keeps it on request alone
    return tx.conn.execute(statement, execution_options=counting).rowcount == 0


def was_seen(conn: sa.Connection, channel: str, key: str) -> bool:
    return _SEEN.scalar(conn, {"channel": channel, "key": key}) is not None


_SEEN = Prepared(
    sa.select(seen.c.key).where(seen.c.channel == sa.bindparam("channel"), seen.c.key == sa.bindparam("key"))
)


# --- How many came in lately --------------------------------------------------------------------------------------


def note_among(tx: Tx, channel: str, group: str, key: str, now: datetime) -> None:
    """Remember an inbound id as one of ``group`` (a name without white space), for :func:`count_among`."""
    note_seen(tx, f"{channel}-lately", f"{group} {key}", now)


def count_among(conn: sa.Connection, channel: str, group: str, since: datetime) -> int:
    """How many ids of ``group`` were noted after ``since``."""
    own = seen.c
    of_group = (own.channel == f"{channel}-lately") & (own.key > f"{group} ") & (own.key < f"{group}!")
    return conn.scalar(sa.select(sa.func.count()).select_from(seen).where(of_group & (own.at > since))) or 0


# --- What is done once --------------------------------------------------------------------------------------------


class Marker(StrEnum):
    """What is done once for each key within :data:`KEPT`."""

    TURNED_AWAY = "turned_away"
    """Somebody who may not answer, in the intent's log."""
    SWEPT = "swept"
    """A channel's ended questions were withdrawn once more: each night."""
    REACHED_NOBODY = "reached_nobody"
    """An attempt has reached nobody: its next one is on its way, or the operators know."""
    UNDECIDED = "undecided"
    """An incident was resolved, and hears that its question is still open."""
    PAGED_AGAIN = "paged_again"
    HELPED = "helped"
    """An incident hears how to answer."""
    SIGN_IN_SENT = "signin"
    SIGN_IN_USED = "signin-link"
    SIGNED_OUT = "signout"


def first_time(tx: Tx, marker: Marker, key: str, now: datetime) -> bool:
    """True once for each ``key``."""
    return not note_seen(tx, marker, key, now)


# --- Messages that nobody asked for -------------------------------------------------------------------------------


def alert_is_new(tx: Tx, reason: str, now: datetime, span: timedelta) -> bool:
    """Whether the operators were not told of ``reason`` for ``span``; from now on they were."""
    return _first_within(tx, reason, now, span)


def may_write_back(
    tx: Tx, kind: str, suspension_id: str, person: str, key: str, now: datetime, *, most: int, span: timedelta
) -> bool:
    """Whether ``person`` got fewer than ``most`` of this ``kind`` about the question within ``span``. If so, one more
    is counted, in reply to what is known by ``key``."""
    group = f"{kind}:{suspension_id}:{person}"
    if count_among(tx.conn, "written", group, now - span) >= most:
        return False
    note_among(tx, "written", group, key, now)
    return True


def _first_within(tx: Tx, key: str, now: datetime, span: timedelta) -> bool:
    noted = insert(tx, seen).values(channel="alert", key=key, at=now)
    again = noted.on_conflict_do_update(
        index_elements=["channel", "key"], set_={"at": now}, where=seen.c.at <= now - span
    )
    return tx.conn.execute(again, execution_options={"preserve_rowcount": True}).rowcount == 1


# --- What has to arrive -------------------------------------------------------------------------------------------

MOST = 500
"""How many are looked at together; the rest comes with the next look."""


def await_arrival(tx: Tx, channel: str, what: str, now: datetime) -> None:
    """Wait for ``what`` at the door of ``channel``; nothing if it has come before."""
    if not has_arrived(tx.conn, channel, what):
        note_seen(tx, _awaited(channel), what, now)


def note_arrived(tx: Tx, channel: str, what: str, now: datetime) -> None:
    note_seen(tx, _arrived(channel), what, now)


def has_arrived(conn: sa.Connection, channel: str, what: str) -> bool:
    return was_seen(conn, _arrived(channel), what)


def awaited_since(conn: sa.Connection, channel: str, at: datetime) -> list[str]:
    """What has been waited for since then or longer, oldest first."""
    own = seen.c
    wanted = sa.select(own.key).where(own.channel == _awaited(channel), own.at <= at).order_by(own.at).limit(MOST)
    return list(conn.scalars(wanted))


def oldest_awaited(conn: sa.Connection, channel: str) -> datetime | None:
    """Since when something has been waited for, ``None`` if nothing is."""
    wanted = sa.select(sa.func.min(seen.c.at)).where(seen.c.channel == _awaited(channel))
    found: datetime | None = conn.scalar(wanted)
    return found


def give_up(tx: Tx, channel: str, what: str) -> bool:
    """Wait for it no more. True if it has not arrived, for one alone of several that give it up."""
    gone = tx.conn.execute(seen.delete().where(seen.c.channel == _awaited(channel), seen.c.key == what))
    return gone.rowcount > 0 and not has_arrived(tx.conn, channel, what)


def _awaited(channel: str) -> str:
    return f"{channel}.awaited"


def _arrived(channel: str) -> str:
    return f"{channel}.arrived"


# --- Whether what was withdrawn is gone ---------------------------------------------------------------------------


def note_place(tx: Tx, channel: str, ref: str, place: str, now: datetime) -> None:
    """The question ``ref`` stands at ``place``, one of several that ``channel`` may have made of it."""
    note_seen(tx, _places(channel), f"{ref} {place}", now)


def note_gone(tx: Tx, channel: str, ref: str, place: str, at: datetime) -> None:
    """Nobody was asked there any more ``at`` that time."""
    upsert(tx, seen, {"channel": _gone(channel), "key": f"{ref} {place}", "at": at}, ("channel", "key"))


def forget_gone(tx: Tx, channel: str, ref: str, place: str, *, before: datetime) -> None:
    """Somebody is asked there after all, if it was gone ``before`` that time."""
    own = seen.c
    there = (own.channel == _gone(channel)) & (own.key == f"{ref} {place}")
    tx.conn.execute(seen.delete().where(there, own.at < before))


def places_of(conn: sa.Connection, channel: str, ref: str) -> list[str]:
    """Where the question stands or has stood, as far as is known."""
    return _places_of(conn, _places(channel), ref)


def places_left(conn: sa.Connection, channel: str, ref: str) -> list[str]:
    """Those of :func:`places_of` that are not known to be gone."""
    gone = _places_of(conn, _gone(channel), ref)
    return [place for place in places_of(conn, channel, ref) if place not in gone]


def _places_of(conn: sa.Connection, kind: str, ref: str) -> list[str]:
    own = seen.c
    mine = (own.channel == kind) & (own.key > f"{ref} ") & (own.key < f"{ref}!")
    return [key.removeprefix(f"{ref} ") for key in conn.scalars(sa.select(own.key).where(mine).order_by(own.at))]


def await_end(tx: Tx, channel: str, ref: str, until: datetime) -> None:
    """Wait ``until`` then for the question to be gone from every place."""
    upsert(tx, seen, {"channel": _ending(channel), "key": ref, "at": until}, ("channel", "key"))


def ends_due(conn: sa.Connection, channel: str, now: datetime) -> list[str]:
    """The refs of what should be gone by now, oldest first."""
    own = seen.c
    wanted = sa.select(own.key).where(own.channel == _ending(channel), own.at <= now).order_by(own.at).limit(MOST)
    return list(conn.scalars(wanted))


def next_end(conn: sa.Connection, channel: str) -> datetime | None:
    """When the next one should be gone, ``None`` if nothing is waited for."""
    found: datetime | None = _NEXT_END.scalar(conn, {"channel": _ending(channel)})
    return found


_NEXT_END = Prepared(sa.select(sa.func.min(seen.c.at).label("at")).where(seen.c.channel == sa.bindparam("channel")))


def forget_end(tx: Tx, channel: str, ref: str) -> bool:
    """Wait for it no more. True for one alone of several that forget it."""
    gone = tx.conn.execute(seen.delete().where(seen.c.channel == _ending(channel), seen.c.key == ref))
    return gone.rowcount > 0


def _places(channel: str) -> str:
    return f"{channel}.place"


def _gone(channel: str) -> str:
    return f"{channel}.gone"


def _ending(channel: str) -> str:
    return f"{channel}.ending"


# --- Processes ----------------------------------------------------------------------------------------------------


def say_alive(tx: Tx, process: str, now: datetime) -> None:
    """``process``, which runs no clock, can write. Not a beat: nobody measures an outage by it."""
    upsert(tx, seen, {"channel": "process", "key": process, "at": now}, ("channel", "key"))


def ask_for_reload(tx: Tx, now: datetime, *, force: bool = False) -> None:
    """Have every process read its configuration anew; with ``force`` whatever is lost by it."""
    for key in ("asked", "forced") if force else ("asked",):
        upsert(tx, seen, {"channel": "process-reload", "key": key, "at": now}, ("channel", "key"))


def reload_asked_at(conn: sa.Connection) -> datetime | None:
    """When that was asked for last; ``None`` if it was long ago, or never."""
    found: datetime | None = _RELOAD.scalar(conn, {"key": "asked"})
    return found


def reload_forced_at(conn: sa.Connection) -> datetime | None:
    """As :func:`reload_asked_at`, of those that were asked for with force."""
    found: datetime | None = _RELOAD.scalar(conn, {"key": "forced"})
    return found


_RELOAD = Prepared(sa.select(seen.c.at).where(seen.c.channel == "process-reload", seen.c.key == sa.bindparam("key")))
