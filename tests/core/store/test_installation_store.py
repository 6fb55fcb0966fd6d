"""The installation's name."""

from __future__ import annotations

import asyncio
import threading

from core.database.database import Database, Tx
from core.store import installation

PATIENCE = 30.0


async def test_an_installation_is_named_once_and_for_all(database: Database, other_database: Database) -> None:
    name = await database.write(installation.installation_id)
    assert len(name) == 12
    assert await other_database.write(installation.installation_id) == name


async def test_processes_that_start_together_agree_on_the_name(database: Database, other_database: Database) -> None:
    """On PostgreSQL all of them find no name, and still end with the same one."""
    together = threading.Barrier(4)

    def start(tx: Tx) -> str:
        if tx.conn.dialect.name == "postgresql":
            together.wait(PATIENCE)
        return installation.installation_id(tx)

    names = await asyncio.gather(*(db.write(start) for db in (database, other_database) for _ in range(2)))
    assert len(set(names)) == 1
