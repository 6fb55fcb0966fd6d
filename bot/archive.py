"""The folder that ended suspensions are moved to: where it is, and that it can be written.

Source: docs/audit.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import sqlalchemy as sa

from bot.config import Settings
from core.errors import ConfigError

FOLDER = "handraise.archive"


def archive_folder(settings: Settings, folder: Path) -> Path:
    """``retention.archive_dir``; else ``handraise.db.archive`` beside ``handraise.db``, or ``handraise.archive`` in
    ``folder``, the configuration's. It is made where suspensions are to be moved.

    Raises :class:`ConfigError` where it can't be made or written: better now than after ninety days.
    """
    path = _place(settings, folder)
    if settings.retention.keep is None:
        return path
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise ConfigError(f"retention.archive_dir: {path} can't be made: {failure.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(f"retention.archive_dir: {path} can't be written")
    return path


def _place(settings: Settings, folder: Path) -> Path:
    if settings.retention.archive_dir is not None:
        return Path(settings.retention.archive_dir)
    url = sa.make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and url.database:
        return Path(f"{url.database}.archive")
    return folder / FOLDER
