"""``handraise pause`` and ``unpause``: all new notices, over HTTP and with an admin's key. Source: API.md §9."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bot.commands.client import Client


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(pause)
    app.command()(unpause)


def pause(
    reason: Annotated[str | None, typer.Option("--reason", help="Why; operators are told.")] = None,
) -> None:
    """Pause all new notices: nobody is asked anything. Answers, callbacks and the clock go on."""
    shown = Client().post("/v1/pause", {} if reason is None else {"reason": reason})
    print(f"Paused since {shown['paused_at']} by {shown['paused_by']}. `handraise unpause` ends it.")


def unpause() -> None:
    """Let notices leave again: each question that is still open asks once."""
    shown = Client().delete("/v1/pause")
    print(f"Notices leave again: {shown['released']} that waited go out, {shown['dropped']} older ones were dropped.")


def warn_if_paused(client: Client) -> None:
    """A line above whatever is listed, for whoever wonders why nobody answers."""
    shown = client.get("/v1/pause")
    if shown["paused"]:
        print(f"New notices are paused since {shown['paused_at']}; {shown['held']} wait.", file=sys.stderr)
