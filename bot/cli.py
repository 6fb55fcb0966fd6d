"""The server's commands: they join ``handraise``, which the SDK's distribution installs, by the entry-point group
``handraise.commands`` (decision 0070).

Source: API.md §9.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer
from handraise.cli.arguments import AsJson
from handraise.cli.command_group import CommandGroup
from handraise.cli.progress import progress
from handraise.cli.terminal import give_json, say, warn

from bot.commands import backup, channels, configuration, dev, doctor, keys
from bot.commands.backup import ConfigFile
from core.errors import OperatorError

app = typer.Typer(name="handraise-server", pretty_exceptions_enable=False)
_SERVING, _SETTING_UP = "Run the service", "Set it up"

RoleNames = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="Run only this part: api, worker, slack, mail. For several, repeat it or use commas. Needs PostgreSQL.",
    ),
]


@app.command(rich_help_panel=_SERVING)
def serve(config: ConfigFile = None, role: RoleNames = None) -> None:
    """Run the service: API, pages, vendors' webhooks, the clock and the relay, all in one process or each apart."""
    from bot.config.loading import find_file, settings_and_folder, warnings_about
    from bot.observability.telemetry import set_up_logging
    from bot.wiring.roles import check_fits, parts_of

    parts = parts_of(role or ())
    settings, folder = settings_and_folder(config)
    check_fits(parts, is_shared=settings.database_url.startswith("postgresql"))
    set_up_logging(settings.log.level, settings.log.format)
    for warning in warnings_about(settings):
        warn(f"handraise: warning: {warning}")

    from bot.server import serve as run  # takes a second: whoever has made a mistake in the file need not wait for it

    file = find_file(config)  # the one that counts: without it, a later reload must not find an empty configuration
    run(settings, folder, parts, reread=lambda: settings_and_folder(file)[0])


@app.command(rich_help_panel=_SERVING)
def migrate(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Bring the database's schema up to date. SQLite does it by itself; PostgreSQL needs this before `serve`."""
    from bot.config.loading import settings_and_folder
    from core.database.database import open_database
    from core.store import schema

    settings, _ = settings_and_folder(config)
    began = time.monotonic()
    with progress() as begin:
        told = begin("Migrating the schema", "migrations")
        database = open_database(settings.database_url, direct_url=settings.database.direct_url)
        before, after = schema.migrate(database, told)
    if as_json:
        give_json({"before": before, "after": after})
    elif before == after:
        say(f"The schema is at {after} already: nothing was to be done.")
    else:
        say(f"The schema was at {before or 'nothing'} and is at {after} now. {time.monotonic() - began:.1f} seconds.")


@app.command(rich_help_panel=_SERVING)
def demo(
    fast: Annotated[bool, typer.Option("--fast", help="Shrink the hours between attempts to seconds.")] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Play it without anybody, and check how it ends.")] = False,
) -> None:
    """See it work: the service, a pretend Slack, mailbox and pager in one page, and an agent that waits."""
    from bot.demo import run

    raise typer.Exit(run(fast=fast, auto=auto))


app.command(rich_help_panel=_SETTING_UP)(configuration.init)
app.command(rich_help_panel=_SERVING)(dev.dev)
app.command(rich_help_panel=_SETTING_UP)(configuration.check)
app.command(rich_help_panel=_SETTING_UP)(doctor.doctor)
app.command(rich_help_panel=_SERVING)(backup.backup)
app.command(rich_help_panel=_SERVING)(backup.restore)
app.add_typer(keys.app, name="keys", cls=CommandGroup, rich_help_panel=_SETTING_UP)
app.add_typer(channels.slack, name="slack", cls=CommandGroup, rich_help_panel=_SETTING_UP)
app.add_typer(channels.mail, name="mail", cls=CommandGroup, rich_help_panel=_SETTING_UP)


def _without_trace(command: Callable[..., Any]) -> Callable[..., Any]:
    """``command``; an error that an operator can mend is a line, or one for each of several, and status 2; no trace."""

    @functools.wraps(command)
    def told(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except OperatorError as error:
            first, *rest = error.lines
            warn(f"handraise: {first}")
            for line in rest:
                warn(line)
            raise typer.Exit(2) from None

    return told


def _each_without_trace(commands: typer.Typer) -> None:
    for one in commands.registered_commands:
        assert one.callback is not None  # noqa: S101 (typer's decorator sets it)
        one.callback = _without_trace(one.callback)
    for group in commands.registered_groups:
        assert group.typer_instance is not None  # noqa: S101 (as above)
        _each_without_trace(group.typer_instance)


_each_without_trace(app)
