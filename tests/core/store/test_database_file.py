"""One process uses an SQLite file, and its death sets the file free (decision 0002)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from core.errors import AlreadyRunning
from core.store.database import open_database

HOLDER = """
import sys
from core.store.database import open_database
database = open_database(sys.argv[1])
database.hold_file()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_holder_is_refused_in_one_clear_line(sqlite_url: str) -> None:
    first, second = open_database(sqlite_url), open_database(sqlite_url)
    first.hold_file()
    with pytest.raises(AlreadyRunning, match=r"^Another handraise process .*\.$") as refused:
        second.hold_file()
    assert "\n" not in refused.value.message


async def test_whoever_lets_go_leaves_it_to_the_next(sqlite_url: str) -> None:
    first, second = open_database(sqlite_url), open_database(sqlite_url)
    first.hold_file()
    await first.close()
    second.hold_file()


async def test_whoever_was_refused_may_try_again(sqlite_url: str) -> None:
    first, second = open_database(sqlite_url), open_database(sqlite_url)
    first.hold_file()
    for _ in range(3):
        with pytest.raises(AlreadyRunning):
            second.hold_file()
    await first.close()
    second.hold_file()


def test_a_killed_process_holds_nothing_any_more(sqlite_url: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, sqlite_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    database = open_database(sqlite_url)
    with pytest.raises(AlreadyRunning):
        database.hold_file()
    holder.kill()
    holder.communicate()
    database.hold_file()
