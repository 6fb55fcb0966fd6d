"""Working hours in somebody's own time zone, over every trick of their wall's clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.hours import A_DAY, Hours, Span, parse_week

MINUTE = timedelta(minutes=1)
BERLIN = "Europe/Berlin"


def hours(zone: str = BERLIN, holidays: tuple[date, ...] = (), **week: str) -> Hours:
    return Hours(ZoneInfo(zone), parse_week(week), frozenset(holidays))


def office(*holidays: date, zone: str = BERLIN) -> Hours:
    return Hours(ZoneInfo(zone), parse_week({"mon-fri": "09:00-12:00, 13:00-17:30"}), frozenset(holidays))


def at(text: str, zone: str = BERLIN) -> datetime:
    """What the wall shows there."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


@pytest.mark.parametrize(
    ("asked", "opens"),
    [
        ("2026-03-24T10:00", "2026-03-24T10:00"),
        ("2026-03-24T08:59", "2026-03-24T09:00"),
        ("2026-03-24T12:00", "2026-03-24T13:00"),
        ("2026-03-24T17:30", "2026-03-25T09:00"),
        ("2026-03-27T17:30", "2026-03-30T09:00"),
        ("2026-03-28T12:00", "2026-03-30T09:00"),
    ],
)
def test_the_next_opening_is_now_or_when_the_next_span_begins(asked: str, opens: str) -> None:
    assert office().opening(at(asked)) == at(opens)


def test_a_holiday_is_free_all_day() -> None:
    assert office(date(2026, 12, 24), date(2026, 12, 25)).opening(at("2026-12-24T10:00")) == at("2026-12-28T09:00")


def test_the_hours_are_those_of_the_persons_place() -> None:
    asked = datetime(2026, 3, 24, 12, 0, tzinfo=UTC)
    assert office(zone="America/New_York").opening(asked) == datetime(2026, 3, 24, 13, 0, tzinfo=UTC)
    assert office(zone="Asia/Tokyo").opening(asked) == datetime(2026, 3, 25, 0, 0, tzinfo=UTC)


def test_an_opening_that_the_clock_jumps_over_is_when_it_lands() -> None:
    sundays = hours(sun="02:30-06:00")
    opens = sundays.opening(at("2026-03-29T01:00"))
    assert opens == at("2026-03-29T03:00") == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def test_a_span_that_the_clock_jumps_over_is_no_opening() -> None:
    assert hours(sun="02:10-02:50").opening(at("2026-03-29T01:00")) == at("2026-04-05T02:10")


def test_what_the_wall_shows_twice_opens_twice() -> None:
    sundays = hours(sun="02:00-02:30")
    first = datetime(2026, 10, 25, 0, 0, tzinfo=UTC)
    assert sundays.opening(first - MINUTE) == first
    assert sundays.opening(first + timedelta(minutes=30)) == first + timedelta(hours=1)


def test_a_clock_put_back_into_a_span_opens_it_again() -> None:
    sundays = hours(sun="01:00-02:30")
    back = datetime(2026, 10, 25, 1, 0, tzinfo=UTC)
    assert sundays.opening(back - timedelta(minutes=20)) == back


def test_whoever_never_works_has_no_opening() -> None:
    free = tuple(date(2026, 1, 1) + timedelta(days=n) for n in range(1000))
    assert office(*free).opening(at("2026-03-24T10:00")) is None


SPANS = st.lists(st.integers(0, 30) | st.integers(0, A_DAY // 10), min_size=2, max_size=4, unique=True).map(
    lambda ends: tuple(zip(*[iter(sorted(n * 10 for n in ends))] * 2, strict=False))
)
WEEKS = st.dictionaries(st.integers(0, 6), SPANS, min_size=1, max_size=7)
ZONES = st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu"])
CHANGING = [(3, 8), (3, 29), (4, 4), (4, 5), (9, 5), (9, 6), (10, 3), (10, 4), (10, 25), (11, 1)]
"""Days of 2026 on which one of these zones puts its clocks."""


@pytest.mark.slow
@given(zone=ZONES, week=WEEKS, day=st.sampled_from(CHANGING), minutes=st.integers(-1500, 1500))
@settings(max_examples=3 * settings.default.max_examples, deadline=None)
def test_the_opening_is_the_first_minute_that_is_open_whatever_the_clocks_do(
    zone: str, week: dict[int, tuple[Span, ...]], day: tuple[int, int], minutes: int
) -> None:
    person = Hours(ZoneInfo(zone), week)
    asked = datetime(2026, *day, tzinfo=UTC) + minutes * MINUTE
    opens = person.opening(asked)
    assert opens is not None, "a week has one"
    assert opens >= asked
    assert person.is_open(opens)
    between = min((opens - asked) // MINUTE, 3000)
    assert not any(person.is_open(opens - n * MINUTE) for n in range(1, between + 1))


@pytest.mark.parametrize(
    ("week", "what"),
    [
        ({}, "name at least one day"),
        ({"monday": "09:00-17:00"}, "name days as mon, tue"),
        ({"fri-mon": "09:00-17:00"}, "name days as mon, tue"),
        ({"mon-fri": "09:00-17:00", "wed": "10:00-11:00"}, "name each day once"),
        ({"mon": "9-17"}, "have times such as"),
        ({"mon": ""}, "have times such as"),
        ({"mon": "24:30-24:40"}, "have times within one day"),
        ({"mon": "22:00-06:00"}, "have times within one day"),
        ({"mon": "09:00-12:00, 11:00-13:00"}, "have times within one day"),
    ],
)
def test_what_is_not_hours_is_refused_with_what_is(week: dict[str, str], what: str) -> None:
    with pytest.raises(ValueError, match=f"^must {what}"):
        parse_week(week)


def test_days_may_be_listed_and_ranged() -> None:
    assert parse_week({"mon,wed-thu": "00:00-24:00"}) == dict.fromkeys((0, 2, 3), ((0, A_DAY),))
