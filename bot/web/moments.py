"""Instants as people read them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core.domain.wire import instant

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant beside ``now``: ``iso`` for machines, ``utc`` and ``span`` for people."""

    iso: str
    utc: str
    span: str
    is_past: bool
    is_soon: bool


def moment(at: datetime, now: datetime) -> Moment:
    """``span`` is how far away it is, either way; soon is less than a quarter of an hour ahead."""
    ahead = at - now
    return Moment(
        iso=instant(at),
        utc=f"{at:%Y-%m-%d %H:%M} UTC",
        span=span(abs(ahead)),
        is_past=ahead <= timedelta(),
        is_soon=timedelta() < ahead < 15 * _MINUTE,
    )


def span(length: timedelta) -> str:
    """``less than a minute``, ``42 min``, ``3 h 20 min``, ``2 days 5 h``; rounded down."""
    if length < _MINUTE:
        return "less than a minute"
    if length < _HOUR:
        return f"{length // _MINUTE} min"
    if length < 2 * _DAY:
        return _two(length // _HOUR, "h", length % _HOUR // _MINUTE, "min")
    return _two(length // _DAY, "days", length % _DAY // _HOUR, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = f" {small} {small_unit}" if small else ""
    return f"{large} {large_unit}{rest}"
