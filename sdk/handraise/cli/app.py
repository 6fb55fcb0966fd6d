"""The application: every command in its order, and the commands that other distributions add to them.

A distribution registers a :class:`typer.Typer` under the entry-point group ``handraise.commands``; its commands and
groups stand beside those here. It is imported when a name that is not known here is asked for, and for the list of
them all. A name that stands here can't be taken.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
import typer.main

from handraise.cli import admin, answer, ask, audit, hook, lookup, mcp, run, stats
from handraise.cli.command_group import CommandGroup
from handraise.cli.terminal import say, warn

GROUP = "handraise.commands"
_DISTRIBUTIONS = ("handraise", "handraise-server")


class Commands(CommandGroup):
    """The group ``handraise``: its own commands, then those of other distributions."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *(name for name in _added() if name not in self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or _added().get(cmd_name)

    @property
    def absent(self) -> str:
        return "" if _added() else " The server's own come with handraise-server, which is not installed."

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands under their headings, each with its first sentence whole."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            heading = getattr(command, "rich_help_panel", None)
            rows = sections.setdefault(heading if isinstance(heading, str) else "More", [])
            rows.append((name, command.get_short_help_str(limit=200)))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


@functools.cache
def _added() -> Mapping[str, Any]:
    """The commands of other distributions. One that can't be imported is named, and takes no other along."""
    found: dict[str, Any] = {}
    for point in entry_points(group=GROUP):
        try:
            commands = point.load()
        except ImportError as failure:
            warn(f"handraise: the commands of {point.value} can't be loaded: {failure}")
            continue
        commands.rich_markup_mode = None
        group = typer.main.get_command(commands)
        found |= getattr(group, "commands", {})
    return found


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        for name in _DISTRIBUTIONS:
            try:
                say(f"{name} {version(name)}")
            except PackageNotFoundError:
                continue
        raise typer.Exit


app = typer.Typer(
    name="handraise",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text, in a pipe too
)


@app.callback()
def _handraise(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """AI agents raise a hand; the right person answers on Slack, by mail or through PagerDuty; the agent goes on.

    HANDRAISE_URL says where the service is (default: this machine, port 8080), HANDRAISE_API_KEY who is asking.
    """


_ASKING, _LOOKING, _CODING, _ADMIN = "Ask and answer", "Look", "Coding agents", "For an admin's key"
app.command(rich_help_panel=_ASKING)(ask.ask)
app.command(rich_help_panel=_ASKING, context_settings={"allow_interspersed_args": False})(run.run)
app.command(rich_help_panel=_ASKING)(ask.cancel)
app.command(rich_help_panel=_ASKING)(ask.report)
app.command(rich_help_panel=_ASKING)(answer.answer)
app.command(rich_help_panel=_ASKING)(answer.claim)
app.command(rich_help_panel=_ASKING)(answer.release)
app.command(rich_help_panel=_ASKING)(answer.assign)
app.command(rich_help_panel=_ASKING)(answer.clarify)
app.command(rich_help_panel=_ASKING)(mcp.mcp)
app.command("list", rich_help_panel=_LOOKING)(lookup.list_)
app.command(rich_help_panel=_LOOKING)(lookup.show)
app.command(rich_help_panel=_LOOKING)(lookup.timeline)
app.command(rich_help_panel=_LOOKING)(stats.stats)
app.command(rich_help_panel=_LOOKING)(lookup.whoami)
app.command(rich_help_panel=_ADMIN)(admin.pause)
app.command(rich_help_panel=_ADMIN)(admin.unpause)
app.add_typer(
    hook.app,
    name="hook",
    cls=CommandGroup,
    rich_help_panel=_CODING,
    help="Coding agents that ask a person before a tool runs.",
)
app.command("callbacks", rich_help_panel=_ADMIN)(admin.list_)
app.command(rich_help_panel=_ADMIN)(admin.redrive)
app.command(rich_help_panel=_ADMIN)(audit.export)
app.command(rich_help_panel=_ADMIN)(admin.signin_link)
app.command(rich_help_panel=_ADMIN)(admin.reload)
app.add_typer(audit.app, name="audit", cls=CommandGroup, rich_help_panel=_ADMIN)
