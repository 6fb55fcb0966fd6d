"""``handraise export`` and ``handraise audit verify``: the audit trail, and whether it is what was written.

The log's key stays with the service. It checks its own database, and an export that is sent to it. An export's file is
written whole or not at all, and read in parts that a request can hold.

Source: docs/reference/audit.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from handraise.cli.arguments import AsJson
from handraise.cli.client import Client, stop
from handraise.cli.progress import BYTES, Advance, progress, size_text
from handraise.cli.terminal import give, give_json, one_line, say

_MOST_LINES = 500
_MOST_BYTES = 512 * 1024
"""Of one part, unless a single line is longer. The service takes five MiB, with every quote in it written twice."""


@dataclass(frozen=True, slots=True)
class FileChunk:
    """Some lines of a file; with the last ones, the SHA-256 of everything before the last."""

    lines: list[str]
    sha256: str | None


def saved(path: Path, lines: Iterable[str], overwrite: bool) -> str:
    """Write ``path``, mode 0600, under another name until all of it is on disk; returns the last line. If that is not
    an export's, there is no file. Raises :class:`OSError`; :class:`FileExistsError` unless it may ``overwrite``."""
    part = path.with_name(f".{path.name}.part")
    try:
        last = ""
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for last in lines:
                file.write(last + "\n")
            file.flush()
            os.fsync(file.fileno())
        if is_whole(last) and overwrite:
            part.replace(path)
        elif is_whole(last):
            path.hardlink_to(part)  # never overwrites a file, even one made meanwhile
        return last
    finally:
        part.unlink(missing_ok=True)


def is_whole(last: str) -> bool:
    """Whether this is the last line of an export."""
    try:
        record = json.loads(last)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.get("kind") == "end"


def parts_of(path: Path) -> Iterator[FileChunk]:
    """The file in order. Raises :class:`OSError`."""
    digest, size = hashlib.sha256(), 0
    lines: list[str] = []
    with path.open("rb") as file:
        before: bytes | None = None
        for line in file:
            if before is not None:
                digest.update(before)
                lines.append(_text(before))
                size += len(before)
                if len(lines) >= _MOST_LINES or size >= _MOST_BYTES:
                    yield FileChunk(lines, None)
                    lines, size = [], 0
            before = line
        if before is not None:
            yield FileChunk([*lines, _text(before)], digest.hexdigest())


def _text(line: bytes) -> str:
    """As JSON can carry it. What is not UTF-8 was not written by us, and the digest tells."""
    return line.decode(errors="replace").rstrip("\r\n").replace("\0", "\ufffd")


app = typer.Typer(help="Check the audit trail.", no_args_is_help=True)

_WORDS = {
    "changed": "this is not what was written",
    "missing": "this event is missing",
    "cut_off": "the log is cut off here",
    "beyond_head": "the log has more events than its intent knows of",
    "head_changed": "the intent knows of another last event",
    "head_forged": "the log does not end where its intent says",
    "record_changed": "a question's record does not say what the log says of it",
    "start_forged": "the log does not begin where it was moved out",
    "no_intent": "there is no such intent any more",
    "malformed": "this is no line of an export",
    "file_changed": "every log holds, but the file is not the one that was written",
    "file_incomplete": "the file ends before its end",
}
INCOMPLETE: dict[str, Any] = {"fault": "file_incomplete", "intent_id": None, "position": None, "id": None, "line": None}
"""What a file is that ends without its last line."""


