"""``/insights``: figures of a period for a signed-in operator, as tables and drawings, and each table as CSV.

Source: API.md §6; docs/decisions/0123.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any
from urllib.parse import urlencode

from handraise.csv_text import csv_text
from starlette.requests import Request
from starlette.responses import Response

from bot.web.pages.charts import (
    DayChart,
    WeekChart,
    bar,
    day_chart,
    hour_told,
    short_date,
    took,
    week_chart,
)
from bot.web.pages.rendering import HEADERS, BrowserSession, PageContext
from bot.web.pages.signin import Sessions
from bot.web.pages.urls import INBOX, INSIGHTS, sign_in_place
from core.domain.channels import called
from core.domain.insights import LEAST_ANSWERS, LEAST_PEOPLE, USUAL, AnswerTimes, Figures, Period, read_period
from core.domain.insights_record import TABLES, insights_json, zone_name
from core.engine.insights import Insights
from core.errors import Forbidden, InvalidRequest

CSV = f"{INSIGHTS}.csv"
_RANGES = ("7d", "30d", "90d")
_WAYS = {"api": "API", "web": "Page", "signal": "Signal", "agents": "Callbacks to agents", "": "Unknown"}
"""How answers come in and messages go out that belong to no channel."""


@dataclass(frozen=True, slots=True)
class RangeLink:
    """A period to choose. ``is_chosen``: it is the one that is shown."""

    text: str
    place: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class TimesRow:
    """A line of a table of answer times. ``median_bar`` and ``p90_bar`` are percent of the table's longest."""

    name: str
    answers: str
    median: str
    p90: str
    quick: str
    median_bar: float
    p90_bar: float


@dataclass(frozen=True, slots=True)
class TimesTable:
    """``what`` is the table's name in :data:`TABLES`. ``is_cut``: some groups are too small to be shown."""

    what: str
    title: str
    head: str
    about: str
    rows: Sequence[TimesRow]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class DayRow:
    day: str
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class InsightsView:
    """All values of the page."""

    days: Sequence[DayRow]
    totals: Sequence[int]
    continued: int
    whole: TimesRow
    day_chart: DayChart
    tables: Sequence[TimesTable]
    week_chart: WeekChart
    hours: Sequence[tuple[str, str, str]]
    deliveries: Sequence[tuple[str, int, int, int]]
    failed: int


@dataclass(frozen=True, slots=True)
class InsightsPage:
    room: PageContext
    sessions: Sessions
    insights: Insights

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.room.renderer.redirect(sign_in_place(INSIGHTS))
        if (refused := self._refused(session)) is not None:
            return refused
        since, until = (request.query_params.get(name) for name in ("since", "until"))
        now, zone = self.room.clock.now(), self._zone(session)
        wrong: str | None = None
        try:
            period = read_period(since, until, now, zone)
        except InvalidRequest as error:
            wrong, since, until = error.message, None, None
            period = read_period(None, None, now, zone)
        figures = await self.insights.figures(period)
        values: dict[str, Any] = {
            "wrong": wrong,
            "ranges": range_links(since, until),
            "period": period,
            "zone": zone_name(zone),
            "figures": figures,
            "view": None if figures.is_empty else insights_view(figures),
            "complete_from": complete_from(figures),
            "csv": {what: csv_place(period, what) for what in TABLES},
            "persons": self.insights.persons,
            "least": (LEAST_ANSWERS, LEAST_PEOPLE),
        }
        return self.room.form_page(
            request, "insights.html", INSIGHTS, 200 if wrong is None else 422, session=session, **values
        )

    async def download(self, request: Request) -> Response:
        """One table as CSV (``?what=``), of the same period."""
        session = await self.sessions.current(request)
        if session is None:
            return self.room.renderer.redirect(sign_in_place(INSIGHTS))
        if (refused := self._refused(session)) is not None:
            return refused
        query = request.query_params
        what = query.get("what", "days")
        try:
            if what not in TABLES:
                raise InvalidRequest(f"what: one of {', '.join(TABLES)}.", path="what")
            if what == "people" and not self.insights.persons:
                raise InvalidRequest("what: people is there only with insights.persons.", path="what")
            period = read_period(query.get("since"), query.get("until"), self.room.clock.now(), self._zone(session))
        except InvalidRequest as error:
            return self.room.renderer.message("That did not work", error.message, status=422, onward=_BACK)
        figures = await self.insights.figures(period)
        rows: Any = insights_json(figures, self.insights.persons)[what]  # type: ignore[literal-required]
        name = f"handraise-{what}-{period.first}-{period.last}.csv"
        headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(csv_text(TABLES[what], rows), media_type="text/csv; charset=utf-8", headers=headers)

    def _refused(self, session: BrowserSession) -> Response | None:
        try:
            self.insights.check(session.actor)
        except Forbidden as error:
            return self.room.renderer.message(
                "These figures are for operators", error.message, status=403, onward=(INBOX, "Your inbox")
            )
        return None

    def _zone(self, session: BrowserSession) -> tzinfo:
        return self.room.responders.time_zone(session.identity) or UTC


