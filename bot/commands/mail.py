"""``handraise mail``: every kind of mail as a file, in the looks that are set up; and what came in unreadable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot.commands import mail_quarantine
from core.errors import ConfigError

app = typer.Typer(help="What mails look like, and what came in.", no_args_is_help=True)
app.add_typer(mail_quarantine.app, name="quarantine")

_SENDER, _REPLY_TO = "Handraise <handraise@example.com>", "answers@example.com"


@app.command()
def preview(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files are written; made if need be.")],
    config: Annotated[Path | None, typer.Option("--config", help="Whose email.templates are used.")] = None,
) -> None:
    """Write each kind of mail with made-up data to DIR: NAME.eml, and its two bodies as NAME.html and NAME.txt.

    The templates are those of the configuration, checked as at the start. Nothing is sent.
    """
    from bot.commands.setting_up import settings_and_folder
    from bot.mail_out import mail_templates
    from channels.email.addressing import Mailboxes
    from channels.email.examples import EXAMPLES
    from channels.email.preview import preview_of
    from channels.email.templates import Templates

    settings, home = settings_and_folder(config)
    section = settings.email
    templates = mail_templates(section, home) if section else Templates()
    ours = Mailboxes.of(_SENDER, _REPLY_TO)
    if section:
        ours = Mailboxes.of(section.sender, section.reply_to or _REPLY_TO, section.bounces_to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for example in EXAMPLES:
            for ending, content in preview_of(example, ours, templates).items():
                (folder / f"{example.name}.{ending}").write_bytes(content)
    except OSError as problem:
        raise ConfigError(f"{folder}: can't be written to ({problem.strerror}).") from None
    print(f"{len(EXAMPLES)} mails are in {folder}: " + ", ".join(example.name for example in EXAMPLES))
