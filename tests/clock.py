"""A clock that stands until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 24, 10, 0, tzinfo=UTC)
"""T+0 of RFC-0026 §9."""


class ManualClock:
    """Implements :class:`core.ports.Clock`. ``World.advance`` moves it and lets everything due happen."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def move_to(self, at: datetime) -> None:
        self._now = at

    def move_by(self, step: timedelta) -> None:
        self._now += step