def export(
    output: Annotated[Path | None, typer.Option("--output", help="The file to write. Default: print it.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only events from this instant on, such as 2026-03-24T11:00:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only events before this instant.")] = None,
    intent: Annotated[str | None, typer.Option("--intent", help="Only the events of this intent.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over a file that is there.")] = False,
) -> None:
    """Write the audit trail as JSON Lines: every event with its MAC. Needs an admin's key."""
    optional = {"since": since, "until": until, "intent_id": intent}
    query = {name: value for name, value in optional.items() if value is not None}
    if output is not None and output.exists() and not overwrite:
        _stop_at_file(output)
    with Client().lines("/v1/audit/export", query) as lines:
        try:
            last = _saved(output, lines, overwrite) if output is not None else _printed(lines)
        except FileExistsError:
            _stop_at_file(output)
        except OSError as failure:
            stop(f"{output or 'standard output'}: {failure.strerror}", 2)
    if not is_whole(last):
        stop("the export broke off before its end" + (f"; {output} was not written" if output else ""), 1)
    if output is not None:
        end = json.loads(last)
        size = size_text(output.stat().st_size)
        say(f"ok: {output}: {end['events']} events of {end['logs']} intents, {size}")


def _stop_at_file(output: Path | None) -> NoReturn:
    stop(f"{output} is there already: name another file, or say --overwrite", 2)


def _saved(output: Path, lines: Iterable[str], overwrite: bool) -> str:
    """Write them to a file; returns the last one."""
    with progress() as begin:
        return saved(output, _counted(lines, begin("Exporting", "lines")), overwrite)


def _counted(lines: Iterable[str], told: Advance) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        yield line
        told(number)


def _printed(lines: Iterable[str]) -> str:
    last = ""
    for last in lines:
        give(last)
    sys.stdout.flush()
    return last


@app.command()
def verify(
    file: Annotated[Path | None, typer.Option("--file", help="An export, or a file of the archive.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the first broken link: in the database, or in a file. Exit status: 0 all holds, 1 broken, 2 not checked."""
    client = Client(refused=2)
    try:
        with progress() as begin:
            told = begin("Verifying", "events" if file is None else BYTES)
            intents, events = _check_database(client, told) if file is None else _check_file(client, file, told)
    except BrokenTrail as found:
        _stop_as_broken(found.place, as_json=as_json)
    if as_json:
        give_json({"ok": True, "events": events, "intents": intents})
        return
    say(f"ok: {events} events of {intents} intents are what was written")


class BrokenTrail(Exception):
    """``place`` is the first place that does not hold, as the service tells it."""

    def __init__(self, place: dict[str, Any]) -> None:
        super().__init__(place["fault"])
        self.place = place


def _check_database(client: Client, told: Advance) -> tuple[int, int]:
    intents = events = 0
    query: dict[str, Any] = {}
    while True:
        checked = client.get("/v1/audit/verify", query)
        intents += checked["intents"]
        events += checked["events"]
        told(events)
        _raise_where_broken(checked["first_broken"])
        if checked["next_cursor"] is None:
            return intents, events
        query = {"cursor": checked["next_cursor"]}


def _check_file(client: Client, file: Path, told: Advance) -> tuple[int, int]:
    reached: dict[str, Any] | None = None
    read = 0
    try:
        size = file.stat().st_size
        for part in parts_of(file):
            body = {"lines": part.lines, "sha256": part.sha256, "progress": reached}
            checked = client.post("/v1/audit/verify", body)
            reached = checked["progress"]
            read += sum(len(line) + 1 for line in part.lines)
            told(read, size)
            _raise_where_broken(checked["first_broken"])
    except OSError as failure:
        stop(f"{file}: {failure.strerror}", 2)
    if reached is None or not reached["ended"]:
        raise BrokenTrail(INCOMPLETE)
    return reached["logs"], reached["events"]


def _raise_where_broken(broken: dict[str, Any] | None) -> None:
    if broken is not None:
        raise BrokenTrail(broken)


def _stop_as_broken(place: dict[str, Any], *, as_json: bool) -> NoReturn:
    if as_json:
        give_json({"ok": False, "first_broken": place})
    else:
        say(said_of(place))
    raise typer.Exit(1)


def said_of(broken: dict[str, Any]) -> str:
    """One line that names the place."""
    names = {"line": "line", "intent_id": "intent", "position": "position", "id": "event"}
    places = [f"{word} {one_line(str(broken[key]), 80)}" for key, word in names.items() if broken[key] is not None]
    return f"broken at {', '.join(places) or 'the end'}: {_WORDS[broken['fault']]}"
