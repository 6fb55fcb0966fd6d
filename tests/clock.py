"""A clock that stands until a test moves it, and a host's clock beside it that a test may set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 24, 10, 0, tzinfo=UTC)
"""T+0 of RFC-0026 §9."""


class ManualClock:
    """Implements :class:`core.ports.HostClock`. ``World.advance`` moves it and lets everything due happen."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return self._now

    def move_to(self, at: datetime) -> None:
        self._now = at

    def move_by(self, step: timedelta) -> None:
        self._now += step

    def is_set(self, by: timedelta) -> None:
        """Somebody sets the host's clock; the next beat finds it."""
        self._ahead += by

    def ahead(self, _shared: object = None) -> timedelta:
        """The time of a test is nobody else's: no database is asked."""
        return self._ahead

    def follow(self, by: timedelta) -> None:
        self._ahead -= by
        self._now += by
