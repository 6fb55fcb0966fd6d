"""Backups (docs/how-to/backup.md; decision 0072): what is in one, what is refused, and what a failure leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from handraise.cli.progress import progress
from handraise_testing.database import lay_down

from bot.commands.backups import dumps, manifest
from bot.commands.backups.creation import Made, back_up
from bot.commands.backups.restoration import Restored
from bot.commands.backups.restoration import restore as put_back
from core.database import database_file
from core.database.database import open_database
from core.errors import BackupFailed, OperatorError
from core.store import schema
from core.store.snapshots import postgres_snapshot
from core.store.tables import archived
from tests import preloaded
from tests.cli import watched
from tests.clock import START
from tests.core.older import migrate_to
from tests.patience import PATIENCE
from tests.postgres import binaries
from tests.world import running

SECRET = "the-secret-key-of-the-tests-alone"
BATCH = "20260324T090000Z-0123abcd"


class Place:
    """A folder with a configuration, and the commands run with it."""

    def __init__(self, folder: Path, url: str = "", **settings: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.url = url or f"sqlite+aiosqlite:///{folder}/handraise.db"
        self.config = folder / "handraise.yaml"
        self.archive = folder / "archive"
        given = {"database_url": self.url, "retention": {"archive_dir": str(self.archive)}, **settings}
        self.config.write_text(yaml.safe_dump(given))

    @property
    def database(self) -> Path:
        return self.folder / "handraise.db"

    @property
    def key(self) -> Path:
        return self.folder / "handraise.db.key"

    def back_up(self, to: Path) -> Made:
        with progress() as begin:
            return back_up(to, self.config, begin)

    def restore(self, from_: Path) -> Restored:
        with progress() as begin:
            return put_back(from_, self.config, begin)

    def files(self) -> set[str]:
        """All that is there beside the configuration."""
        paths = (path for path in self.folder.rglob("*") if path.is_file() and path != self.config)
        return {str(path.relative_to(self.folder)) for path in paths}


def with_key(place: Place) -> Place:
    place.key.touch(mode=0o600)
    place.key.write_text("ab" * 32)
    return place


def with_archive(place: Place, *batches: str) -> None:
    """The database knows of ``batches``; the first one has its file."""
    database = open_database(place.url)
    with database.engine.begin() as conn:
        for batch in batches:
            values = {"id": f"of {batch}", "ref": f"HR {batch}", "intent_id": "i", "batch": batch, "position": 1}
            conn.execute(archived.insert().values(**values, ended_at=START, archived_at=START))
    database.engine.dispose()
    place.archive.mkdir(exist_ok=True)
    (place.archive / f"{batches[0]}.jsonl").write_text(f"{batches[0]}\n")


async def one_question(place: Place) -> None:
    """A service asks it, which has another configuration and the same secret key."""
    folder = place.folder / "service"
    folder.mkdir()
    async with running(folder, place.url) as world:
        await world.ask()


@pytest.fixture
def here(tmp_path: Path) -> Place:
    """A database with nothing in it but an archived question, whose key the service made."""
    place = with_key(Place(tmp_path / "here"))
    lay_down(place.url)
    with_archive(place, BATCH)
    return place


@pytest.fixture
def elsewhere(tmp_path: Path) -> Place:
    return Place(tmp_path / "elsewhere")


@pytest.fixture
def copy(here: Place, tmp_path: Path) -> Path:
    here.back_up(tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's own, of the version of the tests' server."""
    monkeypatch.setenv("PATH", f"{binaries()}:{os.environ['PATH']}")


# --- What is in one ---------------------------------------------------------------------------------------------------


def test_a_backup_holds_database_key_and_archive_with_their_sums(here: Place, copy: Path) -> None:
    written = json.loads((copy / "manifest.json").read_text())
    names = [file["name"] for file in written["files"]]
    assert names == [f"archive/{BATCH}.jsonl", "handraise.db", "handraise.db.key"]
    assert (written["schema"], written["database"], written["secret_key"]) == (schema.HEAD, "sqlite", "file")
    assert (written["verified"], written["moved_away"]) == (True, 0)
    assert {stat.S_IMODE(path.stat().st_mode) for path in copy.rglob("*") if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (copy, copy / "archive")} == {0o700}


def test_it_is_put_back_as_it_was(here: Place, copy: Path, elsewhere: Place) -> None:
    done = elsewhere.restore(copy)
    assert elsewhere.files() == {"handraise.db", "handraise.db.key", f"archive/{BATCH}.jsonl"}
    assert elsewhere.key.read_text() == here.key.read_text()
    assert (elsewhere.archive / f"{BATCH}.jsonl").read_text() == f"{BATCH}\n"
    assert {stat.S_IMODE((elsewhere.folder / name).stat().st_mode) for name in elsewhere.files()} == {0o600}
    assert (done.checked.events, done.newer) == (0, 0)


