"""Which statements the service executes: for tests of what it reads, and of what it never asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import sqlalchemy as sa

from core.store.database import Database

_READING = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


@asynccontextmanager
async def executed(database: Database) -> AsyncIterator[dict[str, Any]]:
    """Every statement that reads or writes rows, with values of one execution."""
    found: dict[str, Any] = {}
    engine = database.engine

    def traced(statement: str) -> None:
        if statement.startswith(_READING):
            found[statement] = None

    def checked_out(connection: Any, *_: Any) -> None:
        connection.set_trace_callback(traced)

    def about_to(_conn: Any, _cursor: Any, statement: str, values: Any, _context: Any, many: bool) -> None:
        if statement.startswith(_READING):
            found[statement] = values[0] if many else values

    sa.event.listen(engine, "before_cursor_execute", about_to)
    if database.dialect == "sqlite":  # where a prepared statement does not pass SQLAlchemy
        sa.event.listen(engine, "checkout", checked_out)
    try:
        await database.write(lambda _tx: None)  # a group under way has its connection already, and may take more jobs
        yield found
    finally:
        sa.event.remove(engine, "before_cursor_execute", about_to)
        if database.dialect == "sqlite":
            sa.event.remove(engine, "checkout", checked_out)
