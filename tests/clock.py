"""A clock that stands until a test moves it, and a host's clock beside it that a test may set."""

from __future__ import annotations

from datetime import datetime, timedelta

from handraise_testing.clock import START
from handraise_testing.clock import ManualClock as StandingClock

__all__ = ["START", "ManualClock"]


class ManualClock(StandingClock):
    """``World.advance`` moves it and lets everything due happen."""

    def __init__(self, start: datetime = START) -> None:
        super().__init__(start)
        self._ahead = timedelta(0)

    def is_set(self, by: timedelta) -> None:
        """Somebody sets the host's clock; the next beat finds it."""
        self._ahead += by

    def ahead(self, _shared: object = None) -> timedelta:
        return self._ahead

    def follow(self, by: timedelta) -> None:
        self._ahead -= by
        super().follow(by)
