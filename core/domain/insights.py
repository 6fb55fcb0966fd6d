"""Insights: what figures are made of. A period of whole days, how a question has ended, how long answers took, and
which groups are large enough to be shown while single persons must not be told apart. Pure.

A question counts on the day on which it was asked, whenever it ended: of each day, the answered, the expired, the
cancelled and the open ones are as many as were asked.

Source: docs/decisions/0123.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import TypeVar

from core.domain.suspension import Ended, Status
from core.errors import InvalidRequest

K = TypeVar("K")

LONGEST = 366
"""Days of a period, both ends included."""
USUAL = "30d"
FIRST_DAY = date(2000, 1, 1)
QUICK = timedelta(seconds=3)
"""Whoever answers within it has hardly read the question."""
LEAST_ANSWERS, LEAST_PEOPLE = 5, 3
"""How many answers a group has, and of how many people, before anything is said of it that could be about one."""

_A_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_DAYS = re.compile(r"([1-9][0-9]{0,2})d", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class HowEnded(StrEnum):
    """How a question has ended, for whoever counts."""

    ANSWERED = "answered"
    CONTINUED = "continued"
    """Nobody answered, and the agent went on: with the fallback, or since nobody objected to a veto."""
    FAILED = "failed"
    """Nobody answered, and the agent got an error."""
    CANCELLED = "cancelled"


def how_ended(status: Status, ended: Ended | None) -> HowEnded | None:
    """``None`` while it is open."""
    if ended is None or status is Status.AWAITING:
        return None
    if status is Status.EXPIRED:
        return HowEnded.CONTINUED if ended.error is None else HowEnded.FAILED
    return HowEnded.ANSWERED if status is Status.RESPONDED else HowEnded.CANCELLED


# --- The period -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Period:
    """Whole days of ``zone``, ``first`` to ``last``."""

    first: date
    last: date
    zone: tzinfo

    @property
    def since(self) -> datetime:
        """When the first day begins."""
        return _midnight(self.first, self.zone)

    @property
    def until(self) -> datetime:
        """When the last day is over."""
        return _midnight(self.last + _A_DAY, self.zone)

    @property
    def days(self) -> Sequence[date]:
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]

    @property
    def offsets(self) -> Sequence[tuple[datetime, timedelta]]:
        """By how much the zone's clocks are ahead of UTC: each of these from that instant on, until the next. There are
        several if the clocks change within the period."""
        found = [(self.since, _ahead(self.since, self.zone))]
        before = self.since
        while before < self.until:
            following = min(before + _A_DAY, self.until)
            if _ahead(following, self.zone) != found[-1][1]:
                found.append((_change(before, following, self.zone), _ahead(following, self.zone)))
            before = following
        return found


def read_period(since: str | None, until: str | None, now: datetime, zone: tzinfo) -> Period:
    """The period that a link names. ``since`` is a number of days (``30d``: the last 30, ``until``'s included) or the
    first day (``2026-03-01``); ``until`` the last day, today if it is not said or has not come yet.

    Raises :class:`InvalidRequest`, which names the field.
    """
    today = now.astimezone(zone).date()
    last = today if not until else min(_read_day(until, "until"), today)
    days = _DAYS.fullmatch(since or USUAL)
    first = last - timedelta(days=int(days[1]) - 1) if days else _read_day(since or "", "since")
    if first > last:
        raise InvalidRequest(f"since: this day is after {last}, the last one.", path="since")
    if (last - first).days >= LONGEST:
        raise InvalidRequest(f"since: at most {LONGEST} days are counted at once.", path="since")
    return Period(first, last, zone)


def _read_day(text: str, field: str) -> date:
    try:
        day = date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None or day < FIRST_DAY:
        or_days = "a number of days such as 30d, or " if field == "since" else ""
        raise InvalidRequest(f"{field}: write {or_days}a day such as 2026-03-01.", path=field)
    return day


def _midnight(day: date, zone: tzinfo) -> datetime:
    """The first moment of the day. If the clocks skip midnight, that is the moment of the change."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _ahead(at: datetime, zone: tzinfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The second at which the clocks change between the two."""
    offset = _ahead(after, zone)
    while after - before > _SECOND:
        middle = before + (after - before) // 2 // _SECOND * _SECOND
        before, after = (before, middle) if _ahead(middle, zone) == offset else (middle, after)
    return after


# --- Figures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quantiles:
    """How long answers took. ``median``: half of them came within it; ``p90``: nine of ten did."""

    count: int
    median: timedelta
    p90: timedelta


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Of a group of answers. A group that is too small to be shown has ``None`` for all of it (:func:`shown_groups`);
    ``quick`` is how many came within :data:`QUICK`."""

    answers: int | None = None
    median: timedelta | None = None
    p90: timedelta | None = None
    quick: int | None = None


@dataclass(frozen=True, slots=True)
class DayCounts:
    """What became of the questions that were asked on one day. ``expired`` are those that nobody answered,
    ``continued`` those of them after which the agent went on without an answer."""

    day: date
    asked: int = 0
    answered: int = 0
    expired: int = 0
    continued: int = 0
    cancelled: int = 0
    open: int = 0


@dataclass(frozen=True, slots=True)
class WeekHour:
    """Answers to questions that were asked in one hour of the week; ``weekday`` is 1 for Monday to 7."""

    weekday: int
    hour: int
    times: AnswerTimes


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """Messages of one channel: notices, or callbacks to agents. ``waiting`` are neither delivered nor given up yet."""

    channel: str
    delivered: int
    failed: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Figures:
    """``people`` is ``None`` unless single persons may be told apart. What ended before ``complete_from`` may have
    moved into files, and is not counted; ``None`` if nothing ever does. ``is_whole``: everything that has ended is
    counted by now."""

    period: Period
    days: Sequence[DayCounts]
    times: AnswerTimes
    channels: Mapping[str, AnswerTimes]
    attempts: Mapping[int, AnswerTimes]
    hours: Sequence[WeekHour]
    people: Mapping[str, AnswerTimes] | None
    deliveries: Sequence[DeliveryCounts]
    complete_from: datetime | None
    is_whole: bool

    @property
    def is_empty(self) -> bool:
        return not self.deliveries and not any(day.asked for day in self.days)


def day_counts(period: Period, counted: Mapping[tuple[date, HowEnded | None], int]) -> Sequence[DayCounts]:
    """Every day of the period, in order, from how many questions of a day have ended in each way."""
    found = []
    for day in period.days:
        ended = {how: counted.get((day, how), 0) for how in (*HowEnded, None)}
        found.append(
            DayCounts(
                day,
                sum(ended.values()),
                ended[HowEnded.ANSWERED],
                ended[HowEnded.CONTINUED] + ended[HowEnded.FAILED],
                ended[HowEnded.CONTINUED],
                ended[HowEnded.CANCELLED],
                ended[None],
            )
        )
    return found


def places(count: int) -> Collection[int]:
    """Which of ``count`` values in order :func:`quantiles` needs; 0 is the first."""
    last = count - 1
    return {last // 2, count // 2, 9 * last // 10, (9 * last + 9) // 10}


def quantiles(count: int, values: Mapping[int, timedelta]) -> Quantiles:
    """Of ``count`` values in order, as ``percentile_cont`` of SQL has them: between the two around the middle, and the
    two around nine tenths of the way from the first to the last. ``values`` are those of :func:`places`."""
    last = count - 1
    low, high = values[9 * last // 10], values[(9 * last + 9) // 10]
    median = (values[last // 2] + values[count // 2]) / 2
    return Quantiles(count, median, low + (high - low) * (9 * last % 10) / 10)


# --- Who must not be told apart ---------------------------------------------------------------------------------------


def shown_groups(groups: Mapping[K, Mapping[str, int]]) -> Collection[K]:
    """The groups that may be shown if no single person may be told apart. Each says how many answers of whom it has.

    A group needs :data:`LEAST_ANSWERS` of :data:`LEAST_PEOPLE`. What is left out can be had as the difference to the
    sum, so all that is left out needs as many together: if it has not, the smallest of the others is left out too.
    """
    shown = sorted((key for key, answers in groups.items() if _is_large(answers)), key=lambda key: _size(groups[key]))
    left_out = [answers for key, answers in groups.items() if key not in shown]
    while left_out and shown and not _is_large(_together(left_out)):
        left_out.append(groups[shown.pop(0)])
    return shown


def _is_large(answers: Mapping[str, int]) -> bool:
    return _size(answers) >= LEAST_ANSWERS and len(answers) >= LEAST_PEOPLE


def _size(answers: Mapping[str, int]) -> int:
    return sum(answers.values())


def _together(groups: Collection[Mapping[str, int]]) -> Mapping[str, int]:
    people = {person for answers in groups for person in answers}
    return {person: sum(answers.get(person, 0) for answers in groups) for person in people}
