"""Scratch space: the tests' databases and folders are in memory, if there is plenty.

Some thousand databases are made and deleted, one after another. On a disk the tests wait for it most of the time: to
copy a PostgreSQL database takes 20 times as long there. ``TMPDIR`` chooses another place.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
PLENTY = 4 * 1024**3
"""Bytes. The tests need less than one gigabyte at a time."""


def use_memory() -> None:
    """From now on this process, and those that it starts, make their temporary folders in memory."""
    if "TMPDIR" in os.environ or not _is_roomy():
        return
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # it is looked up once


def _is_roomy() -> bool:
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return False
    there = os.statvfs(MEMORY)
    runs_programs = not there.f_flag & os.ST_NOEXEC  # a copy of PostgreSQL is started from there
    return runs_programs and there.f_bavail * there.f_frsize >= PLENTY
