"""Charts: from figures to places in a drawing, which a template writes as SVG. Pure.

A part is told by its place and its pattern, a size by its length: nothing by colour alone. Units are those of the
drawing's ``viewBox``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from core.domain.insights import DayCounts, WeekHour

WIDTH, HEIGHT = 600, 250
_LEFT, _TOP, _BOTTOM = 40, 18, 215
_GRID = 5
"""Lines of the grid, at most."""
_DATES = 4
"""Dates below the days, about."""
LEVELS = 5
_CELL = 22
_FIRST_COLUMN, _FIRST_ROW = 44, 26


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """A piece of a column. ``kind`` is what it counts: ``answered``, ``expired``, ``cancelled`` or ``open``."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """One day."""

    x: float
    width: float
    parts: Sequence[ColumnPart]
    told: str


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A text at a place along an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class DayChart:
    """A column for each day, of what became of its questions; ``lines`` are of the grid."""

    columns: Sequence[Column]
    lines: Sequence[AxisMark]
    dates: Sequence[AxisMark]
    left: float = _LEFT
    bottom: float = _BOTTOM
    width: float = WIDTH
    height: float = HEIGHT


def day_chart(days: Sequence[DayCounts]) -> DayChart:
    most = max((one.asked for one in days), default=0)
    step = _step(most)
    top = max(step, math.ceil(most / step) * step)
    scale = (_BOTTOM - _TOP) / top
    room = (WIDTH - _LEFT) / max(len(days), 1)
    columns = [_column(one, _LEFT + number * room, room, scale) for number, one in enumerate(days)]
    lines = [AxisMark(_BOTTOM - value * scale, str(value)) for value in range(0, top + 1, step)]
    every = max(1, math.ceil(len(days) / _DATES))
    dates = [
        AxisMark(_LEFT + (number + 0.5) * room, short_date(one.day))
        for number, one in enumerate(days)
        if number % every == 0
    ]
    return DayChart(columns, lines, dates)


def _column(one: DayCounts, x: float, room: float, scale: float) -> Column:
    gap = min(3.0, room * 0.2)
    parts, y = list[ColumnPart](), float(_BOTTOM)
    counts = {"answered": one.answered, "expired": one.expired, "cancelled": one.cancelled, "open": one.open}
    for kind, count in counts.items():
        if count:
            y -= count * scale
            parts.append(ColumnPart(kind, round(y, 2), round(count * scale, 2)))
    told = f"{short_date(one.day)}: {one.asked} asked, {one.answered} answered, {one.expired} not answered"
    told += f", {one.cancelled} cancelled" if one.cancelled else ""
    told += f", {one.open} open" if one.open else ""
    return Column(round(x + gap / 2, 2), round(room - gap, 2), parts, told)


def _step(most: int) -> int:
    """How far the lines of the grid lie apart: 1, 2 or 5, or ten times as much, and so on."""
    size = 1
    while True:
        for one in (1, 2, 5):
            if most <= one * size * (_GRID - 1):
                return one * size
        size *= 10


@dataclass(frozen=True, slots=True)
class HourCell:
    """An hour of the week. The longer its median, the larger the square; ``level`` is from 1 to :data:`LEVELS`."""

    x: float
    y: float
    side: float
    level: int
    told: str


@dataclass(frozen=True, slots=True)
class WeekChart:
    """Seven rows of 24 hours. ``empty`` are the middles of hours without figures."""

    cells: Sequence[HourCell]
    empty: Sequence[tuple[float, float]]
    rows: Sequence[AxisMark]
    columns: Sequence[AxisMark]
    width: float = _FIRST_COLUMN + 24 * _CELL
    height: float = _FIRST_ROW + 7 * _CELL


WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def week_chart(hours: Sequence[WeekHour]) -> WeekChart:
    medians = {(one.weekday, one.hour): one.times.median for one in hours if one.times.median is not None}
    longest = max(medians.values(), default=timedelta())
    cells = [_cell(weekday, hour, median, longest) for (weekday, hour), median in sorted(medians.items())]
    empty = [
        (_FIRST_COLUMN + (hour + 0.5) * _CELL, _FIRST_ROW + (weekday - 0.5) * _CELL)
        for weekday in range(1, 8)
        for hour in range(24)
        if (weekday, hour) not in medians
    ]
    rows = [AxisMark(_FIRST_ROW + (number + 0.5) * _CELL, name) for number, name in enumerate(WEEKDAYS)]
    columns = [AxisMark(_FIRST_COLUMN + (hour + 0.5) * _CELL, f"{hour}") for hour in range(0, 24, 3)]
    return WeekChart(cells, empty, rows, columns)


def _cell(weekday: int, hour: int, median: timedelta, longest: timedelta) -> HourCell:
    level = level_of(median, longest)
    side = (_CELL - 2) * (0.3 + 0.7 * level / LEVELS)
    middle_x, middle_y = _FIRST_COLUMN + (hour + 0.5) * _CELL, _FIRST_ROW + (weekday - 0.5) * _CELL
    told = f"{hour_told(weekday, hour)}: half within {took(median)}"
    return HourCell(round(middle_x - side / 2, 2), round(middle_y - side / 2, 2), round(side, 2), level, told)


def level_of(median: timedelta, longest: timedelta) -> int:
    """From 1 to :data:`LEVELS`, along the logarithm: a minute and an hour differ as much as an hour and 60 do."""
    if longest <= timedelta():
        return 1
    share = math.log1p(median.total_seconds()) / math.log1p(longest.total_seconds())
    return min(LEVELS, max(1, math.ceil(share * LEVELS)))


def bar(length: timedelta | None, longest: timedelta) -> float:
    """Percent of a line that is as long as ``longest``; a length that is there is never nothing."""
    if length is None or longest <= timedelta():
        return 0
    return round(max(1.0, 100 * (length / longest)), 1)


# --- Words ------------------------------------------------------------------------------------------------------------


def took(length: timedelta | None) -> str:
    """``0.4 s``, ``42 s``, ``3 min 5 s``, ``2 h 10 min``, ``3 d 4 h``; a dash for nothing."""
    if length is None:
        return "–"
    seconds = length.total_seconds()
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two(whole, 60, "min", 1, "s")
    if whole < 48 * 3600:
        return _two(whole, 3600, "h", 60, "min")
    return _two(whole, 86400, "d", 3600, "h")


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large} {large_unit}" + (f" {rest} {small_unit}" if rest else "")


def short_date(day: date) -> str:
    """``24 Mar``."""
    return f"{day.day} {day:%b}"


def hour_told(weekday: int, hour: int) -> str:
    """``Mon 09:00``."""
    return f"{WEEKDAYS[weekday - 1]} {hour:02}:00"