def test_of_the_archive_it_holds_what_its_database_knows_of(here: Place, elsewhere: Place, tmp_path: Path) -> None:
    """A question that moved out since is in the database's copy; its file would hold it a second time."""
    newer = here.archive / "20260325T090000Z-0123abcd.jsonl"
    newer.write_text("moved out since\n")
    gone = "20260323T090000Z-0123abcd"
    with_archive(here, f"{gone}", "../../handraise")  # the second one is no name of ours
    (here.archive / f"{gone}.jsonl").unlink()
    made = here.back_up(tmp_path / "copy")
    assert made.manifest.archive == [f"{BATCH}.jsonl"]
    assert made.manifest.moved_away == 2
    elsewhere.archive.mkdir()
    shutil.copy(newer, elsewhere.archive)
    assert elsewhere.restore(tmp_path / "copy").newer == 1


def test_a_key_of_the_configuration_is_not_in_it_and_is_asked_for(tmp_path: Path) -> None:
    here = Place(tmp_path / "here", secret_key=SECRET)
    lay_down(here.url)
    made = here.back_up(tmp_path / "copy")
    assert (made.manifest.secret_key, [file.name for file in made.manifest.files]) == (
        "configuration",
        ["handraise.db"],
    )
    elsewhere = Place(tmp_path / "elsewhere")
    with pytest.raises(BackupFailed, match="set secret_key"):
        elsewhere.restore(tmp_path / "copy")
    assert elsewhere.files() == set()


async def test_another_secret_key_is_told_before_anything_is_copied(tmp_path: Path) -> None:
    here = Place(tmp_path / "here", secret_key=SECRET)
    await one_question(here)
    other = Place(tmp_path / "other", here.url, secret_key="another-secret-key-of-these-tests")
    with pytest.raises(BackupFailed, match="secret_key is not the one"):
        await asyncio.to_thread(other.back_up, tmp_path / "none")
    await asyncio.to_thread(here.back_up, tmp_path / "copy")
    elsewhere = Place(tmp_path / "elsewhere", secret_key="another-secret-key-of-these-tests")
    with pytest.raises(BackupFailed, match="secret_key is not the one"):
        await asyncio.to_thread(elsewhere.restore, tmp_path / "copy")
    assert elsewhere.files() == set()
    assert not (tmp_path / "none").exists()


def test_a_copy_is_of_one_moment_though_others_write_meanwhile(here: Place, tmp_path: Path) -> None:
    """SQLite would begin it anew with every commit of somebody else."""
    source = sqlite3.connect(here.database, isolation_level=None)
    source.execute("CREATE TABLE notes (text TEXT)")
    for _ in range(50):
        source.execute("INSERT INTO notes VALUES (?)", ("x" * 4000,))
    heard: list[int] = []

    def told(done: int, of: int) -> None:
        heard.append(done)
        if len(heard) < 100:
            source.execute("INSERT INTO notes VALUES ('meanwhile')")

    pages = pytest.MonkeyPatch()
    with pages.context() as patch:
        patch.setattr(database_file, "_PAGES", 1)
        database_file.copy_database(here.database, tmp_path / "copy.db", told)
    source.close()
    assert heard == sorted(heard)
    assert len(heard) > 100
    copied = sqlite3.connect(tmp_path / "copy.db")
    assert copied.execute("SELECT count(*) FROM notes").fetchone() == (50,)
    copied.close()


# --- The commands -----------------------------------------------------------------------------------------------------


def outside() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")} | {"TERM": "xterm"}


@pytest.mark.slow
async def test_at_a_terminal_the_commands_show_progress_and_end_with_what_they_did(
    here: Place, elsewhere: Place, tmp_path: Path
) -> None:
    copy = str(tmp_path / "copy")
    made = await watched("backup", copy, "--config", str(here.config), environ=outside())
    assert (made.status, "Summing the files" in made.err) == (0, True)
    assert re.fullmatch(
        rf"ok: {copy}: 3 files, [\d.]+ kB\. 0 events of 0 intents are what was written\. [\d.]+ seconds\.\n", made.out
    )
    done = await watched("restore", copy, "--config", str(elsewhere.config), environ=outside())
    assert (done.status, "\x1b[" in done.err) == (0, True)
    assert done.out.startswith(f"ok: {elsewhere.database}: 3 files, ")
    assert done.out.endswith("Start the service now: `handraise serve`.\n")


