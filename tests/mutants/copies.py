"""Copies of the checkout, as it stands; mutants are applied there and nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_checkout(into: Path) -> Path:
    """Every file that git knows or would add, with what has changed in it since the last commit."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():  # not a file that is deleted and still in the index
            target = into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return into


@contextmanager
def broken(file: Path, source: str) -> Iterator[None]:
    """The file holds ``source`` for as long as the block lasts. Its time differs by more than a second, so that Python
    does not take the compiled form of the whole one."""
    whole, stat = file.read_bytes(), file.stat()
    try:
        file.write_text(source)
        os.utime(file, (stat.st_atime, stat.st_mtime + 10))
        yield
    finally:
        file.write_bytes(whole)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
