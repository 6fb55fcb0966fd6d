"""SQLite's file: readable only by its owner, used by one process, and not replaced as long as that process lives.

Two names of one file (a symbolic or a hard link) are one database, so the file itself is locked, and not only its name.
If the file is deleted, moved or replaced while in use, the service would write into a file that nobody finds again:
before each commit, and with each beat, the name is looked up anew.

:func:`copy_database` copies it while the service runs; :func:`copy_file` puts a copy in place.

Source: https://www.sqlite.org/howtocorrupt.html; https://www.sqlite.org/backup.html; man 2 flock
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from urllib.parse import quote

import structlog

from core.errors import (
    AlreadyRunning,
    BackupFailed,
    DatabaseReplaced,
    DatabaseUnavailable,
    ForeignDatabase,
    Unavailable,
)

log = structlog.get_logger(__name__)

_PRIVATE = 0o600
_BESIDE = ("", "-wal", "-shm", ".lock")
_OURS = frozenset({"alembic_version", "suspensions"})
_MOST_NAMED = 3

_LOCKS_FILES = sys.platform == "linux"
"""Elsewhere ``flock`` and SQLite's own locks get in each other's way: there the name alone is locked."""


class DatabaseFile:
    """``path`` as it is configured; :attr:`real` is where that leads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None
        self._file: int | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def real(self) -> Path:
        return Path(os.path.realpath(self.path))

    @property
    def uri(self) -> str:
        """For SQLite: the file must be there, so that none is made in the place of one that has gone."""
        return f"file:{quote(str(self.path))}?mode=rw"

    def make(self) -> None:
        """Make it, empty and private, unless it is there. Once it is held it is never made again. Raises
        :class:`DatabaseUnavailable` if it can't be made here."""
        if self._identity is not None:
            return
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE))
        except FileExistsError:
            return
        except OSError as failure:
            raise _not_made(self.path, failure) from None

    def check_ours(self) -> None:
        """Raises :class:`ForeignDatabase` for a file with tables of another program. Only looks, and changes nothing;
        what is no SQLite file at all the first connection says."""
        if not self.path.is_file():
            return
        with contextlib.suppress(sqlite3.Error):
            tables = _tables(self.path)
            if tables and not tables >= _OURS:
                raise ForeignDatabase(
                    f"database_url: {self.path} holds tables of another program ({_named(tables)}): "
                    "name a file of its own."
                )

    def hold(self) -> None:
        """Become the one process that uses it, under whatever name; raises :class:`AlreadyRunning`, and
        :class:`DatabaseUnavailable` if no lock can be made beside it.

        Locks of the operating system: they end with the process.
        """
        self.make()
        try:
            lock = open(f"{self.real}.lock", "a", opener=_privately)  # noqa: SIM115 (its mode; held open for good)
        except OSError as failure:
            raise _not_made(Path(f"{self.real}.lock"), failure) from None
        try:
            file = os.open(self.real, os.O_RDONLY)
        except OSError as failure:
            lock.close()
            raise _not_made(self.real, failure) from None
        try:
            _lock(lock.fileno())
            if _LOCKS_FILES:
                _lock(file)
        except OSError:
            lock.close()
            os.close(file)
            raise AlreadyRunning(f"Another handraise process is using {self.path}.") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        found = os.fstat(file)
        self._lock, self._file, self._identity = lock, file, (found.st_dev, found.st_ino)
        self._close_to_others(found.st_nlink)

    def check(self) -> None:
        """Raises :class:`DatabaseReplaced` if the name no longer leads to the file that is held."""
        if self._identity is None:
            return
        try:
            found = self.path.stat()
        except OSError:
            raise DatabaseReplaced(f"database_url: {self.path} was deleted or moved while it was in use.") from None
        if (found.st_dev, found.st_ino) != self._identity:
            raise DatabaseReplaced(f"database_url: {self.path} was replaced by another file while it was in use.")

    def release(self) -> None:
        """After the last connection: on closing the file the system takes this process's locks on it away."""
        if self._lock is not None and self._file is not None:
            self._lock.close()
            os.close(self._file)
            self._lock, self._file, self._identity = None, None, None

    def _close_to_others(self, names: int) -> None:
        """What an earlier version left open to others. SQLite makes further files with the mode of the first."""
        for ending in _BESIDE:
            file = Path(f"{self.real}{ending}")
            with contextlib.suppress(OSError):  # not there, or not ours to change
                mode = stat.S_IMODE(file.stat().st_mode)
                if mode & 0o077:
                    file.chmod(mode & ~0o077)
                    log.warning("database.closed_to_others", file=file.name, mode=f"{mode & ~0o077:04o}")
        if names > 1:
            log.warning("database.has_several_names", names=names)  # SQLite's log is found under one of them alone


