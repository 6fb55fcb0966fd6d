"""``handraise init`` writes a first configuration, ``handraise check`` reads one as `serve` does.

``init`` asks at a terminal, or takes flags; ``making_configuration`` makes the file, and is imported only then.
``check`` opens no database, and no connection.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from handraise.cli.arguments import AsJson
from handraise.cli.terminal import give, give_json, say, warn

from bot.commands.backup import ConfigFile
from core.domain.people import named_mailbox
from core.errors import ConfigError

if TYPE_CHECKING:
    from bot.commands.making_configuration import FirstSettings


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path("handraise.yaml"),
    person: Annotated[
        list[str] | None,
        typer.Option("--person", help='"Alice <alice@example.com>"; may be repeated. The first is the admin.'),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="The name of the agent's key.")] = None,
    host: Annotated[str | None, typer.Option("--host", help="The address to listen on (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option("--port", help="The port to listen on (8080).")] = None,
    public_url: Annotated[
        str | None, typer.Option("--public-url", help="The https:// address at which people reach the service.")
    ] = None,
    database_url: Annotated[str | None, typer.Option("--database-url", help="SQLite or PostgreSQL.")] = None,
    slack_bot_token: Annotated[str | None, typer.Option("--slack-bot-token", help="xoxb-…")] = None,
    slack_app_token: Annotated[str | None, typer.Option("--slack-app-token", help="xapp-…")] = None,
    slack_channel: Annotated[str | None, typer.Option("--slack-channel", help="The default channel's id, C….")] = None,
    smtp_url: Annotated[str | None, typer.Option("--smtp-url", help="smtp://user:password@host:587")] = None,
    mail_from: Annotated[str | None, typer.Option("--mail-from", help="The sender of mails.")] = None,
    pagerduty_key: Annotated[
        str | None, typer.Option("--pagerduty-key", help="The integration key of a service.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a configuration to begin with: commented, mode 0600, with new keys that are shown once.

    At a terminal it asks; with any option but --force it takes those, and asks nothing.
    """
    from bot.commands import making_configuration as making

    given: dict[str, Any] = {
        "people": [_person(one) for one in person] if person else None,
        "agent": agent,
        "host": host,
        "port": port,
        "public_url": public_url,
        "database_url": database_url,
        "slack_bot_token": slack_bot_token,
        "slack_app_token": slack_app_token,
        "slack_channel": slack_channel,
        "smtp_url": smtp_url,
        "mail_from": mail_from,
        "pagerduty_key": pagerduty_key,
    }
    given = {name: value for name, value in given.items() if value is not None}
    asks = not given and sys.stdin.isatty() and sys.stdout.isatty()
    if path.exists() and not force:
        if not (asks and typer.confirm(f"{path} is there already. Write it anew?")):
            raise making.there_already(path)
        force = True
    made = making.make(_asked() if asks else making.FirstSettings(**given), path)
    making.write(made.text, path, over=force)
    if as_json:
        give_json({"file": str(path), "keys": dict(made.keys), "webhook_secret": made.webhook_secret})
        return
    say(f"{path} is written; only you may read it. These are shown only now:")
    for name, key in made.keys:
        say(f"  key of {name:<24} {key}")
    say(f"  webhook secret of {made.keys[0][0]:<13} {made.webhook_secret}")
    say("Next: `handraise check`, then `handraise serve`.")


def _person(text: str) -> tuple[str, str]:
    """``Alice <alice@example.com>``, or only the address."""
    name, mail = named_mailbox(text)
    mail = mail or text.strip()  # with everything else that is wrong it is told when the file is checked
    if not mail:
        raise ConfigError('--person must be an e-mail address, with or without a name: "Alice <alice@example.com>".')
    return name or mail.partition("@")[0], mail


def _asked() -> FirstSettings:
    """The answers of a person at a terminal. An invalid value is asked for again."""
    from bot.commands.making_configuration import FirstSettings
    from bot.config import values
    from bot.vendors import email, pagerduty, slack

    warn("A configuration to begin with. Return takes what stands in brackets; Ctrl-C leaves everything as it is.")
    name = ask_for("Your name", values.Text)
    mail = ask_for("Your e-mail address", values.Mail)
    agent = ask_for("A name for your agent's key", values.KeyName, default="agent")
    more: dict[str, str] = {}
    if typer.confirm("Ask people in Slack?", default=False):
        more["slack_bot_token"] = ask_for("  Bot token (xoxb-…)", values.Text, hidden=True)
        more["slack_app_token"] = ask_for("  App-level token (xapp-…)", slack.AppToken, hidden=True)
        more["slack_channel"] = ask_for("  Default channel's id (C…)", slack.SlackPlace)
    if typer.confirm("Ask people by mail?", default=False):
        more["smtp_url"] = ask_for("  Mail server", email.SmtpUrl, default="smtp://127.0.0.1:25")
        more["mail_from"] = ask_for("  Sender", values.Sender, default=f"Handraise <{mail}>")
    if typer.confirm("Page people by PagerDuty?", default=False):
        more["pagerduty_key"] = ask_for("  Integration key", pagerduty.RoutingKey, hidden=True)
    return FirstSettings(people=[(name, mail)], agent=agent, **more)  # type: ignore[arg-type]


def ask_for(text: str, kind: Any, default: str | None = None, *, hidden: bool = False) -> str:
    """One value at the terminal; an invalid one is asked for again."""
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[str] = TypeAdapter(kind)

    def read(written: str) -> str:
        try:
            return adapter.validate_python(written)
        except ValidationError as wrong:
            said = wrong.errors(include_url=False, include_input=False)[0].get("ctx", {}).get("error", "is not valid")
            raise typer.BadParameter(f"That {said}.") from None

    return str(typer.prompt(text, default=default, value_proc=read, hide_input=hidden))


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
