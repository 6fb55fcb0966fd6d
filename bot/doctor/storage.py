"""Checks of storage: the database and its schema, the secret key, the files' permissions, room on the disk.

The lock that a running service holds on an SQLite file is neither taken nor tested.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa

from bot.config.problems import InvalidConfiguration
from bot.config.settings import Settings
from bot.doctor.examination import Examination, aside
from bot.doctor.findings import Finding, fault, ok, warning
from bot.keys import key_file, root_key
from core.domain.root_key import RootKey
from core.errors import ConfigError, DatabaseUnavailable, ForeignDatabase, OperatorError, SessionsShared
from core.store.inspection import Inspected
from core.store.schema import HEAD

DATABASE, SCHEMA, SEARCH, POOLER = "database", "database.schema", "database.search", "database.pooler"
SECRET_KEY, API_KEYS, FILES, DISK = "secret_key", "api_keys", "files", "disk"

_FULL = 100 * 1024 * 1024
_NEARLY_FULL = 1024 * 1024 * 1024
_BESIDE = ("", "-wal", "-shm", ".lock")


def database_file(settings: Settings) -> Path | None:
    """The SQLite file; ``None`` for PostgreSQL."""
    url = sa.make_url(settings.database_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


async def database(examined: Examination) -> Sequence[Finding]:
    """Whether it can be read, and whether its schema is the one that this version knows."""
    file = database_file(examined.settings)
    try:
        found = await examined.stored()
    except ForeignDatabase as error:
        return [fault(DATABASE, error.message, "Set database_url to a file of Handraise's own.")]
    except OperatorError as error:
        mend = (
            "Start PostgreSQL, or mend host, user and password in database_url (HANDRAISE_DATABASE_URL)."
            if file is None
            else f"Make the folder {file.parent}, or restore the file (`handraise restore DIR`)."
        )
        return [fault(DATABASE, error.message, mend)]
    if found is None:
        return [ok(DATABASE, f"{file} is not there yet; `handraise serve` makes it")]
    kind = "PostgreSQL answers" if file is None else f"{file} can be read"
    searched = [_search(found)] if file is None and found.is_current else []
    return [ok(DATABASE, kind), _schema(found, is_file=file is not None), *searched]


def _search(found: Inspected) -> Finding:
    if found.is_search_indexed:
        return ok(SEARCH, "an index of pg_trgm finds questions by their words")
    told = "there is no index of words: each part of a search looks through the newest questions alone"
    return warning(SEARCH, told, "Let an administrator run `CREATE EXTENSION pg_trgm`, then run `handraise migrate`.")


def _schema(found: Inspected, *, is_file: bool) -> Finding:
    at = found.revision or "nothing"
    if found.is_current:
        return ok(SCHEMA, f"at {HEAD}, as this version needs it")
    if found.revision is not None and found.revision > HEAD:
        told = f"at {at}, newer than this version knows ({HEAD})"
        return fault(SCHEMA, told, "Run the newer version, or restore a backup of this one.")
    if is_file:
        return ok(SCHEMA, f"at {at}; `handraise serve` brings it to {HEAD}")
    return fault(SCHEMA, f"at {at}, and this version needs {HEAD}", "Run `handraise migrate`.")


async def pooler(examined: Examination) -> Sequence[Finding]:
    """PostgreSQL: whether each process has the sessions that it needs for LISTEN and locks."""
    settings = examined.settings
    if database_file(settings) is not None:
        return []
    from core.database.poolers import Pooling, inspect_pooling

    try:
        await examined.stored()
    except OperatorError:  # it is told by the check of the database
        return []
    url, given, seconds = settings.database_url, settings.database.direct_url, examined.around.seconds / 2
    try:
        pooling = await aside(lambda: inspect_pooling(url, given, seconds))
    except SessionsShared as error:
        return [fault(POOLER, f"{error.setting} {error.found}", error.mend)]
    except DatabaseUnavailable as error:
        return [fault(POOLER, error.message, "Mend database.direct_url (HANDRAISE_DATABASE__DIRECT_URL).")]
    found = {
        Pooling.NONE: "none is between here and PostgreSQL",
        Pooling.BY_SESSION: "one in session mode is between here and PostgreSQL",
        Pooling.BY_TRANSACTION: "one is between here and PostgreSQL; LISTEN and locks go by database.direct_url",
    }
    return [ok(POOLER, found[pooling])]


async def secret_key(examined: Examination) -> Sequence[Finding]:
    """Whether there is one, only its owner can read it, and the database knows it."""
    settings, folder = examined.settings, examined.folder
    stored = await examined.stored_if_any()
    kept = None if stored is None else stored.key_check
    path = key_file(settings, folder)
    if settings.secret_key is None and not path.exists():
        if kept is None:
            return [ok(SECRET_KEY, f"none yet; `handraise serve` makes one in {path}")]
        return [fault(SECRET_KEY, f"{path} is gone, and the database is used with it", _restore(path))]
    try:
        root = await aside(lambda: root_key(settings, folder))
    except InvalidConfiguration as invalid:  # the key in the file is good, and one of its hashes is of a published key
        return [fault(API_KEYS, one.line, _another_key(one.key)) for one in invalid.problems]
    except ConfigError as error:
        others_read = "others may read" in error.message
        return [fault(SECRET_KEY, error.message, f"Run `chmod 600 {path}`." if others_read else _restore(path))]
    return [_fits(root, kept, path, in_file=settings.secret_key is None)]


def _fits(root: RootKey, kept: str | None, path: Path, *, in_file: bool) -> Finding:
    place = f"in {path}, mode 0600" if in_file else "configured"
    if kept is None or kept == root.check:
        return ok(SECRET_KEY, place)
    if any(kept == old.check for old in root.previous):
        return ok(SECRET_KEY, f"{place}; the next start changes the database from secret_key_previous to it")
    found = f"{place}, and not the one that the database was made with"
    return fault(SECRET_KEY, found, "Put the old key back, or into secret_key_previous to change to the new one.")


def _another_key(setting: str) -> str:
    return f"Take {setting} out, and make another key with `handraise keys create NAME --role ROLE`."


def _restore(path: Path) -> str:
    return f"Restore {path} from a backup (`handraise restore DIR`), or set HANDRAISE_SECRET_KEY to the key in it."


async def files(examined: Examination) -> Sequence[Finding]:
    """Whether only the service's user can read the database's files. The service sets this at its start."""
    file = database_file(examined.settings)
    if file is None:
        return []
    open_to_others = [path.name for path in _beside(file) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if open_to_others:
        found = f"others may read {', '.join(open_to_others)} in {file.parent}"
        return [warning(FILES, found, f"Run `chmod 600 {file}*`.")]
    return [ok(FILES, f"the database's files in {file.parent} are their user's alone")]


def _beside(file: Path) -> Iterator[Path]:
    return (path for ending in _BESIDE if (path := Path(f"{file}{ending}")).exists())


async def disk(examined: Examination) -> Sequence[Finding]:
    """Free space for an SQLite file. PostgreSQL's disk is not seen from here."""
    file = database_file(examined.settings)
    if file is None or not file.parent.is_dir():
        return []
    free = examined.around.free_bytes(file.parent)
    found = f"{free // (1024 * 1024):,} MiB are free in {file.parent}"
    if free < _FULL:
        return [fault(DISK, found, "Free some space now: without it no answer is recorded.")]
    if free < _NEARLY_FULL:
        return [warning(DISK, found, "Free some space, or set retention.ended_days.")]
    return [ok(DISK, found)]
