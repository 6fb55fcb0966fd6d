"""``handraise backup DIR`` and ``handraise restore DIR``: on the machine of the database, and not over HTTP.

``backups`` does the work. It is imported only then, because it imports the store.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from handraise.cli.arguments import AsJson
from handraise.cli.progress import progress, size_text
from handraise.cli.terminal import give_json, say, warn

if TYPE_CHECKING:
    from bot.commands.backups.manifest import Manifest

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Default: handraise.yaml, else openintent.yaml, in this folder.")
]


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to: a folder that is not there yet, or empty.")],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Copy database, key file and archive while the service runs, and verify the copy's audit trail."""
    from bot.commands.backups.creation import back_up

    _clean_up_at_sigterm()
    with progress() as begin:
        made = back_up(folder, config, begin)
    written = made.manifest
    if as_json:
        give_json({"folder": str(folder), **_counted(written, made.seconds)})
        return
    trail = f"{_events(written)} are what was written" if written.verified else f"{_events(written)}, not verified"
    say(f"ok: {folder}: {_files(written)}. {trail}. {made.seconds:.1f} seconds.")
    if not written.verified:
        warn(f"handraise: the schema ({written.schema}) is older than this version's: `restore` verifies the trail.")
    if written.moved_away:
        warn(f"handraise: {written.moved_away} files of the archive are not on this machine, and not in the backup.")
    if written.secret_key == "configuration":
        warn("handraise: the secret key is in your configuration: keep it as well, apart from the backup.")


def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `handraise backup` has made.")],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup where the configuration says the database is. None may be there yet; PostgreSQL's must be empty."""
    from bot.commands.backups.restoration import restore as put_back

    _clean_up_at_sigterm()
    with progress() as begin:
        done = put_back(folder, config, begin)
    if as_json:
        of_now = {"database": done.database, "events": done.checked.events, "intents": done.checked.intents}
        counted = {**_counted(done.manifest, done.seconds), **of_now, "newer_archive_files": done.newer}
        give_json({"folder": str(folder), **counted})
        return
    events = f"{done.checked.events} events of {done.checked.intents} intents are what was written"
    say(f"ok: {done.database}: {_files(done.manifest)}. {events}. {done.seconds:.1f} seconds.")
    if done.newer:
        warn(f"handraise: {done.newer} files of the archive are newer: what they hold is in the database again.")
    say(f"It is as of {done.manifest.made_at}. Start the service now: `handraise serve`.")


def _clean_up_at_sigterm() -> None:
    """Removes an unfinished folder, as Ctrl-C does: it has a secret key in it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _files(written: Manifest) -> str:
    return f"{len(written.files)} files, {size_text(written.bytes)}"


def _events(written: Manifest) -> str:
    return f"{written.events} events of {written.intents} intents"


def _counted(written: Manifest, seconds: float) -> dict[str, Any]:
    """The manifest's figures, without the files."""
    names = ("made_at", "version", "schema", "secret_key", "verified", "moved_away", "bytes", "events", "intents")
    of_it = {name: getattr(written, name) for name in names}
    return {**of_it, "files": len(written.files), "seconds": round(seconds, 3)}