def _not_made(path: Path, failure: OSError) -> DatabaseUnavailable:
    message = f"database_url: {path} can't be made or opened: {failure.strerror}."
    is_read_only = failure.errno in {errno.EROFS, errno.EACCES, errno.EPERM}
    return DatabaseUnavailable(message, reason=Unavailable.READ_ONLY if is_read_only else Unavailable.UNREACHABLE)


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE)


def _lock(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _tables(path: Path) -> set[str]:
    """The names of its tables, read without leaving a trace."""
    conn = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)
    try:
        found = {str(name) for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return {name for name in found if not name.startswith("sqlite_")}
    finally:
        conn.close()


def _named(tables: set[str]) -> str:
    first = sorted(tables)[:_MOST_NAMED]
    return ", ".join(first) + (", …" if len(tables) > _MOST_NAMED else "")


_BUSY_SECONDS = 30.0
_PAGES = 2048
"""How much of a database is copied before ``told`` hears of it."""

Advance = Callable[[int, int], None]
"""Hears of something long: how much is done, and of how much."""


def not_told(done: int, of: int) -> None:
    """For whoever does not show how far it is."""


def copy_database(source: Path, target: Path, told: Advance = not_told) -> None:
    """Write a whole copy of ``source`` to ``target``, which must not be there: mode 0600, on disk, no log beside.
    ``told`` hears how many pages are written, and of how many.

    Raises :class:`BackupFailed`; whatever is at ``target`` then is no copy.
    """
    if not source.is_file():
        raise BackupFailed(f"There is no database at {source}.")
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE))
        _copy(source, target, told)
        sync(target)
    except sqlite3.Error as failure:
        raise BackupFailed(f"{source} can't be copied: {failure}.") from None
    except OSError as failure:
        raise BackupFailed(f"{target} can't be written: {failure.strerror}.") from None


def _copy(source: Path, target: Path, told: Advance) -> None:
    read = sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    write = sqlite3.connect(target)
    try:
        read.execute("BEGIN")  # held open: SQLite would begin the copy anew after every commit of another process
        read.execute("SELECT count(*) FROM sqlite_master").fetchone()
        read.backup(write, pages=_PAGES, progress=lambda _status, left, of: told(of - left, of))
        write.execute(_FOLD)
        found = write.execute("PRAGMA integrity_check(1)").fetchone()[0]
    finally:
        write.close()
        read.close()
    if found != "ok":
        raise BackupFailed(f"The copy of {source} is damaged: {found}.")


_FOLD = "PRAGMA journal_mode = DELETE"
"""After it all of a database is in the one file."""


def fold_log(path: Path) -> None:
    """Bring what stands in the write-ahead log of a database that nobody else has open into its file, on disk.

    Raises :class:`BackupFailed`.
    """
    conn = sqlite3.connect(path, timeout=_BUSY_SECONDS)
    try:
        conn.execute(_FOLD)
    except sqlite3.Error as failure:
        raise BackupFailed(f"{path} can't be written: {failure}.") from None
    finally:
        conn.close()
    sync(path)


def copy_file(source: Path, target: Path) -> None:
    """A file beside the database: mode 0600, on disk, over nothing. Raises :class:`BackupFailed`, and leaves nothing of
    it behind then."""
    try:
        with (
            source.open("rb") as read,
            os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb") as file,
            _removed_on_failure(target),
        ):
            shutil.copyfileobj(read, file)
            file.flush()
            os.fsync(file.fileno())
    except OSError as failure:
        raise BackupFailed(f"{source} can't be copied to {target}: {failure.strerror}.") from None


@contextlib.contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Flush a file, or a folder's names, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
