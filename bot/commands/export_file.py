"""An export as a file: written whole or not at all, and read in parts that a request can hold.

Source: docs/audit.md.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_MOST_LINES = 500
_MOST_BYTES = 512 * 1024
"""Of one part, unless a single line is longer. The service takes five MiB, with every quote in it written twice."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a file; with the last ones, the SHA-256 of everything before the last."""

    lines: list[str]
    sha256: str | None


def saved(path: Path, lines: Iterable[str]) -> bool:
    """Write ``path``, mode 0600, under another name until all of it is on disk. False, and no file, where the last
    line is not an export's. Raises :class:`OSError`."""
    part = path.with_name(f".{path.name}.part")
    try:
        last = ""
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for last in lines:
                file.write(last + "\n")
            file.flush()
            os.fsync(file.fileno())
        if is_whole(last):
            part.replace(path)
            return True
        return False
    finally:
        part.unlink(missing_ok=True)


def is_whole(last: str) -> bool:
    """Whether this is the last line of an export."""
    try:
        record = json.loads(last)
    except ValueError:
        return False
    return isinstance(record, dict) and record.get("kind") == "end"


def parts_of(path: Path) -> Iterator[Part]:
    """The file in order. Raises :class:`OSError`."""
    digest, size = hashlib.sha256(), 0
    lines: list[str] = []
    with path.open("rb") as file:
        before: bytes | None = None
        for line in file:
            if before is not None:
                digest.update(before)
                lines.append(_text(before))
                size += len(before)
                if len(lines) >= _MOST_LINES or size >= _MOST_BYTES:
                    yield Part(lines, None)
                    lines, size = [], 0
            before = line
        if before is not None:
            yield Part([*lines, _text(before)], digest.hexdigest())


def _text(line: bytes) -> str:
    """As JSON can carry it. What is not UTF-8 was not written by us, and the digest tells."""
    return line.decode(errors="replace").rstrip("\r\n").replace("\0", "\ufffd")
