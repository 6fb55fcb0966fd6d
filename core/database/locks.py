"""Locks across processes: a transaction's locks, and a fixed number of places for an installation, each held by one
process at a time.

A transaction holds its locks until it ends. SQLite has one writer, who holds everything.

On SQLite there is one process, and every place is its own. On PostgreSQL an advisory lock of a session holds a place;
it ends with the process, however that ends. :func:`alone` is one place: work that one process does at a time. A pooler
would give the lock to the session's next user, so these connections bypass it (``Database.direct``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from core.database.database import Database, Tx
from core.database.failures import SHOW_READ_ONLY


def lock_name(tx: Tx, name: str) -> None:
    """Wait for every transaction that has locked this name, and lock it."""
    if tx.conn.dialect.name == "postgresql":
        tx.conn.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(name, 0))))


def lock_number(tx: Tx, number: int) -> None:
    """As :func:`lock_name`, for a lock that all versions of the service know by its number."""
    if tx.conn.dialect.name == "postgresql":
        tx.conn.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def lock_table(tx: Tx, table: sa.Table) -> None:
    """Nobody else changes a row of it; whoever reads goes on."""
    if tx.conn.dialect.name == "postgresql":
        tx.conn.execute(sa.text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))


@dataclass(slots=True)
class LockSlot:
    """``number`` counts from 0. :class:`LockSlots` alone looks at the session that holds it."""

    number: int
    session: sa.Connection | None = None


class LockSlots:
    """The locks are ``count`` numbers from ``name`` on, which no others may have."""

    def __init__(self, database: Database, name: int, count: int) -> None:
        self._database = database
        self._name = name
        self._count = count
        self._mine: set[int] = set()

    async def take(self) -> LockSlot | None:
        """A free place, ``None`` if there is none, or if the database can't say."""
        for number in range(self._count):
            if number in self._mine:
                continue
            self._mine.add(number)  # of two tasks of this process, one asks
            place = LockSlot(number)
            if await asyncio.to_thread(self._lock, place):
                return place
            self._mine.discard(number)
        return None

    async def holds(self, place: LockSlot) -> bool:
        """Whether it is still ours. While the database is away nobody else can have it, so it is."""
        return await asyncio.to_thread(self._alive, place) or await asyncio.to_thread(self._lock_again, place)

    async def give_back(self, place: LockSlot) -> None:
        try:
            await asyncio.to_thread(self._unlock, place)
        finally:
            self._mine.discard(place.number)

    def _key(self, place: LockSlot) -> int:
        return self._name + place.number

    def _lock(self, place: LockSlot) -> bool | None:
        """Whether it is ours from now on; ``None`` if the database can't say."""
        if self._database.dialect != "postgresql":
            return True
        try:
            session = self._database.direct.connect()
        except SQLAlchemyError:
            return None
        try:
            mine = None
            if _counts(session):
                mine = bool(session.scalar(sa.select(sa.func.pg_try_advisory_lock(self._key(place)))))
        except SQLAlchemyError:
            mine = None
        if mine:
            place.session = session
        else:
            _close(session)
        return mine

    def _alive(self, place: LockSlot) -> bool:
        """Whether the session lives, and the lock with it."""
        if place.session is None:
            return self._database.dialect != "postgresql"
        try:
            counts = _counts(place.session)
        except SQLAlchemyError:
            counts = False
        if not counts:
            _let_go(place)
        return counts

    def _lock_again(self, place: LockSlot) -> bool:
        """Unless the database says that somebody else has it."""
        return self._lock(place) is not False

    def _unlock(self, place: LockSlot) -> None:
        if place.session is None:
            return
        with contextlib.suppress(SQLAlchemyError):  # a broken session has given the lock away
            place.session.scalar(sa.select(sa.func.pg_advisory_unlock(self._key(place))))
        _let_go(place)


def _counts(session: sa.Connection) -> bool:
    """Whether a lock of this session keeps others off. One on a server that takes no writes does not: whoever comes
    next is with the server that has taken its place. A connection to such a one is not used again."""
    if session.scalar(sa.text(SHOW_READ_ONLY)) == "off":
        return True
    session.execute(sa.select(sa.func.pg_advisory_unlock_all()))
    session.invalidate()
    return False


def _let_go(place: LockSlot) -> None:
    if place.session is not None:
        _close(place.session)
        place.session = None


def _close(session: sa.Connection) -> None:
    with contextlib.suppress(SQLAlchemyError):
        session.close()


MOVING_OUT = 0x48616E647262  # "Handrb"


@asynccontextmanager
async def alone(database: Database, task: int) -> AsyncIterator[bool]:
    """Whether this process may do ``task`` for as long as the block lasts; false where another one does it, and while
    the database is away."""
    places = LockSlots(database, task, 1)
    place = await places.take()
    try:
        yield place is not None
    finally:
        if place is not None:
            await places.give_back(place)
