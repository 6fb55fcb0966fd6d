"""One process uses an SQLite file, whatever the file is called, and its death sets the file free (decision 0002)."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.database.database import open_database
from core.errors import AlreadyRunning, DatabaseReplaced, DatabaseUnavailable, ForeignDatabase
from core.store import intents, schema
from tests.core.store_examples import an_intent, keep_intents

HOLDER = """
import sys
from core.database.database import open_database
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


# --- Two names of one file ------------------------------------------------------------------------------------------


def another_name(sqlite_url: str, tmp_path: Path, link: str) -> str:
    path = Path(str(sa.make_url(sqlite_url).database))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    other = folder / "other.db"
    if link == "symbolic":
        other.symlink_to(path)
    else:
        other.hardlink_to(path)
    return f"sqlite+aiosqlite:///{other}"


@pytest.mark.parametrize("link", ["symbolic", "hard"])
async def test_another_name_of_a_file_in_use_is_refused(sqlite_url: str, tmp_path: Path, link: str) -> None:
    first, second = open_database(sqlite_url), open_database(another_name(sqlite_url, tmp_path, link))
    second.hold_file()
    with pytest.raises(AlreadyRunning):
        first.hold_file()
    await second.close()
    first.hold_file()


# --- Whose it is to read --------------------------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, str]:
    return {file.name: f"{stat.S_IMODE(file.stat().st_mode):04o}" for file in folder.glob("*.db*")}


async def test_a_new_file_and_all_beside_it_are_nobody_elses_to_read(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        database = open_database(f"sqlite+aiosqlite:///{tmp_path}/new.db")
        schema.prepare(database)
        database.hold_file()
        await keep_intents(database, an_intent())
        assert modes(tmp_path) == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm", "new.db.lock"), "0600")
    finally:
        os.umask(before)
    await database.close()


async def test_a_file_that_an_earlier_version_left_open_is_closed(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "handraise.db").chmod(0o644)
    database = open_database(sqlite_url)
    database.hold_file()
    await keep_intents(database, an_intent())
    assert set(modes(tmp_path).values()) == {"0600"}
    await database.close()


# --- A file that goes away while it is in use -----------------------------------------------------------------------


def delete(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replace(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    copy.rename(path)


@pytest.mark.parametrize("spoil", [delete, move, replace])
async def test_nothing_is_written_into_a_file_that_nobody_finds_again(
    sqlite_url: str, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    database = open_database(sqlite_url)
    database.hold_file()
    await keep_intents(database, an_intent())
    spoil(tmp_path / "handraise.db")
    with pytest.raises(DatabaseReplaced, match=r"handraise\.db was (deleted or moved|replaced by another file)"):
        await keep_intents(database, an_intent("intent-2"))
    with pytest.raises(DatabaseReplaced):
        database.check_file()
    await database.close()


async def test_no_empty_file_is_made_in_the_place_of_one_that_has_gone(sqlite_url: str, tmp_path: Path) -> None:
    database = open_database(sqlite_url)
    database.hold_file()
    delete(tmp_path / "handraise.db")
    with pytest.raises(DatabaseUnavailable):
        await database.read(lambda conn: intents.get(conn, "intent-1"))
    assert not (tmp_path / "handraise.db").exists()
    await database.close()


async def test_a_file_that_is_the_same_is_used_on(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    database.hold_file()
    database.check_file()
    await database.close()


# --- A file of another program --------------------------------------------------------------------------------------


@pytest.mark.parametrize("tables", [("photos", "albums"), ("alembic_version", "photos")])
async def test_a_file_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path, tables: Sequence[str]) -> None:
    path = tmp_path / "photos.db"
    with contextlib.closing(sqlite3.connect(path)) as conn:
        for name in tables:
            conn.execute(f"CREATE TABLE {name} (version_num TEXT)")
        conn.commit()
    before = path.read_bytes()
    database = open_database(f"sqlite+aiosqlite:///{path}")
    with pytest.raises(
        ForeignDatabase, match=r"^database_url: .*photos\.db holds tables of another program \(.*photos"
    ):
        schema.prepare(database)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["photos.db"]
