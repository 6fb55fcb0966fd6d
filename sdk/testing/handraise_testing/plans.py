"""What people will do: plans, and whose question each is for. Pure; :mod:`handraise_testing.humans` carries them out.

A plan is a row of acts for one question. A claim, a question back or a hand-over leads up to what comes next; an
answer, or silence, closes the row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from pydantic import JsonValue

from core.domain.suspension import Suspension
from handraise_testing.clock import told

Which = str | Callable[[str], bool]
"""Which questions a plan is for: a part of the question's text (a regular expression), or a predicate over it."""

Verb = Literal["answer", "approve", "deny", "claim", "ask_back", "hand_over", "stay_silent"]
CLOSING: frozenset[Verb] = frozenset({"answer", "approve", "deny", "stay_silent"})


@dataclass(frozen=True, slots=True)
class Act:
    """``verb`` says what is done, ``value`` with what: an answer, a question back, to whom it is handed over."""

    verb: Verb
    value: JsonValue = None
    after: timedelta = timedelta(0)
    by: str | None = None
    reason: str | None = None
    lasts: timedelta | None = None

    def __str__(self) -> str:
        said = [] if self.value is None else [repr(self.value)]
        said += [f'after="{told(self.after)}"'] if self.after else []
        said += [f"by={self.by!r}"] if self.by else []
        return f"humans.{self.verb}({', '.join(said)})"


@dataclass(slots=True)
class Plan:
    """For one question that ``which`` fits, any if it is ``None``."""

    which: Which | None
    acts: list[Act] = field(default_factory=list)

    @property
    def is_closed(self) -> bool:
        return bool(self.acts) and self.acts[-1].verb in CLOSING

    def fits(self, question: str) -> bool:
        if self.which is None:
            return True
        return bool(re.search(self.which, question)) if isinstance(self.which, str) else bool(self.which(question))

    def __str__(self) -> str:
        return " and ".join(map(str, self.acts))


@dataclass(frozen=True, slots=True)
class Due:
    """An act on a question, and when."""

    at: datetime
    suspension_id: str
    act: Act


class Schedule:
    """The plans that wait for a question, and the acts that wait for their time."""

    def __init__(self) -> None:
        self._waiting: list[Plan] = []
        self._planned: dict[str, Plan] = {}
        self._due: list[Due] = []

    def add(self, act: Act, which: Which | None, open_questions: Iterable[Suspension], now: datetime) -> None:
        """Queue ``act`` for the next question; for the oldest open one that has no plan, if it fits that.

        An act follows the one before it if that has closed nothing and is for the same questions.
        """
        for suspension_id, planned in self._planned.items():
            if not planned.is_closed and planned.which == which:
                planned.acts.append(act)
                self._put(act, suspension_id, now)
                return
        waiting = next((plan for plan in self._waiting if not plan.is_closed and plan.which == which), None)
        if waiting is not None:
            waiting.acts.append(act)
            return
        plan = Plan(which, [act])
        self._waiting.append(plan)
        for suspension in open_questions:
            if suspension.id not in self._planned and plan.fits(suspension.ask.question):
                self._bind(plan, suspension.id, now)
                return

    def asked(self, suspension: Suspension) -> None:
        """A question has come: the first plan that fits it is its own. Times count from the asking."""
        for plan in self._waiting:
            if plan.fits(suspension.ask.question):
                self._bind(plan, suspension.id, suspension.ask.suspended_at)
                return

    def wants_more(self, suspension: Suspension) -> None:
        """An answer was counted and more are needed: the next plan that fits is this question's too."""
        self._planned.pop(suspension.id, None)
        self.asked(suspension)

    def _bind(self, plan: Plan, suspension_id: str, since: datetime) -> None:
        self._waiting.remove(plan)
        self._planned[suspension_id] = plan
        for act in plan.acts:
            self._put(act, suspension_id, since)

    def _put(self, act: Act, suspension_id: str, since: datetime) -> None:
        if act.verb != "stay_silent":
            self._due.append(Due(since + act.after, suspension_id, act))

    def ended(self, suspension_id: str) -> None:
        """Of a question that has ended, only a late answer may still come."""
        self._planned.pop(suspension_id, None)
        self._due = [one for one in self._due if one.suspension_id != suspension_id or one.act.verb in CLOSING]

    def next_at(self, among: Container[str] | None = None) -> datetime | None:
        """When somebody acts next, on one of the questions ``among``, or on any."""
        wanted = (one.at for one in self._due if among is None or one.suspension_id in among)
        return min(wanted, default=None)

    def take(self, now: datetime) -> Due | None:
        """The first act whose time has come."""
        first = min((one for one in self._due if one.at <= now), key=lambda one: one.at, default=None)
        if first is not None:
            self._due.remove(first)
        return first

    @property
    def unused(self) -> list[Plan]:
        """Plans for questions that never came."""
        return list(self._waiting)
