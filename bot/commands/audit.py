"""``handraise export`` and ``handraise audit verify``: the audit trail, and whether it is what was written.

The log's key stays with the service: it checks its own database, and an export that is sent to it.
Source: docs/audit.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.commands.client import Client, stop
from bot.commands.export_file import is_whole, parts_of, saved
from bot.commands.terminal import one_line

app = typer.Typer(help="Check the audit trail.", no_args_is_help=True)

_WORDS = {
    "changed": "this is not what was written",
    "missing": "this event is missing",
    "cut_off": "the log is cut off here",
    "beyond_head": "the log has more events than its intent knows of",
    "head_changed": "the intent knows of another last event",
    "start_forged": "the log does not begin where it was moved out",
    "no_intent": "there is no such intent any more",
    "malformed": "this is no line of an export",
    "file_changed": "every log holds, but the file is not the one that was written",
    "file_incomplete": "the file ends before its end",
}
INCOMPLETE: dict[str, Any] = {"fault": "file_incomplete", "intent_id": None, "position": None, "id": None, "line": None}
"""What a file is that ends without its last line."""


def add_to(root: typer.Typer) -> None:
    """Register the commands."""
    root.command()(export)
    root.add_typer(app, name="audit")


def export(
    output: Annotated[Path | None, typer.Option("--output", help="The file to write. Default: print it.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Events from then on: 2026-03-24T11:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Events before this instant.")] = None,
    intent: Annotated[str | None, typer.Option("--intent", help="The events of this intent alone.")] = None,
) -> None:
    """Write the audit trail as JSON Lines: every event with its MAC. Needs an admin's key."""
    optional = {"since": since, "until": until, "intent_id": intent}
    query = {name: value for name, value in optional.items() if value is not None}
    with Client().lines("/v1/audit/export", query) as lines:
        try:
            whole = saved(output, lines) if output is not None else _printed(lines)
        except OSError as failure:
            stop(f"{output or 'standard output'}: {failure.strerror}", 2)
    if not whole:
        stop("the export broke off before its end" + (f"; {output} was not written" if output else ""), 1)


def _printed(lines: Any) -> bool:
    last = ""
    for last in lines:
        print(last)
    sys.stdout.flush()
    return is_whole(last)


@app.command()
def verify(
    file: Annotated[Path | None, typer.Option("--file", help="An export, or a file of the archive.")] = None,
) -> None:
    """Find the first broken link: in the database, or in a file. Exit status: 0 all holds, 1 broken, 2 not checked."""
    client = Client(refused=2)
    intents, events = _check_database(client) if file is None else _check_file(client, file)
    print(f"ok: {events} events of {intents} intents are what was written")


def _check_database(client: Client) -> tuple[int, int]:
    intents = events = 0
    query: dict[str, Any] = {}
    while True:
        checked = client.get("/v1/audit/verify", query)
        intents += checked["intents"]
        events += checked["events"]
        _stop_where_broken(checked["first_broken"])
        if checked["next_cursor"] is None:
            return intents, events
        query = {"cursor": checked["next_cursor"]}


def _check_file(client: Client, file: Path) -> tuple[int, int]:
    progress: dict[str, Any] | None = None
    try:
        for part in parts_of(file):
            checked = client.post(
                "/v1/audit/verify", {"lines": part.lines, "sha256": part.sha256, "progress": progress}
            )
            progress = checked["progress"]
            _stop_where_broken(checked["first_broken"])
    except OSError as failure:
        stop(f"{file}: {failure.strerror}", 2)
    if progress is None or not progress["ended"]:
        print(said_of(INCOMPLETE))
        raise typer.Exit(1)
    return progress["logs"], progress["events"]


def _stop_where_broken(broken: dict[str, Any] | None) -> None:
    if broken is not None:
        print(said_of(broken))
        raise typer.Exit(1)


def said_of(broken: dict[str, Any]) -> str:
    """One line that names the place."""
    names = {"line": "line", "intent_id": "intent", "position": "position", "id": "event"}
    places = [f"{word} {one_line(str(broken[key]), 80)}" for key, word in names.items() if broken[key] is not None]
    return f"broken at {', '.join(places) or 'the end'}: {_WORDS[broken['fault']]}"
