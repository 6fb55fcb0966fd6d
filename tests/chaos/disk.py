"""The disk that an SQLite database is on, and how it fails, with root's privileges or without any.

Full: if it can be mounted, the disk is a small tmpfs of its own, which a file fills (ENOSPC, "database or disk is
full"). If not (no root, or a container that may not mount), no file of the process may grow beyond the write-ahead log
as it is (``RLIMIT_FSIZE`` through ``prlimit``). ``Disk.full_how`` says which it is. Dead: the process may write to no
file at all (a limit of 0), which SQLite takes for an error of the disk ("disk I/O error", as for EIO); reading goes on,
as it does on a file system that was remounted read-only. A process under a limit can still write to pipes, where its
log goes.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIZE = "64m"
_CHUNK = b"\0" * 65536


class Disk:
    """``folder`` is on it. ``is_own`` says whether nothing else is."""

    dead_how = "RLIMIT_FSIZE 0, as EIO"

    def __init__(self, folder: Path, *, is_own: bool) -> None:
        self.folder = folder
        self.full_how = "a tmpfs, ENOSPC" if is_own else "no tmpfs to be had: RLIMIT_FSIZE, no file grows"
        self._is_own = is_own
        self._filler = folder / "filler"

    @contextmanager
    def full(self, pid: int) -> Iterator[None]:
        """For everybody; if the disk is not ours alone, for the process ``pid``."""
        if not self._is_own:
            with _limited(pid, max((file.stat().st_size for file in self.folder.glob("*-wal")), default=0)):
                yield
            return
        self._fill()
        try:
            yield
        finally:
            self._filler.unlink()

    def _fill(self) -> None:
        with self._filler.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            for size in (len(_CHUNK), 4096, 1):
                with contextlib.suppress(OSError):
                    while filler.write(_CHUNK[:size]):
                        pass

    @contextmanager
    def dead(self, pid: int) -> Iterator[None]:
        """For the process ``pid`` alone."""
        with _limited(pid, 0):
            yield


@contextmanager
def _limited(pid: int, size: int) -> Iterator[None]:
    """No file that the process ``pid`` writes may be longer than ``size``."""
    usual = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, usual)


@contextmanager
def a_disk(folder: Path) -> Iterator[Disk]:
    """A small one at ``folder``, where that can be had; it is gone afterwards."""
    folder.mkdir()
    is_own = os.geteuid() == 0 and _run("mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "handraise-chaos", str(folder))
    try:
        yield Disk(folder, is_own=is_own)
    finally:
        if is_own:
            _run("umount", "-l", str(folder))


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False
