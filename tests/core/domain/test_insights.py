"""Periods, quantiles, and which groups are large enough to be shown."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.insights import (
    LEAST_ANSWERS,
    LEAST_PEOPLE,
    DayCounts,
    HowEnded,
    Period,
    day_counts,
    how_ended,
    places,
    quantiles,
    read_period,
    shown_groups,
)
from core.domain.suspension import Ended, Status
from core.errors import InvalidRequest

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 31, 22, 30, tzinfo=UTC)
"""1 April in Berlin."""


def test_the_last_days_include_today_in_the_readers_zone() -> None:
    assert read_period("7d", None, NOW, BERLIN) == Period(date(2026, 3, 26), date(2026, 4, 1), BERLIN)
    assert read_period(None, None, NOW, UTC) == Period(date(2026, 3, 2), date(2026, 3, 31), UTC)
    assert read_period("3d", "2026-03-10", NOW, UTC) == Period(date(2026, 3, 8), date(2026, 3, 10), UTC)
    assert read_period("2026-03-01", "2026-12-31", NOW, UTC).last == date(2026, 3, 31)
    assert len(read_period("366d", "", NOW, UTC).days) == 366


WRONG = ("0d", "d", "-3d", "30", "1e9d", "²d", "2026-3-1", "2026-03-32", "0001-01-01", "367d")


@pytest.mark.parametrize("since", WRONG)
def test_a_wrong_beginning_says_what_is_taken(since: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^since: "):
        read_period(since, None, NOW, UTC)


def test_clocks_that_change_have_two_offsets() -> None:
    spring = Period(date(2026, 3, 1), date(2026, 3, 31), BERLIN)
    change = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert spring.offsets == [(spring.since, timedelta(hours=1)), (change, timedelta(hours=2))]
    year = Period(date(2026, 1, 1), date(2026, 12, 31), BERLIN)
    assert [at for at, _ in year.offsets[1:]] == [change, datetime(2026, 10, 25, 1, tzinfo=UTC)]
    assert (spring.until - spring.since) == timedelta(days=31, hours=-1)


def test_a_day_whose_midnight_is_skipped_begins_at_the_change() -> None:
    """In Cairo the clocks went from 00:00 to 01:00 on 24 April 2026."""
    cairo = Period(date(2026, 4, 24), date(2026, 4, 24), ZoneInfo("Africa/Cairo"))
    assert cairo.since == datetime(2026, 4, 23, 22, tzinfo=UTC)
    assert cairo.until - cairo.since == timedelta(hours=23)
    assert cairo.offsets == [(cairo.since, timedelta(hours=3))]


ZONES = ("Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe", "America/St_Johns", "UTC")
SECONDS = st.integers(0, 366 * 86_400)


@given(st.dates(date(2000, 1, 1), date(2036, 1, 1)), st.integers(1, 366), st.sampled_from(ZONES), SECONDS)
def test_the_offsets_are_those_of_the_zone_at_every_second(first: date, days: int, zone: str, second: int) -> None:
    period = Period(first, first + timedelta(days=days - 1), ZoneInfo(zone))
    at = min(period.since + timedelta(seconds=second), period.until - timedelta(seconds=1))
    offset = [ahead for begins, ahead in period.offsets if begins <= at][-1]
    assert offset == at.astimezone(ZoneInfo(zone)).utcoffset()


def test_silence_that_goes_on_is_told_from_an_error() -> None:
    at = NOW
    assert how_ended(Status.EXPIRED, Ended(at, "deny")) is HowEnded.CONTINUED
    assert how_ended(Status.EXPIRED, Ended(at, error="input_timeout")) is HowEnded.FAILED
    assert how_ended(Status.RESPONDED, Ended(at, "yes", "a@example.com")) is HowEnded.ANSWERED
    assert how_ended(Status.CANCELLED, Ended(at)) is HowEnded.CANCELLED
    assert how_ended(Status.AWAITING, None) is None


def test_the_parts_of_a_day_add_up_to_what_was_asked() -> None:
    day = date(2026, 3, 1)
    counted = {(day, HowEnded.ANSWERED): 5, (day, HowEnded.CONTINUED): 2, (day, HowEnded.FAILED): 1, (day, None): 4}
    first, second = day_counts(Period(day, date(2026, 3, 2), UTC), counted)
    assert first == DayCounts(day, asked=12, answered=5, expired=3, continued=2, cancelled=0, open=4)
    assert second.asked == 0


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=40))
def test_quantiles_are_those_of_percentile_cont(given_seconds: list[int]) -> None:
    """By its definition: at ``(n - 1) * fraction``, between the two values around it."""
    ordered = [timedelta(seconds=one) for one in sorted(given_seconds)]
    found = quantiles(len(ordered), {place: ordered[place] for place in places(len(ordered))})
    for value, tenths in ((found.median, 5), (found.p90, 9)):
        place, rest = divmod((len(ordered) - 1) * tenths, 10)
        above = ordered[min(place + 1, len(ordered) - 1)]
        assert abs(value - (ordered[place] + (above - ordered[place]) * rest / 10)) <= timedelta(microseconds=1)


GROUPS = st.dictionaries(st.integers(0, 5), st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 9), min_size=1))


@given(GROUPS)
def test_what_is_shown_and_what_is_left_out_are_both_large(groups: dict[int, dict[str, int]]) -> None:
    shown = set(shown_groups(groups))
    left_out = [answers for key, answers in groups.items() if key not in shown]
    for together in [*([groups[key]] for key in shown), *([left_out] if left_out and shown else [])]:
        assert sum(sum(answers.values()) for answers in together) >= LEAST_ANSWERS
        assert len({person for answers in together for person in answers}) >= LEAST_PEOPLE


def test_large_groups_alone_are_all_shown() -> None:
    large = {"a": 2, "b": 2, "c": 1}
    assert set(shown_groups({1: large, 2: large})) == {1, 2}
    assert set(shown_groups({1: large, 2: {"a": 9}})) == set()
    assert set(shown_groups({1: large, 2: {"d": 2, "e": 1}, 3: {"f": 2}})) == {1}
