"""JSON of figures, as clients read it: every table is a list of flat objects, which is also how it is written as CSV.

Source: API.md §6; docs/decisions/0123.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from zoneinfo import ZoneInfo

from core.domain.insights import AnswerTimes, DayCounts, DeliveryCounts, Figures, WeekHour
from core.domain.wire import Instant, Open, instant


class TimesReply(Open):
    """How long answers took, from when the question was asked. All of it is `null` for a group that is too small to be
    shown while single persons must not be told apart."""

    answers: int | None
    """How many answers there were."""
    median_seconds: float | None
    """Within how many seconds half of them came; `null` without any."""
    p90_seconds: float | None
    """Within how many seconds nine of ten came; `null` without any."""
    within_three_seconds: int | None
    """How many came within three seconds of asking."""


class DayReply(Open):
    """What became of the questions that were asked on one day: answered, expired, cancelled and open ones are as many
    as were asked."""

    day: str
    """The day, such as `2026-03-24`, in `time_zone`."""
    asked: int
    """How many questions were asked."""
    answered: int
    """How many of them were answered."""
    expired: int
    """How many of them nobody answered in time."""
    continued: int
    """After how many of those that expired the agent went on: with the fallback, or since nobody objected to a veto."""
    cancelled: int
    """How many of them were cancelled."""
    open: int
    """How many of them wait still."""


class ChannelTimes(TimesReply):
    """Answers that came in by one channel."""

    channel: str
    """How the answer came in, such as `slack`, `email`, `web` or `api`."""


class AttemptTimes(TimesReply):
    """Answers to one attempt: to the first notice, to the first reminder, and so on."""

    attempt: int
    """The attempt that was out when the answer came, from 1."""


class PersonTimes(TimesReply):
    """The answers of one person."""

    person: str
    """Who answered."""


class HourTimes(TimesReply):
    """Answers to questions that were asked in one hour of the week. Without `insights.persons` it has no numbers of
    answers."""

    weekday: int
    """The day of the week, from 1 for Monday to 7."""
    hour: int
    """The hour, from 0 to 23, in `time_zone`."""


class DeliveriesReply(Open):
    """What became of the messages of one channel."""

    channel: str
    """The channel of notices; `agents` for callbacks."""
    delivered: int
    """How many were accepted."""
    failed: int
    """How many were refused, or given up."""
    waiting: int
    """How many are still to be sent."""


class InsightsReply(Open):
    """Figures of a period of whole days."""

    since: Instant
    """When the first day begins."""
    until: Instant
    """When the last day is over."""
    time_zone: str
    """The time zone of the days and the hours."""
    persons: bool
    """Whether single persons may be told apart (`insights.persons`)."""
    days: list[DayReply]
    """Every day, in order."""
    answers: TimesReply
    """All answers."""
    channels: list[ChannelTimes]
    """By the channel that the answer came in by, the most answers first."""
    attempts: list[AttemptTimes]
    """By the attempt that was answered, the most answers first."""
    hours: list[HourTimes]
    """By the hour of the week in which the question was asked. Hours without figures are left out."""
    people: list[PersonTimes] | None
    """By whoever answered; `null` unless single persons may be told apart."""
    deliveries: list[DeliveriesReply]
    """What became of notices and callbacks."""
    complete_from: Instant | None
    """Questions that ended before it may have moved out of the database, and are not counted; `null` if none ever
    do."""
    is_whole: bool
    """Whether all questions that have ended are counted by now. After an upgrade it may take some requests."""


def insights_json(figures: Figures, persons: bool) -> InsightsReply:
    period = figures.period
    return InsightsReply(
        since=instant(period.since),
        until=instant(period.until),
        time_zone=zone_name(period.zone),
        persons=persons,
        days=[_day(one) for one in figures.days],
        answers=_times(figures.times),
        channels=[ChannelTimes(channel=key, **_times(one)) for key, one in figures.channels.items()],
        attempts=[AttemptTimes(attempt=key, **_times(one)) for key, one in figures.attempts.items()],
        hours=[_hour(one) for one in figures.hours],
        people=None
        if figures.people is None
        else [PersonTimes(person=key, **_times(one)) for key, one in figures.people.items()],
        deliveries=[_deliveries(one) for one in figures.deliveries],
        complete_from=instant(figures.complete_from),
        is_whole=figures.is_whole,
    )


def _day(one: DayCounts) -> DayReply:
    return DayReply(
        day=one.day.isoformat(),
        asked=one.asked,
        answered=one.answered,
        expired=one.expired,
        continued=one.continued,
        cancelled=one.cancelled,
        open=one.open,
    )


def _times(one: AnswerTimes) -> TimesReply:
    return TimesReply(
        answers=one.answers,
        median_seconds=_seconds(one.median),
        p90_seconds=_seconds(one.p90),
        within_three_seconds=one.quick,
    )


def _hour(one: WeekHour) -> HourTimes:
    return HourTimes(weekday=one.weekday, hour=one.hour, **_times(one.times))


def _deliveries(one: DeliveryCounts) -> DeliveriesReply:
    return DeliveriesReply(channel=one.channel, delivered=one.delivered, failed=one.failed, waiting=one.waiting)


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else round(length.total_seconds(), 3)


def zone_name(zone: tzinfo) -> str:
    return zone.key if isinstance(zone, ZoneInfo) else "UTC"


_TIMES = ("answers", "median_seconds", "p90_seconds", "within_three_seconds")
TABLES: Mapping[str, Sequence[str]] = {
    "days": ("day", "asked", "answered", "expired", "continued", "cancelled", "open"),
    "channels": ("channel", *_TIMES),
    "attempts": ("attempt", *_TIMES),
    "hours": ("weekday", "hour", *_TIMES[:3]),
    "people": ("person", *_TIMES),
    "deliveries": ("channel", "delivered", "failed", "waiting"),
}
"""The columns of each table, as they are written as CSV."""
