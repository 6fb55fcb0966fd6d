"""The manifest of a backup: its files with their checksums, and their origin.

Checksums find damage by a disk or a copy. They are not a seal: whoever can write to a backup can write its manifest.

Source: docs/decisions/0072.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from core.database.database_file import Advance, sync
from core.errors import BackupFailed

NAME = "manifest.json"
DATABASE, DUMP, KEY, ARCHIVE = "handraise.db", "handraise.dump", "handraise.db.key", "archive"
"""An SQLite copy, or PostgreSQL's dump; the key file if the service made the key; the folder of the archive's files."""

FORMAT = 1
BATCH = r"\d{8}T\d{6}Z-[0-9a-f]{8}"
"""How the archive's files are named, before ``.jsonl`` (:mod:`core.audit.retention`)."""

_NAMES = rf"^(handraise\.db|handraise\.dump|handraise\.db\.key|archive/{BATCH}\.jsonl)$"
"""Whatever else a manifest names is not restored: it could lead anywhere."""

_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """``name`` is a path below the backup's folder."""

    name: Annotated[str, Field(pattern=_NAMES)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class Manifest:
    """``schema`` is the database's revision. ``key_check`` identifies its secret key. ``verified``: the audit trail
    was checked, and holds. ``moved_away`` counts archive files that the database knows of and that no longer
    existed."""

    format: int
    made_at: str
    version: str
    database: Literal["sqlite", "postgresql"]
    schema: Annotated[str, Field(pattern="^[0-9]{4}$")]
    secret_key: Literal["file", "configuration"]
    key_check: str | None
    intents: int
    events: int
    verified: bool
    moved_away: int
    files: Sequence[CopiedFile]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def archive(self) -> list[str]:
        """The names of the archive's files."""
        return [Path(file.name).name for file in self.files if file.name.startswith(f"{ARCHIVE}/")]


_MANIFEST = TypeAdapter(Manifest)


def sums(folder: Path, told: Advance) -> list[CopiedFile]:
    """Every file below ``folder``, in order."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = [path.stat().st_size for path in paths]
    return [
        CopiedFile(path.relative_to(folder).as_posix(), size, _digest(path, sum(sizes[:place]), sum(sizes), told))
        for place, (path, size) in enumerate(zip(paths, sizes, strict=True))
    ]


def write(folder: Path, manifest: Manifest) -> None:
    """Raises :class:`OSError`."""
    path = folder / NAME
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file, indent=2)
        file.write("\n")
    sync(path)


def read(folder: Path) -> Manifest:
    """Raises :class:`BackupFailed`."""
    path = folder / NAME
    try:
        found = json.loads(path.read_bytes())
        if isinstance(found, dict) and isinstance(found.get("format"), int) and found["format"] > FORMAT:
            raise BackupFailed(
                f"{path}: a newer version has made this backup ({found['format']}): restore it with that."
            )
        return _MANIFEST.validate_python(found)
    except FileNotFoundError:
        raise BackupFailed(f"{folder} holds no {NAME}: `handraise backup` has not made it, or not all of it.") from None
    except OSError as failure:
        raise BackupFailed(f"{path} can't be read: {failure.strerror}.") from None
    except ValidationError as refused:
        place = ".".join(map(str, refused.errors()[0]["loc"]))
        raise BackupFailed(
            f"{path}: this is no manifest of a backup ({place or 'it'} is not as it should be)."
        ) from None
    except (ValueError, RecursionError):
        raise BackupFailed(f"{path}: this is no manifest of a backup.") from None


def _check_names(path: Path, manifest: Manifest) -> None:
    """A file that is not named has no checksum, and would be restored unseen."""
    names = Counter(file.name for file in manifest.files)
    needed = [DATABASE if manifest.database == "sqlite" else DUMP, *([KEY] if manifest.secret_key == "file" else [])]
    missing = [name for name in needed if name not in names]
    if missing:
        raise BackupFailed(f"{path} names no {' and no '.join(missing)}: the backup is not whole.")
    again = next((name for name, times in names.items() if times > 1), None)
    if again is not None:
        raise BackupFailed(f"{path} names {again} twice: this is not what `handraise backup` has written.")


def check(folder: Path, manifest: Manifest, told: Advance) -> None:
    """Raises :class:`BackupFailed` for the first file that differs from its copy, or is not named."""
    _check_names(folder / NAME, manifest)
    before = 0
    for file in manifest.files:
        path = folder / file.name
        if path.is_symlink() or not path.is_file():
            raise BackupFailed(f"{path} is missing: the backup is not whole.")
        try:
            same = path.stat().st_size == file.bytes and _digest(path, before, manifest.bytes, told) == file.sha256
        except OSError as failure:
            raise BackupFailed(f"{path} can't be read: {failure.strerror}.") from None
        if not same:
            raise BackupFailed(f"{path} is not what was copied: its SHA-256 differs from the one in {NAME}.")
        before += file.bytes


def same_file(left: Path, right: Path) -> bool:
    """Whether both have the same content. Raises :class:`OSError`."""
    if left.stat().st_size != right.stat().st_size:
        return False
    return all(one == other for one, other in zip(_chunks(left), _chunks(right), strict=False))


def _digest(path: Path, before: int, of: int, told: Advance) -> str:
    digest = hashlib.sha256()
    for chunk in _chunks(path):
        digest.update(chunk)
        before += len(chunk)
        told(before, of)
    return digest.hexdigest()


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_AT_ONCE):
            yield chunk
