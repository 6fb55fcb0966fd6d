"""A disk that is full or dead, a server that takes no writes: the database is not available, and it is said why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.database.database import Database, open_database
from core.errors import DatabaseUnavailable, Unavailable
from core.store import intents
from tests.core.store_examples import an_intent, keep_intents
from tests.statements import writing

BIG = "x" * 500_000
"""The name of a key that fills a disk."""


@pytest.fixture
async def sqlite(sqlite_url: str) -> AsyncIterator[Database]:
    database = open_database(sqlite_url)
    yield database
    await database.close()


async def test_a_full_disk_is_said_and_costs_nothing_that_was_there(sqlite: Database) -> None:
    await keep_intents(sqlite, an_intent())
    connection = await writing(sqlite)
    connection.execute("PRAGMA max_page_count=1")
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable, match="its disk is full") as full:
            await keep_intents(sqlite, an_intent("intent-2", BIG))
        assert full.value.reason is Unavailable.DISK_FULL
    connection.execute("PRAGMA max_page_count=1000000")
    await keep_intents(sqlite, an_intent("intent-2", BIG))
    for name in ("intent-1", "intent-2"):
        assert await sqlite.read(lambda conn, name=name: intents.get(conn, name)) is not None


async def test_whoever_shares_a_commit_with_what_fills_the_disk_is_told_too(sqlite: Database) -> None:
    """SQLite takes the whole transaction back then, and not only the savepoint."""
    (await writing(sqlite)).execute("PRAGMA max_page_count=1")
    writes = [keep_intents(sqlite, an_intent(f"intent-{n}", BIG if n == 1 else "refund-agent")) for n in range(3)]
    told = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(one) for one in told} <= {DatabaseUnavailable, type(None)}
    kept = [await sqlite.read(lambda conn, n=n: intents.get(conn, f"intent-{n}")) for n in range(3)]
    assert [one is not None for one in kept] == [one is None for one in told]


DYING = """
import asyncio, resource, signal, sys
from core.database.database import open_database
from core.store import intents
from core.errors import DatabaseUnavailable
from tests.core.store_examples import an_intent, keep_intents

async def main():
    database = open_database(sys.argv[1])
    await keep_intents(database, an_intent())
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    for number in range(2):
        try:
            await keep_intents(database, an_intent(f"dead-{number}", "x" * 500_000))
        except DatabaseUnavailable as failure:
            print(failure.reason)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await keep_intents(database, an_intent("intent-2"))
    print(await database.read(lambda conn: intents.get(conn, "intent-2")) is not None)
    await database.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_disk_that_fails_is_said_and_used_again_when_it_works(sqlite_url: str) -> None:
    """A limit on the size of files is met as an error of the write itself, as a dead disk is."""
    told = subprocess.run(
        [sys.executable, "-c", DYING, sqlite_url],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert told.stdout.split() == ["disk_fails", "disk_fails", "True"], told.stderr


async def test_a_damaged_file_is_said(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    await keep_intents(database, an_intent())
    await database.close()
    path = database.path
    assert path is not None
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    with pytest.raises(DatabaseUnavailable) as damaged:
        await open_database(sqlite_url).read(lambda conn: intents.get(conn, "intent-1"))
    assert damaged.value.reason is Unavailable.DAMAGED


async def test_a_server_that_has_become_a_standby_is_said_to_take_no_writes(postgres_url: str) -> None:
    url = sa.make_url(postgres_url).update_query_dict({"options": "-c default_transaction_read_only=on"})
    database = open_database(url.render_as_string(hide_password=False))
    with pytest.raises(DatabaseUnavailable, match="it takes no writes") as standby:
        await keep_intents(database, an_intent())
    await database.close()
    assert standby.value.reason is Unavailable.READ_ONLY


async def test_what_is_wrong_with_a_statement_is_not_blamed_on_the_database(database: Database) -> None:
    await keep_intents(database, an_intent())
    with pytest.raises(sa.exc.IntegrityError):
        await keep_intents(database, an_intent())
    with pytest.raises(sa.exc.DBAPIError):
        await database.read(lambda conn: conn.execute(sa.text("SELECT 1; SELECT 2 WHERE 1 = :one"), {"one": object()}))
