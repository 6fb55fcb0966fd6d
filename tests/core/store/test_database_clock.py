"""One process runs the clock of a database, and its death gives the clock free (issue 2; decision 0002)."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa

from core.errors import AlreadyRunning
from core.store.database import Database, open_database

HOLDER = """
import sys
from core.store.database import open_database
database = open_database(sys.argv[1])
database.hold_clock()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_holder_is_refused_in_one_clear_line(database: Database, other_database: Database) -> None:
    database.hold_clock()
    with pytest.raises(AlreadyRunning, match=r"^Another handraise process .*\.$") as refused:
        other_database.hold_clock()
    assert "\n" not in refused.value.message


async def test_whoever_lets_go_leaves_it_to_the_next(database: Database, other_database: Database) -> None:
    database.hold_clock()
    await database.close()
    other_database.hold_clock()
    assert other_database.still_holds_clock()


async def test_whoever_was_refused_may_try_again(database: Database, database_url: str) -> None:
    first = open_database(database_url)
    first.hold_clock()
    for _ in range(3):
        with pytest.raises(AlreadyRunning):
            database.hold_clock()
    await first.close()
    database.hold_clock()


def test_a_killed_process_holds_nothing_any_more(database: Database, database_url: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, database_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(AlreadyRunning):
        database.hold_clock()
    holder.kill()
    holder.communicate()
    _until_free(database)
    assert database.still_holds_clock()


def _until_free(database: Database) -> None:
    """PostgreSQL notices the death of a client when it next looks at its socket."""
    for _ in range(1000):
        try:
            database.hold_clock()
            return
        except AlreadyRunning:
            continue
    raise AssertionError("the clock of a dead process is still held")


def test_a_broken_connection_gives_the_clock_up(postgres_url: str) -> None:
    holder, other = open_database(postgres_url), open_database(postgres_url)
    holder.hold_clock()
    with other.engine.connect() as conn:
        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        conn.execute(sa.text(f"SELECT pg_terminate_backend(pid) {others}"))
    assert not holder.still_holds_clock()
    holder.engine.dispose()
    other.engine.dispose()
