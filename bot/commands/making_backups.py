"""Backups of the database and its key file, made and restored, for ``handraise backup`` and ``handraise restore``.

Source: API.md §9; docs/how-to/backup.md.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import sqlalchemy as sa
from handraise.cli.audit import said_of

from bot.config import Settings
from bot.config.loading import settings_and_folder
from bot.keys import RootKey, key_file, root_key
from core.audit.check import Checked, check_logs
from core.errors import BackupFailed
from core.store import schema
from core.store.database import Database, open_database
from core.store.database_file import copy_database, copy_file, sync

DATABASE, KEY, DUMP = "handraise.db", "handraise.db.key", "handraise.dump"
"""What a backup's folder holds: an SQLite copy or PostgreSQL's dump, and the key file if there is one."""


def back_up(folder: Path, config: Path | None) -> str:
    """Make ``folder``; returns what to say of it. Raises :class:`BackupFailed`."""
    settings, home = settings_and_folder(config)
    _check_empty(folder)
    # Made beside, and named once it is whole and verified: a folder of that name is always a backup.
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))  # 0700
    except OSError as failure:
        raise BackupFailed(f"{folder} can't be made: {failure.strerror}.") from None
    try:
        said = _filled(settings, home, made)
        sync(made)
        made.rename(folder)
        sync(folder.parent)
    except OSError as failure:
        raise BackupFailed(f"{folder} can't be made: {failure.strerror}.") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return f"ok: {folder}: {said}"


def _check_empty(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()) or (folder.is_dir() and any(folder.iterdir())):
        raise BackupFailed(f"{folder} is there already: a backup is never written over anything.")


def _filled(settings: Settings, home: Path, into: Path) -> str:
    keys, path = key_file(settings, home), _sqlite_file(settings)
    if path is not None and not path.is_file():
        raise BackupFailed(f"There is no database at {path}.")
    if settings.secret_key is None:
        if not keys.is_file():
            raise BackupFailed(f"There is no key file at {keys}: nothing could be verified or restored without it.")
        copy_file(keys, into / KEY)
    root = root_key(settings, home)
    checked = _dumped(settings, root, into) if path is None else _copied(path, root, into)
    kept = "" if settings.secret_key is None else " The secret key is in your configuration: keep it as well."
    return f"{checked.events} events of {checked.intents} intents are what was written.{kept}"


def _sqlite_file(settings: Settings) -> Path | None:
    url = sa.make_url(settings.database_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _copied(path: Path, root: RootKey, into: Path) -> Checked:
    copy_database(path, into / DATABASE)
    checked = _verified(f"sqlite:///{into / DATABASE}", root)
    for beside in into.glob(f"{DATABASE}-*"):
        beside.unlink()  # left by the check; it has written nothing
    return checked


def _dumped(settings: Settings, root: RootKey, into: Path) -> Checked:
    """PostgreSQL's own dump. What is verified is the database: a dump has to be restored first."""
    database = open_database(settings.database_url)
    conninfo = database.conninfo
    database.engine.dispose()
    if shutil.which("pg_dump") is None:
        raise BackupFailed(
            "pg_dump is not on the PATH. Run it where it is: pg_dump --format=custom --file=handraise.dump, "
            "with the connection of database_url."
        )
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    given = {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value is not None}
    password = given.pop("password", None)  # arguments are for all to read
    environ = {**os.environ, **({} if password is None else {"PGPASSWORD": password})}
    command = ["pg_dump", "--format=custom", f"--file={into / DUMP}", "--dbname", make_conninfo(**given)]
    ran = subprocess.run(command, env=environ, check=False, capture_output=True, text=True)  # noqa: S603 (all ours)
    if ran.returncode:
        raise BackupFailed(f"pg_dump has failed: {(ran.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    (into / DUMP).chmod(0o600)
    sync(into / DUMP)
    return _verified(settings.database_url, root)


def _verified(url: str, root: RootKey) -> Checked:
    """The whole audit trail, checked; raises :class:`BackupFailed` at the first place that does not hold."""

    async def check() -> Checked:
        database = open_database(url)
        try:
            return await _all_of(database, root.derive_renewed("event-log"))
        finally:
            await database.close()

    checked = asyncio.run(check())
    broken = checked.broken
    if broken is not None:
        place = {"line": None, "intent_id": broken.intent_id, "position": broken.position, "id": broken.id}
        raise BackupFailed(f"The audit trail does not hold, {said_of({**place, 'fault': broken.fault.value})}.")
    return checked


async def _all_of(database: Database, key: bytes) -> Checked:
    whole = Checked()
    while True:
        page = await check_logs(database, key, whole.following)
        whole.intents, whole.events = whole.intents + page.intents, whole.events + page.events
        whole.broken, whole.following = page.broken, page.following
        if page.broken is not None or page.following is None:
            return whole


def restore(folder: Path, config: Path | None) -> str:
    """Put the backup in ``folder`` where the configuration says; returns what to say of it. Raises
    :class:`BackupFailed`."""
    settings, home = settings_and_folder(config)
    path = _sqlite_file(settings)
    if path is None:
        raise BackupFailed("Restore PostgreSQL by pg_restore, into an empty database (docs/how-to/backup.md).")
    _check_free(path)
    keys, secret = key_file(settings, home), folder / KEY
    if not (folder / DATABASE).is_file():
        raise BackupFailed(f"{folder} holds no {DATABASE}: it is no backup of an SQLite database.")
    brings_key = settings.secret_key is None and secret.is_file()
    if brings_key and keys.exists() and keys.read_bytes() != secret.read_bytes():
        raise BackupFailed(f"{keys} is there, and is not the key of this backup: move it away first.")
    if brings_key and not keys.exists():
        copy_file(secret, keys)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    copy_database(folder / DATABASE, part)
    try:
        schema.prepare(open_database(f"sqlite:///{part}"))
        checked = _verified(f"sqlite:///{part}", root_key(settings, home))
        path.hardlink_to(part)  # over nothing, whoever has been faster
    except FileExistsError:
        raise BackupFailed(f"{path} is there: a database is never written over.") from None
    finally:
        for left in path.parent.glob(f"{part.name}*"):
            left.unlink()
    sync(path.parent)
    return f"ok: {path}: {checked.events} events of {checked.intents} intents are what was written."


def _check_free(path: Path) -> None:
    """Nothing there, no log of an earlier database beside it, and no service that has one open."""
    there = [name for ending in ("", "-wal", "-shm", "-journal") if (name := Path(f"{path}{ending}")).exists()]
    if there:
        _check_unused(path)
        raise BackupFailed(f"{there[0]} is there: a database is never written over. Move it away first.")
    _check_unused(path)


def _check_unused(path: Path) -> None:
    import fcntl

    lock = Path(f"{os.path.realpath(path)}.lock")
    if not lock.exists():
        return
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BackupFailed(f"A service runs on {path}: stop it first.") from None