@pytest.mark.slow
async def test_in_a_pipe_there_is_the_last_line_alone(here: Place, elsewhere: Place, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    status, out, err = await preloaded.run(["backup", copy, "--config", str(here.config), "--json"], outside())
    assert (status, err, json.loads(out)["files"], json.loads(out)["folder"]) == (0, b"", 3, copy)
    status, out, err = await preloaded.run(["restore", copy, "--config", str(elsewhere.config), "--json"], outside())
    assert (status, err, json.loads(out)["database"]) == (0, b"", str(elsewhere.database))
    status, out, err = await preloaded.run(["migrate", "--config", str(elsewhere.config)], outside())
    assert (status, err, out) == (0, b"", f"The schema is at {schema.HEAD} already: nothing was to be done.\n".encode())


@pytest.mark.slow
@pytest.mark.parametrize("command", [["serve"], ["migrate"], ["backup", "copy"]])
async def test_an_older_version_refuses_a_newer_schema_in_one_line(here: Place, command: list[str]) -> None:
    """What a downgrade does (docs/how-to/upgrade.md)."""
    at_schema(here, "9999")
    status, out, err = await preloaded.run([*command, "--config", str(here.config)], outside())
    told = f"handraise: The database's schema (9999) is newer than this version knows ({schema.HEAD})."
    assert (status, out, err.decode().splitlines()[-1]) == (2, b"", told)


def at_schema(place: Place, revision: str) -> None:
    database = open_database(place.url)
    with database.engine.begin() as conn:
        conn.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")
    database.engine.dispose()


# --- Other versions ---------------------------------------------------------------------------------------------------


def test_a_backup_of_an_older_schema_is_not_verified_and_is_migrated_where_it_is_restored(
    tmp_path: Path, elsewhere: Place
) -> None:
    here = with_key(Place(tmp_path / "here"))
    database = open_database(here.url)
    migrate_to(database, "0003")
    database.engine.dispose()
    made = here.back_up(tmp_path / "copy")
    assert (made.manifest.schema, made.manifest.verified) == ("0003", False)
    elsewhere.restore(tmp_path / "copy")
    restored = open_database(elsewhere.url)
    assert schema.current_revision(restored) == schema.HEAD
    restored.engine.dispose()


def test_an_older_version_backs_a_newer_schema_up_neither_way(here: Place, copy: Path, elsewhere: Place) -> None:
    at_schema(here, "9999")
    with pytest.raises(OperatorError, match=r"\(9999\) is newer than this version knows"):
        here.back_up(copy.parent / "newer")
    rewrite(copy, schema="9999", version="9.9.9")
    with pytest.raises(BackupFailed, match=r"\(9999\) is newer than this version knows .* version 9\.9\.9"):
        elsewhere.restore(copy)
    assert elsewhere.files() == set()


# --- What is refused --------------------------------------------------------------------------------------------------


def rewrite(copy: Path, **fields: Any) -> None:
    path = copy / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def resum(copy: Path) -> None:
    """The manifest has the sums of the files as they are now."""
    kept = (copy / "manifest.json").read_text()
    (copy / "manifest.json").unlink()
    summed = manifest.sums(copy, database_file.not_told)
    (copy / "manifest.json").write_text(kept)
    rewrite(copy, files=[{"name": one.name, "bytes": one.bytes, "sha256": one.sha256} for one in summed])


def renamed(copy: Path, name: str) -> None:
    """The manifest names its first file so."""
    files = json.loads((copy / "manifest.json").read_text())["files"]
    rewrite(copy, files=[{**files[0], "name": name}, *files[1:]])


def listing(copy: Path, names: list[str]) -> None:
    """The manifest names these files and no other."""
    files = {file["name"]: file for file in json.loads((copy / "manifest.json").read_text())["files"]}
    rewrite(copy, files=[files[name] for name in names])


def overwritten(path: Path) -> None:
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])


