"""Files that hold what has left the database: there whole or not at all, and on disk before anything is removed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Write ``path`` (mode 0600): under another name until all of it is on disk. Raises :class:`OSError`.

    Where a process is killed on the way, the next try begins the file anew.
    """
    part = path.with_name(f".{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """A name is on disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
