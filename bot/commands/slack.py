"""``handraise slack manifest``: what the Slack app is made from. Source: API.md §9."""

from __future__ import annotations

from typing import Annotated

import typer

from core.errors import ConfigError

app = typer.Typer(help="Set up the Slack app.", no_args_is_help=True)


@app.callback()
def slack() -> None:
    """Set up the Slack app."""


@app.command()
def manifest(
    http: Annotated[
        str | None, typer.Option("--http", metavar="URL", help="For HTTP mode, at this public address of the service.")
    ] = None,
) -> None:
    """Print the app's manifest: for Socket Mode, or for HTTP mode with --http URL."""
    from channels.slack.manifest import manifest as written

    try:
        print(written(http), end="")
    except ValueError as problem:
        raise ConfigError(f"--http {problem}.") from None
