"""What the page of one question shows to one person. Pure: a record and ``now`` come in, values to print go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from bot.web.fields import Field, form_fields, shown
from bot.web.moments import Moment, moment
from bot.web.posted import NOTHING, Posted
from core.domain.clarification import MOST
from core.domain.notice import Ending, Links, Notice, build_ending, build_notice
from core.domain.people import Person
from core.domain.quorum import answer_of, is_shared
from core.domain.suspension import ResponseType, Status, Suspension
from core.domain.told import recorded_partly

_MAY_NOT = {
    "self_response_forbidden": "You can read this question, but not answer it: it was asked by you, or for you.",
    "not_a_responder": "You can read this question, but you are not among those who may answer it.",
}


class State(StrEnum):
    OPEN = "open"
    OVERDUE = "overdue"
    ENDED = "ended"


class Tone(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class News:
    """What just came of something that the person did."""

    text: str
    tone: Tone = Tone.BAD


@dataclass(frozen=True, slots=True)
class Attempted:
    """What the person has sent, where the form is shown again: everything they typed, and what was wrong with it."""

    posted: Posted = NOTHING
    problems: Mapping[str, str] = field(default_factory=dict)
    news: News | None = None


@dataclass(frozen=True, slots=True)
class ClaimView:
    by: str
    until: Moment
    is_mine: bool


@dataclass(frozen=True, slots=True)
class EndView:
    """``is_mine`` tells whether the person who looks is the one who answered."""

    ending: Ending
    at: Moment
    is_mine: bool
    reason: str | None
    value: str
    """The answer itself, in full."""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """``context`` holds names and texts; ``may_not`` says why there is no form for this person, ``recorded`` that they
    have answered and others have to as well; ``others`` are those to whom this person can hand the question over."""

    notice: Notice
    place: str
    identity: str
    state: State
    asked: Moment
    deadline: Moment | None
    context: tuple[tuple[str, str], ...]
    fields: tuple[Field, ...]
    attempted: Attempted
    claim: ClaimView | None
    end: EndView | None
    may_not: str | None
    recorded: str | None
    may_ask_back: bool
    others: tuple[Person, ...]

    def typed(self, one: Field) -> tuple[str, ...]:
        """What stands in an input: what was typed, else what the agent suggests."""
        posted = self.attempted.posted
        return one.initial if posted is NOTHING else posted.all(one.input)

    def typed_text(self, name: str) -> str:
        return next(iter(self.attempted.posted.all(name)), "")

    def problem(self, name: str) -> str | None:
        return self.attempted.problems.get(name)


def view_question(
    suspension: Suspension,
    identity: str,
    now: datetime,
    *,
    place: str,
    refusal: str | None = None,
    attempted: Attempted | None = None,
    others: Sequence[Person] = (),
) -> QuestionView:
    """``refusal`` is the code why ``identity`` may not answer, ``None`` where they may."""
    ask = suspension.ask
    is_form = ask.response_type is ResponseType.FORM
    return QuestionView(
        notice=build_notice(suspension, suspension.attempt, Links(shared=place)),
        place=place,
        identity=identity,
        state=state_of(suspension, now),
        asked=moment(ask.suspended_at, now),
        deadline=None if suspension.expires_at is None else moment(suspension.expires_at, now),
        context=tuple((name, shown(value)) for name, value in ask.context.items()),
        fields=form_fields(ask.form_schema, ask.context) if is_form else (),
        attempted=attempted or Attempted(),
        claim=_claim(suspension, identity, now),
        end=_end(suspension, identity, now),
        may_not=None if refusal is None else _MAY_NOT.get(refusal, "You can't answer this question."),
        may_ask_back=suspension.asks_back is None and len(suspension.clarifications) < MOST,
        others=() if _is_held(suspension, identity, now) else tuple(others),
        recorded=None if answer_of(suspension, identity) is None else recorded_partly(suspension, identity),
    )


def state_of(suspension: Suspension, now: datetime) -> State:
    """A question whose time is up takes no answer, even where the clock has not looked at it yet."""
    if not suspension.is_open:
        return State.ENDED
    expires_at = suspension.expires_at
    return State.OVERDUE if expires_at is not None and now >= expires_at else State.OPEN


def _is_held(suspension: Suspension, identity: str, now: datetime) -> bool:
    """Whether somebody else is on it."""
    claim = _claim(suspension, identity, now)
    return claim is not None and not claim.is_mine


def _claim(suspension: Suspension, identity: str, now: datetime) -> ClaimView | None:
    claim = suspension.claim
    if claim is None or claim.until <= now or not suspension.is_open:
        return None
    return ClaimView(claim.by, moment(claim.until, now), claim.by == identity)


def _end(suspension: Suspension, identity: str, now: datetime) -> EndView | None:
    ended = suspension.ended
    if ended is None:
        return None
    ending = build_ending(suspension)
    is_mine = suspension.status is Status.RESPONDED and ended.by == identity and not is_shared(suspension)
    in_full = shown(ended.value) if isinstance(ended.value, dict | list) else ending.answer
    return EndView(ending, moment(ended.at, now), is_mine, ended.reason, in_full or "")
