"""``handraise backup DIR`` and ``handraise restore DIR``: on the machine of the database, and not over HTTP.

``making_backups`` does it, and is imported only then: it takes the store along.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from handraise.cli.terminal import say

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Default: handraise.yaml, else openintent.yaml, in this folder.")
]


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to: a folder that is not there yet, or empty.")],
    config: ConfigFile = None,
) -> None:
    """Copy the database and its key file while the service runs, and verify the copy's audit trail."""
    from bot.commands import making_backups

    say(making_backups.back_up(folder, config))


def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `handraise backup` has made.")],
    config: ConfigFile = None,
) -> None:
    """Put a backup where the configuration says the database is. None may be there yet. For SQLite."""
    from bot.commands import making_backups

    say(making_backups.restore(folder, config))
