"""A clock that stands until somebody moves it, and durations as a test writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 24, 10, 0, tzinfo=UTC)
"""When every test begins: T+0 of RFC-0026 §9."""

Duration = str | timedelta | float
"""``"2h"``, ``"1h30m"``, a ``timedelta``, or seconds."""

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s*([dhms])\s*")


class ManualClock:
    """Implements :class:`core.ports.HostClock`: it shows what it was moved to."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def move_to(self, at: datetime) -> None:
        self._now = at

    def move_by(self, step: timedelta) -> None:
        self._now += step

    def ahead(self, _shared: object = None) -> timedelta:
        """The time of a test is nobody else's: no database is asked, and no host."""
        return timedelta(0)

    def follow(self, by: timedelta) -> None:
        self._now += by


def parse_duration(given: Duration) -> timedelta:
    """Raises :class:`ValueError` for what is no duration, or a negative one."""
    if isinstance(given, timedelta):
        found = given
    elif isinstance(given, str):
        found = _parse_text(given)
    elif isinstance(given, int | float) and not isinstance(given, bool):
        found = timedelta(seconds=given)
    else:
        raise ValueError(_refusal(given))
    if found < timedelta(0):
        raise ValueError(f"{given!r} is negative: time only goes on.")
    return found


def _parse_text(text: str) -> timedelta:
    parts = list(_PARTS.finditer(text.strip()))
    if not parts or "".join(part[0] for part in parts) != text.strip():
        raise ValueError(_refusal(text))
    return sum((timedelta(**{_UNITS[part[2]]: float(part[1])}) for part in parts), timedelta(0))


def _refusal(given: object) -> str:
    return f'{given!r} is no duration: write "2h", "90m", "1h30m", "20s", "3d", a timedelta, or seconds.'


def told(span: timedelta) -> str:
    """As a test would write it: ``1h30m``, ``0s``."""
    left, words = span.total_seconds(), ""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        count, left = divmod(left, size)
        words += f"{count:g}{unit}" if count else ""
    return words + (f"{left:g}s" if left or not words else "")
