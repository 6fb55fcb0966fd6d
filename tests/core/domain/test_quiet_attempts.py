"""When quiet attempts go out: in somebody's hours, in order, and never too late."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from core.domain.hours import quiet_times
from tests.core.examples import HOUR, START, after


def hours(*numbers: float) -> list[datetime]:
    return [after(hours=number) for number in numbers]


def test_an_attempt_waits_for_its_opening() -> None:
    assert quiet_times(hours(0, 1), [None, after(hours=1.2)], after(hours=1.5)) == tuple(hours(0, 1.2))


def test_nothing_waits_into_the_last_half_interval() -> None:
    assert quiet_times(hours(0, 1), [None, after(hours=9)], after(hours=1.5)) == tuple(hours(0, 1.5))


def test_an_attempt_that_would_wait_past_the_next_one_comes_to_its_time() -> None:
    assert quiet_times(hours(0, 1, 2), [None, after(hours=9), None], after(hours=2.5)) == tuple(hours(0, 2, 2))


def test_attempts_with_one_opening_come_together() -> None:
    opens = [None, *hours(5, 5, 5), None]
    assert quiet_times(hours(0, 2, 3, 4, 8), opens, after(hours=10)) == tuple(hours(0, 5, 5, 5, 8))


def test_without_an_end_an_attempt_waits_as_long_as_it_takes() -> None:
    assert quiet_times(hours(0), [after(hours=60)], None) == tuple(hours(60))


@given(opens=st.lists(st.none() | st.integers(-2, 60), min_size=1, max_size=12))
def test_times_never_go_back_nor_before_the_ladders_own_nor_past_the_last(opens: list[int | None]) -> None:
    due = [START + HOUR * n for n in range(len(opens))]
    latest = due[-1] + HOUR / 2
    times = quiet_times(due, [None if n is None else START + HOUR * n / 2 for n in opens], latest)
    assert list(times) == sorted(times)
    assert all(at >= own for at, own in zip(times, due, strict=True))
    assert times[-1] <= latest
    for at, own, opening in zip(times, due, opens, strict=True):
        assert at == own or opening is not None, "what is not quiet goes out at its own time"
        assert opening is None or at <= max(own, START + HOUR * opening / 2)
    assert quiet_times(due, [None] * len(due), latest) == tuple(due)
    assert timedelta(0) <= times[0] - due[0]
