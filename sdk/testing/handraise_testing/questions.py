"""What was asked, as a test sees it: questions, attempts, messages, endings.

:class:`Journal` hears of every transition after its commit, and tells the plans of it; nothing is read from the
database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pydantic import JsonValue

from core.domain.record import continued_with
from core.domain.suspension import Status, Suspension
from core.domain.vocabulary import Notify, NotifyPerson, Outcome
from core.ports import Observer
from handraise_testing.clock import told
from handraise_testing.plans import Schedule


@dataclass(frozen=True, slots=True)
class Attempt:
    """One asking. ``after`` is the virtual time since the question was asked, ``at`` the instant (UTC). ``recipients``
    are written as the agent wrote them: ``group:finance``, ``alice@example.com``."""

    number: int
    channel: str
    recipients: tuple[str, ...]
    at: datetime
    after: timedelta

    def __str__(self) -> str:
        return f"attempt {self.number} at +{told(self.after)} by {self.channel} to {', '.join(self.recipients)}"


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message to one recipient: a notice, its ending, or a word in between. ``to`` is a person's e-mail if there is
    one behind the address; ``ref`` is the question's."""

    channel: str
    to: str
    text: str
    at: datetime
    ref: str | None
    number: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question as it stood when it was read from ``handraise.questions``.

    ``resolution`` is ``responded``, ``expired``, ``cancelled``, or ``None`` while it is open. ``answer`` is what a
    person said, ``answered_by`` their e-mail; both are ``None`` if time ended it. ``continued_with`` is what the agent
    goes on with then, ``None`` after ``fail``. ``ended_after`` is the virtual time from the asking to the end.
    """

    text: str
    ref: str
    suspension_id: str
    asked_by: str
    asked_at: datetime
    response_type: str
    choices: tuple[str, ...]
    context: Mapping[str, JsonValue]
    action: Mapping[str, JsonValue] | None
    responders: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    resolution: str | None = None
    answer: JsonValue = None
    answered_by: str | None = None
    reason: str | None = None
    continued_with: JsonValue = None
    ended_after: timedelta | None = None

    @property
    def is_open(self) -> bool:
        return self.resolution is None


class Journal:
    """Implements :class:`core.ports.Observer`, and passes all on to ``beside``. Written in the server's thread alone;
    reading is safe from any."""

    def __init__(self, beside: Observer, now: Callable[[], datetime], schedule: Schedule) -> None:
        self._beside = beside
        self._now = now
        self._schedule = schedule
        self._latest: dict[str, Suspension] = {}
        self._attempts: dict[str, tuple[Attempt, ...]] = {}

    # --- Reading ------------------------------------------------------------------------------------------------------

    def questions(self) -> list[Question]:
        """In the order in which they were asked."""
        return [_question(one, self._attempts.get(one.id, ())) for one in list(self._latest.values())]

    @property
    def open(self) -> list[Suspension]:
        return [one for one in self._latest.values() if one.is_open]

    def is_open(self, suspension_id: str) -> bool:
        found = self._latest.get(suspension_id)
        return found is not None and found.is_open

    def latest(self, suspension_id: str) -> Suspension:
        return self._latest[suspension_id]

    # --- Hearing ------------------------------------------------------------------------------------------------------

    def moved(self, outcome: Outcome) -> None:
        after = outcome.suspension
        known = self._latest.get(after.id)
        for effect in outcome.effects:
            if isinstance(effect, Notify | NotifyPerson):
                self._attempts[after.id] = (*self._attempts.get(after.id, ()), self._attempt(after, effect))
        if known is None or after.version >= known.version:
            self._latest[after.id] = after
        if known is None:
            self._schedule.asked(after)
        if not after.is_open:
            self._schedule.ended(after.id)
        self._beside.moved(outcome)

    def _attempt(self, suspension: Suspension, effect: Notify | NotifyPerson) -> Attempt:
        now, step = self._now(), suspension.ask.planned(effect.attempt)
        attempt = Attempt(step.number, step.channel, step.recipients, now, now - suspension.ask.suspended_at)
        if isinstance(effect, NotifyPerson):
            return replace(attempt, channel=effect.channel, recipients=(effect.person,))
        return attempt

    def looked(self, late: timedelta) -> None:
        self._beside.looked(late)

    def tried(self, channel: str, outcome: str, late: timedelta) -> None:
        self._beside.tried(channel, outcome, late)

    def callback_died(self, ref: str, reason: str) -> None:
        self._beside.callback_died(ref, reason)

    def received(self, channel: str, door: str, kind: str) -> None:
        self._beside.received(channel, door, kind)

    def quarantined(self, channel: str, reason: str) -> None:
        self._beside.quarantined(channel, reason)


def _question(suspension: Suspension, attempts: tuple[Attempt, ...]) -> Question:
    ask, ended = suspension.ask, suspension.ended
    question = Question(
        text=ask.question,
        ref=ask.ref,
        suspension_id=ask.id,
        asked_by=ask.created_by,
        asked_at=ask.suspended_at,
        response_type=ask.response_type.value,
        choices=tuple(choice.value for choice in ask.choices),
        context=ask.context,
        action=ask.action,
        responders=ask.responders,
        attempts=attempts,
    )
    if ended is None:
        return question
    return replace(
        question,
        resolution=suspension.status.value,
        answer=ended.value if suspension.status is Status.RESPONDED else None,
        answered_by=ended.by if suspension.status is Status.RESPONDED else None,
        reason=ended.reason,
        continued_with=continued_with(suspension),
        ended_after=ended.at - ask.suspended_at,
    )