_BACK = (INSIGHTS, "All figures")


def range_links(since: str | None, until: str | None) -> list[RangeLink]:
    chosen = None if until else since or USUAL
    return [RangeLink(f"{one[:-1]} days", f"{INSIGHTS}?since={one}", one == chosen) for one in _RANGES]


def csv_place(period: Period, what: str) -> str:
    """The days are said, so that the file has what the page shows, whenever it is fetched."""
    return f"{CSV}?{urlencode({'what': what, 'since': period.first, 'until': period.last})}"


def complete_from(figures: Figures) -> str | None:
    """The day before which questions may have moved out, if the period begins earlier."""
    since: datetime | None = figures.complete_from
    if since is None or since <= figures.period.since:
        return None
    return told_day(since.astimezone(figures.period.zone).date())


def insights_view(figures: Figures) -> InsightsView:
    """The values of figures that are not empty."""
    days = figures.days
    tables = [
        _table("channels", "By channel", "Channel", "The way by which the answer came in.", figures.channels, way),
        _table(
            "attempts",
            "By attempt",
            "Attempt",
            "Which notice was answered: the first one, or a reminder.",
            figures.attempts,
            attempt_told,
        ),
    ]
    if figures.people is not None:
        tables.append(_table("people", "By person", "Person", "Who answered.", figures.people, str))
    longest = figures.times.p90 or timedelta()
    return InsightsView(
        days=[DayRow(told_day(one.day), _counts(one)) for one in reversed(days)],
        totals=[sum(column) for column in zip(*map(_counts, days), strict=True)],
        continued=sum(one.continued for one in days),
        whole=_row("All answers", figures.times, longest),
        day_chart=day_chart(days),
        tables=tables,
        week_chart=week_chart(figures.hours),
        hours=[
            (hour_told(one.weekday, one.hour), took(one.times.median), took(one.times.p90)) for one in figures.hours
        ],
        deliveries=[(way(one.channel), one.delivered, one.failed, one.waiting) for one in figures.deliveries],
        failed=sum(one.failed for one in figures.deliveries),
    )


def _counts(one: Any) -> list[int]:
    return [one.asked, one.answered, one.expired, one.cancelled, one.open]


def _table(what: str, title: str, head: str, about: str, groups: Mapping[Any, AnswerTimes], name: Any) -> TimesTable:
    longest = max((one.p90 for one in groups.values() if one.p90 is not None), default=timedelta())
    rows = [_row(name(key), one, longest) for key, one in groups.items()]
    return TimesTable(what, title, head, about, rows, any(one.answers is None for one in groups.values()))


def _row(name: str, one: AnswerTimes, longest: timedelta) -> TimesRow:
    answers, quick = ("–" if number is None else str(number) for number in (one.answers, one.quick))
    return TimesRow(
        name, answers, took(one.median), took(one.p90), quick, bar(one.median, longest), bar(one.p90, longest)
    )


def way(channel: str) -> str:
    """``Slack``: a channel, or another way to answer, for people."""
    return _WAYS.get(channel) or called(channel)


def attempt_told(attempt: int) -> str:
    return "1 (first notice)" if attempt == 1 else f"{attempt} (reminder)"


def told_day(day: date) -> str:
    """``Tue 24 Mar 2026``."""
    return f"{day:%a} {short_date(day)} {day.year}"
