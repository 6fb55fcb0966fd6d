"""Which statements the service executes: for tests of what it reads, and of what it never asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import psycopg
import sqlalchemy as sa

from core.database.database import Database

_READING = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


@asynccontextmanager
async def executed(database: Database) -> AsyncIterator[dict[str, Any]]:
    """Every statement that reads or writes rows, with values of one execution: by name, or a list for numbered places.
    SQLite's have them in their text."""
    found: dict[str, Any] = {}

    execute, executemany = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def executed_one(cursor: psycopg.Cursor[Any], query: Any, params: Any = None, **options: Any) -> Any:
        note(str(query), params)
        return execute(cursor, query, params, **options)

    def executed_many(cursor: psycopg.Cursor[Any], query: Any, params_seq: Any, **options: Any) -> None:
        rows = [*params_seq]
        note(str(query), rows[0])
        executemany(cursor, query, rows, **options)

    def note(statement: str, values: Any = None) -> None:
        if statement.startswith(_READING):
            found[statement] = values

    def trace(connection: Any, *_: Any) -> None:
        """What is prepared does not pass SQLAlchemy's own events."""
        if not isinstance(connection, psycopg.Connection):
            connection.set_trace_callback(note)

    engines = {database.engine, database.reading}
    for engine in engines:
        sa.event.listen(engine, "checkout", trace)
    try:
        await database.write(lambda tx: trace(tx.conn.connection.driver_connection))  # SQLite's is never given back
        with (
            patch.object(psycopg.Cursor, "execute", executed_one),
            patch.object(psycopg.Cursor, "executemany", executed_many),
        ):
            yield found
    finally:
        for engine in engines:
            sa.event.remove(engine, "checkout", trace)


async def writing(database: Database) -> Any:
    """The driver's connection that the database is written by; on SQLite it is always the same."""
    return await database.write(lambda tx: tx.conn.connection.driver_connection)
