"""Restoring a backup to the configured database, which must not exist yet.

The order makes a second try possible whenever the first one ends. The manifest's checksums are checked first. Then key
and archive are put in place, over nothing, and removed again if a later step fails; the database comes last. On SQLite
it gets its name once its audit trail is verified. PostgreSQL takes all of it in one transaction.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from handraise.cli.progress import BYTES, Begin

from bot.commands.backups import dumps, manifest, trail
from bot.commands.backups.creation import sqlite_file
from bot.commands.backups.manifest import Manifest
from bot.config.loading import settings_and_folder
from bot.config.settings import Settings
from bot.keys import key_file, root_key
from bot.wiring.roles import archive_place
from core.audit.check import Checked
from core.database.database import open_database
from core.database.database_file import copy_database, copy_file, fold_log, sync
from core.domain.root_key import RootKey
from core.errors import BackupFailed, OperatorError
from core.store import schema
from core.store.log_cursors import leave_room
from core.store.snapshots import Snapshot, file_snapshot, postgres_snapshot

Put = Callable[[Path, Path], None]
"""Copies a file to where nothing is."""


@dataclass(frozen=True, slots=True)
class Restored:
    """``database`` is its new place: a path, or a name. ``newer`` counts archive files that the backup does not
    know: their content is in the database again."""

    folder: Path
    database: str
    manifest: Manifest
    checked: Checked
    newer: int
    seconds: float


def restore(folder: Path, config: Path | None, begin: Begin) -> Restored:
    """Put the backup in ``folder`` where the configuration says. Raises :class:`OperatorError`."""
    began = time.monotonic()
    settings, home = settings_and_folder(config)
    backup = manifest.read(folder)
    target = sqlite_file(settings)
    _check_fits(backup, settings, target)
    if target is None:
        dumps.check_program("pg_restore")
        dumps.check_empty(open_database(settings.direct_database_url).engine.url)
    else:
        _check_free(target)
    manifest.check(folder, backup, begin("Checking the backup's files", BYTES))
    archive = archive_place(settings, home)
    with _all_or_nothing() as put:
        if backup.secret_key == "file" and settings.secret_key is None:
            _put(folder / manifest.KEY, key_file(settings, home), "the key of this backup", put)
        root = root_key(settings, home)
        trail.check_key(backup.key_check, root)
        _put_archive(folder, archive, backup, put, begin)
        checked = _load(folder, settings, root, begin) if target is None else _place(folder, target, root, begin)
    database = str(target or open_database(settings.direct_database_url).engine.url.database)
    return Restored(folder, database, backup, checked, _newer(archive, backup), time.monotonic() - began)


def _check_fits(backup: Manifest, settings: Settings, target: Path | None) -> None:
    if (backup.database == "postgresql") != (target is None):
        raise BackupFailed(f"This is a backup of {_NAMES[backup.database]}: database_url must name one.")
    if backup.schema > schema.HEAD:
        raise BackupFailed(
            f"The backup's schema ({backup.schema}) is newer than this version knows ({schema.HEAD}): restore it with "
            f"version {backup.version}, which has made it, or a newer one."
        )
    if backup.secret_key == "configuration" and settings.secret_key is None:
        raise BackupFailed("The backup holds no key file: set secret_key to the one that it was made with.")


_NAMES = {"sqlite": "an SQLite database", "postgresql": "a PostgreSQL database"}


def _check_free(path: Path) -> None:
    """Check that there is no database, no log of an earlier one beside it, and no service that has one open."""
    _check_unused(path)
    there = [name for ending in ("", "-wal", "-shm", "-journal") if (name := Path(f"{path}{ending}")).exists()]
    if there:
        raise BackupFailed(f"{there[0]} is there: a database is never written over. Move it away first.")


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


@contextmanager
def _all_or_nothing() -> Iterator[Put]:
    """Removes the files put in place inside the block if it fails."""
    placed: list[Path] = []

    def put(source: Path, target: Path) -> None:
        copy_file(source, target)
        placed.append(target)

    try:
        yield put
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
        raise


def _put(source: Path, target: Path, what: str, put: Put) -> None:
    """Over nothing; an identical file that exists stays."""
    try:
        if not target.exists():
            put(source, target)
        elif not manifest.same_file(source, target):
            raise BackupFailed(f"{target} is there, and is not {what}: move it away first.")
    except OSError as failure:
        raise BackupFailed(f"{target} can't be restored: {failure.strerror}.") from None


def _put_archive(folder: Path, archive: Path, backup: Manifest, put: Put, begin: Begin) -> None:
    names = backup.archive
    told = begin("Putting the archive back", "files")
    if not names:
        return
    try:
        archive.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise BackupFailed(f"retention.archive_dir: {archive} can't be made: {failure.strerror}.") from None
    for done, name in enumerate(names, start=1):
        _put(folder / manifest.ARCHIVE / name, archive / name, "this file of the backup's archive", put)
        told(done, len(names))
    sync(archive)


def _newer(archive: Path, backup: Manifest) -> int:
    there = {path.name for path in archive.glob("*.jsonl")} if archive.is_dir() else set()
    return len(there.difference(backup.archive))


def _place(folder: Path, path: Path, root: RootKey, begin: Begin) -> Checked:
    """An SQLite database: under another name until it is verified."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)  # of a try that was killed
        copy_database(folder / manifest.DATABASE, part, begin("Copying the database", "pages"))
        _migrate(f"sqlite:///{part}", begin)
        fold_log(part)
        with file_snapshot(part) as moment:
            checked = _verified(moment, root, begin)
        path.hardlink_to(part)  # never overwrites a file, even one made meanwhile
    except FileExistsError:
        raise BackupFailed(f"{path} is there: a database is never written over.") from None
    except OSError as failure:
        raise BackupFailed(f"{path} can't be written: {failure.strerror}.") from None
    finally:
        for left in path.parent.glob(f"{part.name}*"):
            left.unlink()
    sync(path.parent)
    return checked


def _load(folder: Path, settings: Settings, root: RootKey, begin: Begin) -> Checked:
    """A PostgreSQL database. A failure after the load leaves it there, and says so."""
    begin("Restoring the database", "")
    dumps.load(settings.direct_database_url, folder / manifest.DUMP)
    url = open_database(settings.direct_database_url).engine.url
    try:
        _migrate(settings.direct_database_url, begin)
        with postgres_snapshot(url) as moment:
            return _verified(moment, root, begin)
    except OperatorError as failure:
        raise BackupFailed(
            f"{failure.message} The tables of the backup are in the database {url.database} now: drop it and make it "
            "anew (dropdb, createdb) before the next try. Nothing else was left behind."
        ) from None


def _migrate(database_url: str, begin: Begin) -> None:
    database = open_database(database_url)
    try:
        schema.migrate(database, begin("Migrating the schema", "migrations"))
        if not database.is_shared:
            with database.engine.begin() as conn:
                leave_room(conn)
    finally:
        database.engine.dispose()


def _verified(moment: Snapshot, root: RootKey, begin: Begin) -> Checked:
    return trail.verify(moment, moment.contents().events, root, begin("Verifying the audit trail", "events"))
