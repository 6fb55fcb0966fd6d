"""Insights: the figures of a period, for operators. Whether single persons may be told apart is the configuration's.

Every statement goes by itself: an answer that comes in between may be in one table and not yet in the next.

Source: API.md §6; docs/decisions/0123.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar

from core.database.call_deadlines import LONG
from core.database.database import Database
from core.domain.insights import (
    AnswerTimes,
    Figures,
    Period,
    Quantiles,
    WeekHour,
    day_counts,
    shown_groups,
)
from core.domain.people import Actor, Role
from core.errors import Forbidden
from core.ports import Clock, Responders
from core.store import insights
from core.store.insights import GroupCount

K = TypeVar("K")

NOTED_AT_ONCE = 500
"""A few milliseconds' worth, so that no answer waits for it."""
NOTED_AT_MOST = 40
"""Transactions of one request; the next one goes on."""

_NOTHING = AnswerTimes()


@dataclass(frozen=True, slots=True)
class Insights:
    """``persons``: whether figures of single persons are shown (``insights.persons``). ``keep`` is how long an ended
    question stays, ``None`` for ever."""

    database: Database
    responders: Responders
    clock: Clock
    persons: bool = False
    keep: timedelta | None = None

    def check(self, actor: Actor) -> None:
        """Raises :class:`Forbidden` unless ``actor`` is an operator who reads every question."""
        if not actor.has(Role.OPERATOR):
            raise Forbidden("This needs the role operator.")
        if not actor.reads_all:
            raise Forbidden("These figures are of all questions, and you read those that mean you.")

    async def figures(self, period: Period) -> Figures:
        is_whole = await self._note()
        counted = await self.database.read(
            lambda conn: insights.counted(conn, period, with_people=self.persons), within=LONG
        )
        groups = counted.groups
        of_all = {} if counted.times is None else {"": counted.times}
        nothing = AnswerTimes(0) if counted.times is None else _NOTHING
        return Figures(
            period=period,
            days=day_counts(period, counted.days),
            times=self._shown(of_all, groups, lambda _one: "").get("", nothing),
            channels=self._shown(counted.channels, groups, lambda one: one.channel),
            attempts=self._shown(counted.attempts, groups, lambda one: one.attempt),
            hours=self._hours(counted.hours, counted.hour_people),
            people=self._shown(counted.people, groups, lambda one: one.person) if self.persons else None,
            deliveries=counted.deliveries,
            complete_from=None if self.keep is None else self.clock.now() - self.keep,
            is_whole=is_whole,
        )

    async def _note(self) -> bool:
        """Note outcomes that an older version has not; whether all of them are noted now."""
        for _ in range(NOTED_AT_MOST):
            if not await self.database.read(insights.is_any_unnoted):
                return True
            await self.database.write(partial(insights.note, limit=NOTED_AT_ONCE))
        return not await self.database.read(insights.is_any_unnoted)

    def _shown(
        self, times: Mapping[K, Quantiles], groups: Iterable[GroupCount], key: Callable[[GroupCount], K]
    ) -> Mapping[K, AnswerTimes]:
        """Each group in its order, the most answers first; those that would tell a person apart have no figures."""
        answers: dict[K, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        quick: dict[K, int] = defaultdict(int)
        for one in groups:
            answers[key(one)][self.responders.identity_of(one.person)] += one.answers
            quick[key(one)] += one.quick
        shown = answers.keys() if self.persons else shown_groups(answers)
        ordered = sorted(times, key=lambda group: (-times[group].count, str(group)))
        return {group: _times(times[group], quick.get(group, 0)) if group in shown else _NOTHING for group in ordered}

    def _hours(self, times: Mapping[int, Quantiles], people: Mapping[int, Mapping[str, int]]) -> list[WeekHour]:
        """Medians add up to nothing, so each hour stands by itself. How many answers an hour has would add up, so that
        is said only if persons are."""
        shown = times.keys() if self.persons else self._large(people)
        return [
            WeekHour(hour // 24 + 1, hour % 24, self._hour_times(times[hour]))
            for hour in sorted(times)
            if hour in shown
        ]

    def _large(self, people: Mapping[int, Mapping[str, int]]) -> set[int]:
        found = set[int]()
        for hour, answers in people.items():
            by_identity: dict[str, int] = defaultdict(int)
            for person, count in answers.items():
                by_identity[self.responders.identity_of(person)] += count
            found.update(shown_groups({hour: by_identity}))
        return found

    def _hour_times(self, of: Quantiles) -> AnswerTimes:
        return AnswerTimes(of.count if self.persons else None, of.median, of.p90)


def _times(of: Quantiles, quick: int) -> AnswerTimes:
    return AnswerTimes(of.count, of.median, of.p90, min(quick, of.count))
