"""Making a backup while the service runs: the key file, the database at one moment, and the archive's files of that
moment.

A folder with a backup's name is always whole. It is made beside that name, under a hidden one, and is renamed once its
audit trail is verified and its manifest is written.

The archive is copied after the database, but only the files that the database's copy knows. If a question moves out of
the database meanwhile, the copy still has it, and its file is not in the backup: it is in one place, not in two.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import sqlalchemy as sa
from handraise.cli.progress import BYTES, Begin

from bot.commands.backups import dumps, manifest, trail
from bot.commands.backups.manifest import Manifest
from bot.config.loading import settings_and_folder
from bot.config.settings import Settings
from bot.keys import key_file, root_key
from bot.wiring.roles import archive_place
from core.database.database import open_database
from core.database.database_file import copy_database, copy_file, sync
from core.domain.wire import instant
from core.errors import BackupFailed
from core.store import schema
from core.store.snapshots import Snapshot, file_snapshot, postgres_snapshot

_BATCH = re.compile(manifest.BATCH)


@dataclass(frozen=True, slots=True)
class Made:
    """A finished backup, and how long it took."""

    folder: Path
    manifest: Manifest
    seconds: float


def back_up(folder: Path, config: Path | None, begin: Begin) -> Made:
    """Make ``folder``. Raises :class:`OperatorError`; nothing is there then."""
    began = time.monotonic()
    settings, home = settings_and_folder(config)
    _check_free(folder)
    try:
        with _named_once_whole(folder) as made:
            written = _fill(made, settings, home, begin)
            manifest.write(made, written)
    except OSError as failure:
        raise BackupFailed(f"{folder} can't be made: {failure.strerror}.") from None
    return Made(folder, written, time.monotonic() - began)


def _check_free(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()) or (folder.is_dir() and any(folder.iterdir())):
        raise BackupFailed(f"{folder} is there already: a backup is never written over anything.")


@contextmanager
def _named_once_whole(folder: Path) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))  # 0700
    try:
        yield made
        sync(made)
        made.rename(folder)
        sync(folder.parent)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _fill(into: Path, settings: Settings, home: Path, begin: Begin) -> Manifest:
    made_at = datetime.now(UTC)
    path = sqlite_file(settings)
    if path is not None and not path.is_file():
        raise BackupFailed(f"There is no database at {path}.")
    if settings.secret_key is None:
        _copy_key(key_file(settings, home), into)
    root = root_key(settings, home)
    with _copied(settings, path, into, begin) as moment:
        contents = moment.contents()
        if contents.revision is None:
            raise BackupFailed("There is nothing to back up: the database holds no tables of this service.")
        schema.refuse_newer(contents.revision)
        trail.check_key(contents.key_check, root)
        if moment.name is not None:
            told = begin("Dumping the database", BYTES)
            dumps.dump(settings.direct_database_url, moment.name, into / manifest.DUMP, told)
        moved_away = _copy_archive(archive_place(settings, home), contents.batches, into, begin)
        verified = contents.revision == schema.HEAD
        if verified:
            trail.verify(moment, contents.events, root, begin("Verifying the audit trail", "events"))
    return Manifest(
        format=manifest.FORMAT,
        made_at=instant(made_at),
        version=version("handraise-server"),
        database="postgresql" if path is None else "sqlite",
        schema=contents.revision,
        secret_key="file" if settings.secret_key is None else "configuration",
        key_check=contents.key_check,
        intents=contents.intents,
        events=contents.events,
        verified=verified,
        moved_away=moved_away,
        files=manifest.sums(into, begin("Summing the files", BYTES)),
    )


def sqlite_file(settings: Settings) -> Path | None:
    """The database's file; ``None`` for PostgreSQL."""
    url = sa.make_url(settings.database_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _copy_key(keys: Path, into: Path) -> None:
    if not keys.is_file():
        raise BackupFailed(f"There is no key file at {keys}: nothing could be verified or restored without it.")
    copy_file(keys, into / manifest.KEY)


@contextmanager
def _copied(settings: Settings, path: Path | None, into: Path, begin: Begin) -> Iterator[Snapshot]:
    """The moment of the backup: the copy of an SQLite file, or a snapshot of PostgreSQL to dump."""
    database = open_database(settings.direct_database_url)
    database.check_ours()
    url = database.engine.url
    database.engine.dispose()
    if path is None:
        dumps.check_program("pg_dump")
        with postgres_snapshot(url) as moment:
            yield moment
        return
    copy_database(path, into / manifest.DATABASE, begin("Copying the database", "pages"))
    with file_snapshot(into / manifest.DATABASE) as moment:
        yield moment


def _copy_archive(archive: Path, batches: tuple[str, ...], into: Path, begin: Begin) -> int:
    """Copy the files of ``batches`` that exist; returns how many do not."""
    there = [path for batch in batches if _BATCH.fullmatch(batch) and (path := archive / f"{batch}.jsonl").is_file()]
    told = begin("Copying the archive", "files")
    if there:
        (into / manifest.ARCHIVE).mkdir(mode=0o700)
    for done, path in enumerate(there, start=1):
        copy_file(path, into / manifest.ARCHIVE / path.name)
        told(done, len(there))
    if there:
        sync(into / manifest.ARCHIVE)
    return len(batches) - len(there)
