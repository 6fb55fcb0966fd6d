"""Cursors in the event log: each follower's place, and the numbers of lines that were restored from a backup.

A follower has one row, locked while it moves. A line's cursor is its transaction's number and a serial number
(:attr:`core.store.event_log.Logged.cursor`). Readers of a stream, subscriptions and the follower remember cursors.
PostgreSQL numbers transactions anew on each server. So lines that were restored there seem to be of transactions to
come: nobody would be told of them, nor of what is written next.

    restored on PostgreSQL  →  their transaction becomes 0, and whoever remembers one is set to the same place
    restored on SQLite      →  the next line's number lies far behind what clients may have seen since the backup

Source: https://www.postgresql.org/docs/current/functions-info.html, "pg_snapshot"; docs/decisions/0072.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import insert
from core.database.visibility import next_transaction
from core.store.tables import events, log_followers, subscriptions

Cursor = tuple[int, int]
"""Of a line of the log (``Logged.cursor``): everything up to it is done."""


def place(conn: sa.Connection, name: str) -> Cursor | None:
    """``None`` before it has begun."""
    return _cursor(conn.execute(_of(name)).first())


def lock(tx: Tx, name: str, start: Cursor) -> Cursor:
    """Where it is, once nobody else moves it; ``start`` if it begins with this."""
    first = {"name": name, "transaction_id": start[0], "seq": start[1]}
    tx.conn.execute(insert(tx, log_followers).values(**first).on_conflict_do_nothing())
    return _cursor(tx.conn.execute(_of(name).with_for_update()).first()) or start


def lock_free(tx: Tx, name: str) -> Cursor | None:
    """As :func:`lock`, of one that has begun; ``None`` if somebody else moves it at this moment."""
    return _cursor(tx.conn.execute(_of(name).with_for_update(skip_locked=True)).first())


def move(tx: Tx, name: str, to: Cursor) -> None:
    """It must be locked in this transaction."""
    values = {"transaction_id": to[0], "seq": to[1]}
    tx.conn.execute(log_followers.update().where(log_followers.c.name == name).values(**values))


def _of(name: str) -> sa.Select[Any]:
    return sa.select(log_followers.c.transaction_id, log_followers.c.seq).where(log_followers.c.name == name)


def _cursor(row: Any) -> Cursor | None:
    return None if row is None else (row.transaction_id, row.seq)


ROOM = 1_000_000
"""More lines than are written between two backups."""


def is_of_here(conn: sa.Connection, transaction_id: int) -> bool:
    """Whether this server may have given that number to a transaction."""
    return transaction_id < (conn.scalar(sa.select(next_transaction())) or 0)


def known(conn: sa.Connection, cursor: Cursor) -> Cursor:
    """``cursor`` as a client remembers it, as a place in this log."""
    return cursor if is_of_here(conn, cursor[0]) else (0, cursor[1])


def renumber(conn: sa.Connection) -> bool:
    """Number lines that come from another server anew, on PostgreSQL and in the caller's transaction; false if nothing
    does. The order of lines of transactions that ran at once may change, and so a subscriber may be told twice."""
    followers = conn.execute(sa.select(log_followers)).all()
    states = [state for state in conn.scalars(sa.select(subscriptions.c.begins_after).distinct()) if ":" in state]
    newest = conn.scalar(sa.select(sa.func.max(events.c.transaction_id))) or 0
    numbers = [newest, *(one.transaction_id for one in followers), *(_following(state) - 1 for state in states)]
    if is_of_here(conn, max(numbers)):
        return False
    for follower in followers:
        place = sa.tuple_(sa.literal(follower.transaction_id), sa.literal(follower.seq))
        upto = _upto(conn, sa.tuple_(events.c.transaction_id, events.c.seq) > place)
        mine = log_followers.update().where(log_followers.c.name == follower.name)
        conn.execute(mine.values(transaction_id=0, seq=upto))
    for state in states:
        theirs = subscriptions.update().where(subscriptions.c.begins_after == state)
        conn.execute(theirs.values(begins_after=str(_upto(conn, _came_after(state)))))
    conn.execute(events.update().values(transaction_id=0))
    return True


def _following(state: str) -> int:
    return int(state.split(":")[1])


def _came_after(state: str) -> sa.ColumnElement[bool]:
    """The opposite of :func:`core.store.event_log.was_there`."""
    running = [int(number) for number in state.split(":")[2].split(",") if number]
    return (events.c.transaction_id >= _following(state)) | events.c.transaction_id.in_(running)


def _upto(conn: sa.Connection, behind: sa.ColumnElement[bool]) -> int:
    """The serial number before the first line for which ``behind`` holds; that of the last one if it holds for none."""
    first: int | None = conn.scalar(sa.select(sa.func.min(events.c.seq)).where(behind))
    return (conn.scalar(sa.select(sa.func.max(events.c.seq))) or 0) if first is None else first - 1


def leave_room(conn: sa.Connection) -> None:
    """On SQLite: clients that have seen more than the backup holds miss nothing of what is written from now on."""
    conn.execute(sa.text("UPDATE sqlite_sequence SET seq = seq + :room WHERE name = 'events'"), {"room": ROOM})
