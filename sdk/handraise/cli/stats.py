"""``handraise stats``: what was asked, how it ended, and how long answers took. The figures are the service's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from handraise.cli.arguments import AsJson
from handraise.cli.client import Client
from handraise.cli.terminal import give_bytes, give_json, one_line, say, warn
from handraise.csv_text import csv_text

_TIMES = ("answers", "median_seconds", "p90_seconds", "within_three_seconds")
_COLUMNS: Mapping[str, Sequence[str]] = {
    "days": ("day", "asked", "answered", "expired", "continued", "cancelled", "open"),
    "channels": ("channel", *_TIMES),
    "attempts": ("attempt", *_TIMES),
    "hours": ("weekday", "hour", *_TIMES[:3]),
    "people": ("person", *_TIMES),
    "deliveries": ("channel", "delivered", "failed", "waiting"),
}
_HEADS = {
    "median_seconds": "half within",
    "p90_seconds": "9 of 10 within",
    "within_three_seconds": "in 3 s",
    "expired": "not answered",
    "continued": "went on",
}
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONGEST = 40
"""Characters of a name in a table."""


class StatsOutput(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class StatsTable(StrEnum):
    DAYS = "days"
    CHANNELS = "channels"
    ATTEMPTS = "attempts"
    HOURS = "hours"
    PEOPLE = "people"
    DELIVERIES = "deliveries"


def stats(
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="How many days (30d), or the first day (2026-03-01).")
    ] = "30d",
    until: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="The last day (2026-03-31); today without it.")
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option("--time-zone", metavar="NAME", help="Of days and hours; by default yours, or UTC.")
    ] = None,
    table: Annotated[
        StatsTable | None, typer.Option("--table", help="Only this table. CSV is of one: days, if none is named.")
    ] = None,
    output: Annotated[StatsOutput, typer.Option("--output", help="How to print it.")] = StatsOutput.TABLE,
    as_json: AsJson = False,
) -> None:
    """Show figures: what was asked, how it ended, and how long answers took. For an operator's key."""
    query = {"since": since, "until": until, "time_zone": time_zone}
    found = Client().get("/v1/insights", {name: value for name, value in query.items() if value is not None})
    if table is StatsTable.PEOPLE and found["people"] is None:
        warn("handraise: the service shows no figures of single persons (insights.persons is off)")
        raise typer.Exit(1)
    if as_json or output is StatsOutput.JSON:
        give_json(found if table is None else found[table])
    elif output is StatsOutput.CSV:
        chosen = table or StatsTable.DAYS
        give_bytes(csv_text(_COLUMNS[chosen], found[chosen]).encode())
    else:
        _say_tables(found, [*StatsTable] if table is None else [table])
    if not found["is_whole"]:
        warn("questions that ended before an upgrade are still being counted: try again")
    if found["complete_from"] is not None and found["complete_from"] > found["since"]:
        warn(f"what ended before {found['complete_from']} may have moved out of the database, and is not counted")


def _say_tables(found: Mapping[str, Any], tables: Sequence[StatsTable]) -> None:
    first, last = found["days"][0]["day"], found["days"][-1]["day"]
    say(f"{first} to {last}, {found['time_zone']}")
    if StatsTable.DAYS in tables:
        for line in _summary(found):
            say(line)
    for one in tables:
        rows = found[one] or []
        if one is StatsTable.DAYS:
            rows = [row for row in rows if row["asked"]]  # days without a question say nothing
        if rows:
            say("")
            for line in table_lines(_COLUMNS[one], rows):
                say(line)


def _summary(found: Mapping[str, Any]) -> list[str]:
    days, answers = found["days"], found["answers"]
    asked, answered, expired, cancelled, waiting = (
        sum(day[name] for day in days) for name in ("asked", "answered", "expired", "cancelled", "open")
    )
    lines = [
        f"{asked} asked: {answered} answered, {expired} not answered in time, {cancelled} cancelled, {waiting} open"
    ]
    if answers["median_seconds"] is not None:
        half, most = took(answers["median_seconds"]), took(answers["p90_seconds"])
        quick = f"{answers['within_three_seconds']} within three seconds"
        lines.append(f"half of the answers within {half}, nine of ten within {most}, {quick}")
    elif answered:
        lines.append("too few answers, or of too few people, to say how long they took")
    return lines


def table_lines(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table in columns: texts to the left, numbers to the right. A dash is what is not shown."""
    cells = [[_HEADS.get(column, column) for column in columns]]
    cells += [[_told(column, row[column]) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            _padded(cell, width, place) for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _padded(cell: str, width: int, place: int) -> str:
    return cell.ljust(width) if place == 0 else cell.rjust(width)


def _told(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if column.endswith("_seconds") and column != "within_three_seconds":
        return took(value)
    if column == "weekday":
        return _WEEKDAYS[value - 1]
    return f"{value:02}:00" if column == "hour" else one_line(str(value), _LONGEST)


def took(seconds: float) -> str:
    """``0.4 s``, ``42 s``, ``3 min 5 s``, ``2 h 10 min``, ``3 d 4 h``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two(whole, 60, "min", 1, "s")
    return _two(whole, 3600, "h", 60, "min") if whole < 48 * 3600 else _two(whole, 86400, "d", 3600, "h")


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large} {large_unit}" + (f" {rest} {small_unit}" if rest else "")