def linked(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda copy: (copy / "manifest.json").unlink(), "holds no manifest.json"),
        (lambda copy: (copy / "manifest.json").write_text("{"), "this is no manifest"),
        (lambda copy: (copy / "manifest.json").write_text("[1]"), "this is no manifest"),
        (lambda copy: (copy / "manifest.json").write_text('{"a":' * 5_000 + "1" + "}" * 5_000), "this is no manifest"),
        (lambda copy: listing(copy, []), "names no handraise.db and no handraise.db.key"),
        (lambda copy: listing(copy, ["handraise.db"]), "names no handraise.db.key"),
        (lambda copy: listing(copy, ["handraise.db.key"]), "names no handraise.db: the backup is not whole"),
        (lambda copy: listing(copy, ["handraise.db", "handraise.db", "handraise.db.key"]), "names handraise.db twice"),
        (lambda copy: rewrite(copy, events="many"), "events is not as it should be"),
        (lambda copy: rewrite(copy, format=2), "a newer version has made this backup"),
        (lambda copy: rewrite(copy, database="postgresql"), "a backup of a PostgreSQL database"),
        (lambda copy: renamed(copy, "../../etc/passwd"), "files.0.name is not as it should be"),
        (lambda copy: renamed(copy, "archive/../handraise.db"), "files.0.name is not as it should be"),
        (lambda copy: overwritten(copy / "handraise.db"), "handraise.db is not what was copied"),
        (lambda copy: overwritten(copy / "archive" / f"{BATCH}.jsonl"), "jsonl is not what was copied"),
        (lambda copy: (copy / "handraise.db.key").write_text("ab"), "key is not what was copied"),
        (lambda copy: (copy / "handraise.db").unlink(), "handraise.db is missing"),
        (lambda copy: linked(copy / "handraise.db"), "handraise.db is missing"),
    ],
)
def test_a_damaged_backup_is_not_restored(
    copy: Path, elsewhere: Place, damage: Callable[[Path], Any], said: str
) -> None:
    damage(copy)
    with pytest.raises(BackupFailed, match=said):
        elsewhere.restore(copy)
    assert elsewhere.files() == set()


@pytest.mark.parametrize("there", ["handraise.db", "handraise.db-wal", "handraise.db.key", f"archive/{BATCH}.jsonl"])
def test_nothing_is_restored_over_anything(copy: Path, elsewhere: Place, there: str) -> None:
    path = elsewhere.folder / there
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(BackupFailed, match=rf"{there} is there.* away first"):
        elsewhere.restore(copy)
    assert (elsewhere.files(), path.read_text()) == ({there}, "mine")


def test_what_is_there_already_and_the_same_stays(here: Place, copy: Path) -> None:
    """As after a try that was killed, or a database that alone was lost."""
    here.database.unlink()
    for beside in here.folder.glob("handraise.db-*"):
        beside.unlink()
    here.restore(copy)
    assert here.database.is_file()


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, lambda path: path.symlink_to(path.parent)])
def test_a_backup_is_written_over_nothing(here: Place, tmp_path: Path, make: Callable[[Path], Any]) -> None:
    folder = tmp_path / "copy"
    make(folder)
    if folder.is_dir() and not folder.is_symlink():
        (folder / "mine").touch()
    with pytest.raises(BackupFailed, match="never written over"):
        here.back_up(folder)


# --- What a failure leaves behind -------------------------------------------------------------------------------------


async def test_a_trail_that_does_not_hold_makes_no_backup_and_is_not_restored(tmp_path: Path) -> None:
    here, elsewhere = (Place(tmp_path / name, secret_key=SECRET) for name in ("here", "elsewhere"))
    await one_question(here)
    await asyncio.to_thread(here.back_up, tmp_path / "copy")
    for path in (here.database, tmp_path / "copy" / "handraise.db"):
        conn = sqlite3.connect(path, isolation_level=None)
        conn.execute("UPDATE events SET actor = 'mallory'")
        conn.close()
    with pytest.raises(BackupFailed, match="not what was written"):
        await asyncio.to_thread(here.back_up, tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "elsewhere", "here"]
    resum(tmp_path / "copy")
    with pytest.raises(BackupFailed, match="not what was written"):
        await asyncio.to_thread(elsewhere.restore, tmp_path / "copy")
    assert elsewhere.files() == set()


def test_key_and_archive_go_again_if_the_database_can_not_be_put_in_place(
    copy: Path, elsewhere: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "hardlink_to", full)
    with pytest.raises(BackupFailed, match=r"handraise\.db can't be written: No space left"):
        elsewhere.restore(copy)
    assert elsewhere.files() == set()


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


@pytest.fixture
def empty_url(postgres_cluster: str, make_postgres_url: Callable[[], str]) -> str:
    """A database with no tables in it."""
    url = make_postgres_url()
    database = open_database(url)
    with database.engine.begin() as conn:
        conn.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    database.engine.dispose()
    return url


