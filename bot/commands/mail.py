"""``handraise mail quarantine``: the mails that could not be read. Needs an admin's key."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from bot.commands.client import Client

app = typer.Typer(help="Look at mail that came in.", no_args_is_help=True)
quarantine = typer.Typer(help="Mails that could not be read.")
app.add_typer(quarantine, name="quarantine")

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def add_to(root: typer.Typer) -> None:
    """Register the commands."""
    root.add_typer(app, name="mail")


@quarantine.callback(invoke_without_command=True)
def list_(
    context: typer.Context, limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many.")] = 50
) -> None:
    """List the mails that could not be read, newest first. They are kept for email.quarantine_days."""
    if context.invoked_subcommand is not None:
        return
    for item in Client().get("/v1/mail/quarantine", {"limit": limit})["items"]:
        print(f"{item['digest']}  {item['received_at']}  {item['door']:<7}  {item['size']:>8}  {item['reason']}")


@quarantine.command()
def show(digest: Annotated[str, typer.Argument(help="The mail's digest, from the list.")]) -> None:
    """Write one of them to standard output as it came; what a terminal would obey is left out on a terminal."""
    raw = Client().raw(f"/v1/mail/quarantine/{digest}")
    if sys.stdout.isatty():
        print(_UNSEEN.sub("\N{REPLACEMENT CHARACTER}", raw.decode("utf-8", "replace").replace("\r\n", "\n")))
    else:
        sys.stdout.buffer.write(raw)
