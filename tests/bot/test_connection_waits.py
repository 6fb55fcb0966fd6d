"""How long is waited before the next try of something that is away."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

from bot.inbound.connection import pauses


def test_each_pause_is_twice_the_last_up_to_the_longest() -> None:
    assert list(islice(pauses(timedelta(minutes=1)), 8)) == [1, 2, 4, 8, 16, 32, 60, 60]


def test_what_is_away_for_days_is_still_tried() -> None:
    """Two to the power of the number of tries is too large a number after seventeen hours of a minute each."""
    assert set(islice(pauses(timedelta(minutes=1)), 5_000)) == {1, 2, 4, 8, 16, 32, 60}