@pytest.mark.slow
@pytest.mark.usefixtures("programs")
async def test_postgres_is_put_back_as_it_was_and_only_into_an_empty_database(
    tmp_path: Path, make_postgres_url: Callable[[], str], empty_url: str
) -> None:
    here = Place(tmp_path / "here", make_postgres_url(), secret_key=SECRET)
    with_archive(here, BATCH)
    await one_question(here)
    made = await asyncio.to_thread(here.back_up, tmp_path / "copy")
    assert [file.name for file in made.manifest.files] == [f"archive/{BATCH}.jsonl", "handraise.dump"]
    with pytest.raises(BackupFailed, match=r"holds tables \(public\.agent"):
        await asyncio.to_thread(Place(tmp_path / "full", here.url, secret_key=SECRET).restore, tmp_path / "copy")
    elsewhere = Place(tmp_path / "elsewhere", empty_url, secret_key=SECRET)
    done = await asyncio.to_thread(elsewhere.restore, tmp_path / "copy")
    assert (done.checked.events, done.checked.intents) == (made.manifest.events, made.manifest.intents) == (1, 1)
    assert elsewhere.files() == {f"archive/{BATCH}.jsonl"}


@pytest.mark.slow
@pytest.mark.usefixtures("programs")
async def test_a_restore_of_postgres_that_fails_says_what_is_left(
    tmp_path: Path, make_postgres_url: Callable[[], str], empty_url: str
) -> None:
    here = Place(tmp_path / "here", make_postgres_url(), secret_key=SECRET)
    await one_question(here)
    await asyncio.to_thread(here.back_up, tmp_path / "copy")
    elsewhere = Place(tmp_path / "elsewhere", empty_url, secret_key=SECRET)
    dumped = tmp_path / "copy" / "handraise.dump"
    dumped.write_bytes(dumped.read_bytes()[:-20])  # the tables are made by then, and most of them filled
    resum(tmp_path / "copy")
    with pytest.raises(BackupFailed, match="pg_restore has failed"):
        await asyncio.to_thread(elsewhere.restore, tmp_path / "copy")
    dumps.check_empty(sa.make_url(empty_url))
    database = open_database(here.url)
    with database.engine.begin() as conn:
        conn.exec_driver_sql("UPDATE events SET actor = 'mallory'")
    database.engine.dispose()
    with pytest.raises(BackupFailed, match="not what was written"):
        await asyncio.to_thread(here.back_up, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    dumped.unlink()
    with postgres_snapshot(open_database(here.url).engine.url) as moment:
        dumps.dump(here.url, moment.name or "", dumped, lambda _size: None)
    resum(tmp_path / "copy")
    with pytest.raises(BackupFailed, match=r"not what was written.* drop it and make it anew"):
        await asyncio.to_thread(elsewhere.restore, tmp_path / "copy")
    with pytest.raises(BackupFailed, match="holds tables"):
        dumps.check_empty(sa.make_url(empty_url))
    assert elsewhere.files() == set()


@pytest.mark.slow
async def test_a_backup_that_is_ended_leaves_nothing_behind(tmp_path: Path, postgres_url: str) -> None:
    """There would be a secret key in it. The program stands for a ``pg_dump`` that takes its time."""
    here = with_key(Place(tmp_path / "here", postgres_url))
    program = tmp_path / "bin" / "pg_dump"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    program.chmod(0o700)
    environ = outside() | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    with (tmp_path / "log").open("w") as log:
        arguments = ["backup", str(tmp_path / "copies" / "copy"), "--config", str(here.config)]
        (tmp_path / "copies").mkdir()
        process = preloaded.start(arguments, environ, log.fileno(), log.fileno())
        async with asyncio.timeout(PATIENCE):
            while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n")):
                await asyncio.sleep(0.01)
        assert [path.name[:6] for path in (tmp_path / "copies").iterdir()] == [".copy."]
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 128 + signal.SIGTERM, (tmp_path / "log").read_text()
    assert list((tmp_path / "copies").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_without_its_programs_postgres_is_not_backed_up(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackupFailed, match="pg_dump is not on the PATH"):
        Place(tmp_path / "here", postgres_url, secret_key=SECRET).back_up(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "pg_dump: error: aborting because of server version mismatch\n"
            "pg_dump: detail: server version: 18.3; pg_dump version: 15.1\n",
            "aborting because of server version mismatch; server version: 18.3; pg_dump version: 15.1.",
        ),
        (
            'pg_dump: error: COPY failed for table "suspensions": ERROR:  it broke off\n'
            'pg_dump: detail: CONTEXT:  COPY suspensions, line 1: "Refund Mallory?"\n',
            'COPY failed for table "suspensions": ERROR:  it broke off.',
        ),
        ("killed", "killed."),
        ("", "it gave no reason."),
    ],
)
def test_what_a_program_says_is_told_without_what_people_have_written(said: str, reason: str) -> None:
    assert dumps.reason("pg_dump", said) == reason
