"""What commands that open the database need first: the settings, and the folder they belong to."""

from __future__ import annotations

import os
from pathlib import Path

from bot.config import Settings, find_file, load


def settings_and_folder(config: Path | None) -> tuple[Settings, Path]:
    """The settings of ``config`` (or of the file found here) and its folder; raises :class:`ConfigError`."""
    file = find_file(config)
    return load(config, os.environ), file.parent if file is not None else Path.cwd()
