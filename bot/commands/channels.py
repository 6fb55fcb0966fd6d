"""``handraise mail`` and ``handraise slack``: previews of the channels, and mail that could not be read.

``mail preview`` writes every kind of mail as files in the configured looks. ``mail quarantine`` lists the mails that
could not be read; it needs an admin's key. ``slack manifest`` prints the Slack app's manifest.

Source: API.md §9.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from handraise.cli.arguments import AsJson
from handraise.cli.client import Client, part
from handraise.cli.command_group import CommandGroup
from handraise.cli.terminal import give_bytes, give_json, say, say_lines, warn

from core.errors import ConfigError

quarantine = typer.Typer(help="Mails that came in and could not be read.")


@quarantine.callback(invoke_without_command=True)
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the mails that could not be read, newest first. They are kept for email.quarantine_days."""
    if context.invoked_subcommand is not None:
        return
    page = Client().get("/v1/mail/quarantine", {"limit": limit})
    if as_json:
        give_json(page)
        return
    if not page["items"]:
        warn("no mails")
    for item in page["items"]:
        say(f"{item['digest']}  {item['received_at']}  {item['door']:<7}  {item['size']:>8}  {item['reason']}")


@quarantine.command()
def show(digest: Annotated[str, typer.Argument(help="The mail's digest, from the list.")]) -> None:
    """Write one of them to standard output as it came; at a terminal, what it would obey is written as an escape."""
    give_bytes(Client().raw(f"/v1/mail/quarantine/{part(digest)}"))


mail = typer.Typer(help="What mails look like, and what came in.", no_args_is_help=True)
mail.add_typer(quarantine, name="quarantine", cls=CommandGroup)

_SENDER, _REPLY_TO = "Handraise <handraise@example.com>", "answers@example.com"


@mail.command()
def preview(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files are written; made if need be.")],
    config: Annotated[Path | None, typer.Option("--config", help="Whose email.templates are used.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over an earlier preview.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write each kind of mail with made-up data to DIR: NAME.eml, and its two bodies as NAME.html and NAME.txt.

    The templates are those of the configuration, checked as at the start. Nothing is sent.
    """
    from bot.config.loading import settings_and_folder
    from bot.vendors.email import Email, mail_templates
    from channels.email.addressing import Mailboxes
    from channels.email.examples import EXAMPLES
    from channels.email.overrides import preview_of
    from channels.email.templates import Templates

    settings, home = settings_and_folder(config)
    section = settings.of(Email)
    templates = mail_templates(section, home) if section else Templates()
    ours = Mailboxes.of(_SENDER, _REPLY_TO, key=b"preview")
    if section:
        ours = Mailboxes.of(section.sender, section.reply_to or _REPLY_TO, section.bounces_to, key=b"preview")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for example in EXAMPLES:
            for ending, content in preview_of(example, ours, templates).items():
                with (folder / f"{example.name}.{ending}").open("wb" if overwrite else "xb") as file:
                    file.write(content)
    except FileExistsError as there:
        raise ConfigError(f"{there.filename} is there already: name another folder, or say --overwrite.") from None
    except OSError as problem:
        raise ConfigError(f"{folder}: can't be written to ({problem.strerror}).") from None
    if as_json:
        give_json({"folder": str(folder), "mails": [example.name for example in EXAMPLES]})
        return
    say(f"{len(EXAMPLES)} mails are in {folder}: " + ", ".join(example.name for example in EXAMPLES))


slack = typer.Typer(help="Set up the Slack app.", no_args_is_help=True)


@slack.callback()
def _slack() -> None:
    """Set up the Slack app."""


@slack.command()
def manifest(
    http: Annotated[
        str | None, typer.Option("--http", metavar="URL", help="For HTTP mode, at this public address of the service.")
    ] = None,
) -> None:
    """Print the app's manifest: for Socket Mode, or for HTTP mode with --http URL."""
    from channels.slack.manifest import manifest as written

    try:
        say_lines(written(http).rstrip("\n"))
    except ValueError as problem:
        raise ConfigError(f"--http {problem}.") from None
