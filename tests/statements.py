"""Which statements the service executes: for tests of what it reads, and of what it never asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import psycopg
import sqlalchemy as sa

from core.store.database import Database
from core.store.statement_pipeline import Asked, StatementPipeline

_READING = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


@asynccontextmanager
async def executed(database: Database) -> AsyncIterator[dict[str, Any]]:
    """Every statement that reads or writes rows, with values of one execution: by name, or a list for numbered places.
    SQLite's have them in their text."""
    found: dict[str, Any] = {}

    class Traced(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            note(str(query), params)
            return super().execute(query, params, **options)

        def executemany(self, query: Any, params_seq: Any, **options: Any) -> Any:
            note(str(query), params_seq[0])
            return super().executemany(query, params_seq, **options)

    def note(statement: str, values: Any = None) -> None:
        if statement.startswith(_READING):
            found[statement] = values

    def trace(connection: Any, *_: Any) -> None:
        """What is prepared does not pass SQLAlchemy's own events."""
        if isinstance(connection, psycopg.Connection):
            connection.cursor_factory = Traced
        else:
            connection.set_trace_callback(note)

    def traced(pipeline: StatementPipeline, text: str, values: Sequence[Any]) -> Asked:
        note(text, [*values])
        return later(pipeline, text, values)

    engines, later = {database.engine, database.reading}, StatementPipeline.later
    for engine in engines:
        sa.event.listen(engine, "checkout", trace)
    try:
        await database.write(lambda tx: trace(tx.conn.connection.driver_connection))  # SQLite's is never given back
        with patch.object(StatementPipeline, "later", traced):
            yield found
    finally:
        for engine in engines:
            sa.event.remove(engine, "checkout", trace)


async def writing(database: Database) -> Any:
    """The driver's connection that the database is written by; on SQLite it is always the same."""
    return await database.write(lambda tx: tx.conn.connection.driver_connection)
