"""``handraise``: the service, its keys, and a client for the terminal. Source: API.md §9.

Exit status: 0 done, 1 refused by the service, 2 can't begin (configuration, database, port, usage).
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from bot.commands import admin, ask, audit, backup, channels, configuration, keys
from bot.commands.backup import ConfigFile
from bot.observability.terminal import say, warn
from core.errors import OperatorError

app = typer.Typer(
    name="handraise",
    help="AI agents raise a hand; the right person answers on Slack, by mail or through PagerDuty; the agent goes on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(keys.app, name="keys")
app.add_typer(channels.slack, name="slack")
app.add_typer(channels.mail, name="mail")
app.add_typer(audit.app, name="audit")
app.command()(configuration.check)
app.command()(ask.ask)
app.command()(ask.answer)
app.command()(ask.assign)
app.command()(ask.clarify)
app.command("list")(ask.list_)
app.command()(ask.show)
app.command()(admin.pause)
app.command()(admin.unpause)
app.command("callbacks")(admin.list_)
app.command()(admin.redrive)
app.command()(audit.export)
app.command()(admin.signin_link)
app.command()(backup.backup)
app.command()(backup.restore)

RoleNames = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="Run only this part: api, worker, slack, mail. For several, repeat it or use commas. Needs PostgreSQL.",
    ),
]


@app.command()
def serve(config: ConfigFile = None, role: RoleNames = None) -> None:
    """Run the service: API, pages, vendors' webhooks, the clock and the relay, all in one process or each apart."""
    from bot.config.loading import settings_and_folder, warnings_about
    from bot.observability.telemetry import set_up_logging
    from bot.wiring.roles import parts_of

    parts = parts_of(role or ())
    settings, folder = settings_and_folder(config)
    set_up_logging(settings.log.level, settings.log.format)
    for warning in warnings_about(settings):
        warn(f"handraise: warning: {warning}")

    from bot.server import serve as run  # takes a second: whoever has made a mistake in the file need not wait for it

    run(settings, folder, parts)


@app.command()
def migrate(config: ConfigFile = None) -> None:
    """Bring the database's schema up to date. SQLite does it by itself; PostgreSQL needs this before `serve`."""
    from bot.config.loading import settings_and_folder
    from core.store import schema
    from core.store.database import open_database

    settings, _ = settings_and_folder(config)
    before, after = schema.migrate(open_database(settings.database_url))
    say(f"The schema was at {before or 'nothing'} and is at {after} now.")


@app.command()
def demo(
    fast: Annotated[bool, typer.Option("--fast", help="Shrink the hours between attempts to seconds.")] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Play it without anybody, and check how it ends.")] = False,
) -> None:
    """See it work: the service, a pretend Slack, mailbox and pager in one page, and an agent that waits."""
    from bot.demo import run

    raise typer.Exit(run(fast=fast, auto=auto))


def main() -> None:
    """The console script: an error that an operator can mend is a line, or one for each of several; not a trace."""
    os.umask(0o077)  # whatever is made from here on holds keys, or what people have written
    try:
        app()
    except OperatorError as error:
        first, *rest = error.lines
        warn(f"handraise: {first}")
        for line in rest:
            warn(line)
        sys.exit(2)


if __name__ == "__main__":
    main()
