"""``handraise check``: reads the configuration as `serve` does. It opens no database, and no connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from handraise.cli.arguments import AsJson
from handraise.cli.terminal import give, say, warn

from bot.commands.backup import ConfigFile

_FAULTY = 2


def check(
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Check the configuration: the file and the environment, and nothing else. Prints "ok", or every error.

    Exit status 0 if `serve` would take it, 2 if not. Warnings change nothing about that.
    """
    from bot.config.loading import find_file, settings_and_folder, warnings_about
    from bot.config.problems import InvalidConfiguration

    file = find_file(config)
    try:
        settings, _ = settings_and_folder(config)
    except InvalidConfiguration as invalid:
        if not as_json:
            raise
        give(_written(file, errors=[problem.as_json() for problem in invalid.problems]))
        raise typer.Exit(_FAULTY) from None
    warnings = list(warnings_about(settings))
    if as_json:
        give(_written(file, warnings=warnings))
        return
    for warning in warnings:
        warn(f"handraise: warning: {warning}")
    say(f"ok: {'the environment alone (there is no file)' if file is None else file}")


def _written(file: Path | None, errors: list[dict[str, str]] | None = None, warnings: list[str] | None = None) -> str:
    found: dict[str, Any] = {
        "ok": not errors,
        "file": None if file is None else str(file),
        "errors": errors or [],
        "warnings": warnings or [],
    }
    return json.dumps(found, ensure_ascii=False)
