"""Work that one process of an installation does at a time.

On SQLite there is one process (``Database.hold_file``); on PostgreSQL an advisory lock of a session says who has it,
and ends with that process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from core.store.database import Database

MOVING_OUT = 0x48616E647262  # "Handrb"


@asynccontextmanager
async def alone(database: Database, task: int) -> AsyncIterator[bool]:
    """Whether this process may do ``task`` for as long as the block lasts; false where another one does it."""
    if database.dialect != "postgresql":
        yield True
        return
    conn = await asyncio.to_thread(_locked, database, task)
    try:
        yield conn is not None
    finally:
        if conn is not None:
            await asyncio.to_thread(_unlock, conn, task)


def _locked(database: Database, task: int) -> sa.Connection | None:
    try:
        conn = database.engine.connect()
    except OperationalError:
        return None  # the database is away: nobody may
    if conn.scalar(sa.select(sa.func.pg_try_advisory_lock(task))):
        conn.commit()
        return conn
    conn.close()
    return None


def _unlock(conn: sa.Connection, task: int) -> None:
    with contextlib.suppress(SQLAlchemyError):  # a broken connection has given the lock away
        conn.scalar(sa.select(sa.func.pg_advisory_unlock(task)))
        conn.commit()
    conn.close()
