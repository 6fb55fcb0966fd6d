"""Opening hours: when a person is at work, and which attempts of a ladder wait for it. Pure.

Hours are days and times in the person's own time zone, except on holidays:
``{"mon-fri": "09:00-12:00, 13:00-17:30", "sat": "10:00-12:00"}``. A day that is not named is free. Times are local:
if a clock is put forward over an opening, the day opens at the first moment that exists. If it is put back, the
repeated hour counts twice.

:func:`quiet_times` computes when attempts go out if some of them are quiet outside working hours.

Source: docs/decisions/0008-quiet-hours.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
A_DAY = 24 * 60
Span = tuple[int, int]
"""From the first minute of the day to before the second."""

_SPAN = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])")
_SECOND = timedelta(seconds=1)
_AROUND = timedelta(hours=3)
"""So far outside its day a change of the clock is looked for, since it may move midnight."""

_FARTHEST = 400
"""Days ahead that are searched: beyond a year there is no next opening."""


@dataclass(frozen=True, slots=True)
class Hours:
    """One person's hours. ``week`` holds the spans of each day, 0 for Monday; ``holidays`` are free all day."""

    zone: ZoneInfo
    week: Mapping[int, tuple[Span, ...]]
    holidays: frozenset[date] = field(default_factory=frozenset)

    def is_open(self, at: datetime) -> bool:
        local = at.astimezone(self.zone)
        minute = local.hour * 60 + local.minute
        return any(start <= minute < end for start, end in self._spans(local.date()))

    def opening(self, at: datetime) -> datetime | None:
        """The first instant from ``at`` on at which it is open, ``at`` itself if it is; ``None`` if there is none
        within a year."""
        if self.is_open(at):
            return at
        today = at.astimezone(self.zone).date()
        for days in range(-1, _FARTHEST):
            day = today + timedelta(days=days)
            found = [opens for opens in self._openings(day) if opens > at and self._is_open_on(day, opens)]
            if found:
                return min(found)
        return None

    def _is_open_on(self, day: date, at: datetime) -> bool:
        return at.astimezone(self.zone).date() == day and self.is_open(at)

    def _spans(self, day: date) -> tuple[Span, ...]:
        return () if day in self.holidays else self.week.get(day.weekday(), ())

    def _openings(self, day: date) -> Iterator[datetime]:
        """Every instant of ``day`` at which a span may begin: by the local time, and where the clock is changed."""
        for start, _end in self._spans(day):
            wall = datetime.combine(day, time(start // 60, start % 60), self.zone)
            yield from (wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
        if (change := self._change(day)) is not None:
            yield change

    def _change(self, day: date) -> datetime | None:
        """When the local clock is put forward or back, about that day."""
        midnight = datetime.combine(day, time(), self.zone).astimezone(UTC)
        before, behind = midnight - _AROUND, midnight + _AROUND + timedelta(days=1)
        offset = before.astimezone(self.zone).utcoffset()
        if behind.astimezone(self.zone).utcoffset() == offset:
            return None
        while behind - before > _SECOND:
            middle = before + (behind - before) // 2 // _SECOND * _SECOND
            if middle.astimezone(self.zone).utcoffset() == offset:
                before = middle
            else:
                behind = middle
        return behind


def parse_week(written: Mapping[str, str]) -> dict[int, tuple[Span, ...]]:
    """The spans of each day. Raises ``ValueError``, whose text follows the word "must"."""
    week: dict[int, tuple[Span, ...]] = {}
    for days, times in written.items():
        spans = _spans(times)
        for day in _days(days):
            if day in week:
                raise ValueError(f"must name each day once ({DAYS[day]} is named twice)")
            week[day] = spans
    if not week:
        raise ValueError("must name at least one day, such as mon-fri")
    return week


def _days(text: str) -> Iterator[int]:
    """``mon``, ``mon-fri`` or ``mon,wed``."""
    for part in text.lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS or DAYS.index(last or first) < DAYS.index(first):
            raise ValueError(f"must name days as {', '.join(DAYS)}, as mon-fri or as mon,wed")
        yield from range(DAYS.index(first), DAYS.index(last or first) + 1)


def _spans(text: str) -> tuple[Span, ...]:
    """``09:00-17:30``, or several with commas, in order and apart."""
    spans: list[Span] = []
    for part in text.replace(" ", "").split(","):
        found = _SPAN.fullmatch(part)
        if found is None:
            raise ValueError('must have times such as "09:00-17:30" or "09:00-12:00, 13:00-17:30", in quotes')
        start, end = (int(found[n]) * 60 + int(found[n + 1]) for n in (1, 3))
        if not start < end <= A_DAY or (spans and start < spans[-1][1]):
            message = "must have times within one day, in order and apart (a night is two: 22:00-24:00 and 00:00-06:00)"
            raise ValueError(message)
        spans.append((start, end))
    return tuple(spans)


def quiet_times(
    due: Sequence[datetime], opens: Sequence[datetime | None], latest: datetime | None
) -> tuple[datetime, ...]:
    """When each attempt goes out: at its opening if it has one, but never after the attempt that follows, and the last
    never after ``latest``.

    ``due`` are the ladder's own times, in ascending order. Attempts at the same time are one: only the last of them is
    sent, and it names the others. So nobody waits for another person's morning.
    """
    times: list[datetime] = []
    following = latest
    for own, opening in zip(reversed(due), reversed(opens), strict=True):
        at = own if opening is None else max(own, opening)
        if following is not None:
            at = max(own, min(at, following))
        times.append(at)
        following = at
    return tuple(reversed(times))
