"""Instants as people read them: UTC to the minute, and before it the wall's time where they are. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def told_at(at: datetime, zone: tzinfo | None = None) -> str:
    """``2026-11-21 12:00 UTC``; in a ``zone`` that differs ``2026-11-21 13:00 CET (12:00 UTC)``. The day stands
    twice where it is another one there.
    """
    utc = at.astimezone(UTC)
    there = utc if zone is None else utc.astimezone(zone)
    if not there.utcoffset():
        return f"{utc:%Y-%m-%d %H:%M} UTC"
    short = f"{utc:%H:%M}" if utc.date() == there.date() else f"{utc:%Y-%m-%d %H:%M}"
    return f"{there:%Y-%m-%d %H:%M} {_named(there)} ({short} UTC)"


def _named(there: datetime) -> str:
    """``CET``; ``UTC+05:45`` where the zone has no letters of its own."""
    name = there.tzname() or ""
    if name.isalpha():
        return name
    offset = f"{there:%z}"
    return f"UTC{offset[:3]}:{offset[3:5]}"
