"""The view of one question for one person: from a record and ``now`` to values for the template, instants too. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from bot.web.pages.forms import NOTHING, Posted, form_fields, shown
from bot.web.pages.urls import question_place
from core.domain import earlier_answers
from core.domain.action import HIDDEN, ShownAction, hides
from core.domain.clarification import MOST
from core.domain.forms import Field
from core.domain.notice import Ending, Notice, NoticeChoice, NoticeLinks, build_ending, build_notice
from core.domain.people import Person
from core.domain.quorum import answer_of, is_shared
from core.domain.short_messages import recorded_partly
from core.domain.signature_lines import SignatureOffer
from core.domain.suspension import Ended, ResponseType, Sight, Status, Suspension
from core.domain.wire import instant
from core.domain.wording import AgentTold, evidence, span, told_at, told_host, told_status

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant beside ``now``: ``iso`` for machines, ``told`` and ``span`` for people. ``is_local``: it is in the
    reader's zone of the directory, and their browser leaves it so."""

    iso: str
    told: str
    is_local: bool
    span: str
    is_past: bool
    is_soon: bool


def moment(at: datetime, now: datetime, zone: tzinfo | None = None) -> Moment:
    """``span`` is the distance either way; "soon" is less than a quarter of an hour ahead."""
    ahead = at - now
    return Moment(
        iso=instant(at),
        told=told_at(at, zone),
        is_local=zone is not None,
        span=span(abs(ahead)),
        is_past=ahead <= timedelta(),
        is_soon=timedelta() < ahead < 15 * _MINUTE,
    )


_MAY_NOT = {
    "self_response_forbidden": "You can read this question, but not answer it: it was asked by you, or for you.",
    "not_a_responder": "You can read this question, but you are not among those who may answer it.",
}


class Hidden(StrEnum):
    """Whether redaction hides something of the question from the reader."""

    NOTHING = "nothing"
    """Nothing that they could see."""
    SIGN_IN = "sign_in"
    """It has to be seen to approve it, and is shown to who has signed in."""
    TO_REVEAL = "to_reveal"
    """They may have it shown."""
    REVEALED = "revealed"
    """They have."""


def hides_anything(shown: Suspension) -> bool:
    """Whether the shown question has a mark of redaction."""
    ask = shown.ask
    texts = [ask.question, *(f"{choice.label}\n{choice.description}" for choice in ask.choices)]
    texts += [json.dumps(part, ensure_ascii=False) for part in (ask.context, ask.action, ask.form_schema) if part]
    return any(map(hides, texts))


class State(StrEnum):
    OPEN = "open"
    OVERDUE = "overdue"
    ENDED = "ended"


class Tone(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Flash:
    """The result of the person's last action."""

    text: str
    tone: Tone = Tone.BAD


@dataclass(frozen=True, slots=True)
class Attempted:
    """The person's input when the form is shown again: everything they typed, and the errors in it."""

    posted: Posted = NOTHING
    problems: Mapping[str, str] = field(default_factory=dict)
    news: Flash | None = None


@dataclass(frozen=True, slots=True)
class ActionView:
    """The whole action; ``hidden`` is a sentence if a part of it is redacted."""

    heading: str
    text: str
    hidden: str | None


@dataclass(frozen=True, slots=True)
class EarlierView:
    """An earlier answer to the same action."""

    by: str
    answer: str
    at: Moment
    ref: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class ClaimView:
    by: str
    until: Moment
    is_mine: bool


@dataclass(frozen=True, slots=True)
class ReportView:
    """The agent's report of its action. ``url`` is shown by its ``host``."""

    status: str
    heading: str
    text: str | None
    url: str | None
    host: str | None
    at: Moment


@dataclass(frozen=True, slots=True)
class EndView:
    """``is_mine``: the reader is the one who answered."""

    ending: Ending
    at: Moment
    is_mine: bool
    reason: str | None
    value: str
    """The answer itself, in full."""
    evidence: tuple[str, ...]
    """By what each answer can be found where it was given."""
    report: ReportView | None

    @property
    def is_done(self) -> bool:
        """Whether the agent knows, as far as we can ensure it."""
        return self.ending.told in {AgentTold.TOLD, AgentTold.ASKS}

    @property
    def is_lost(self) -> bool:
        """Whether the agent does not know, and will not by itself."""
        return self.ending.told is not None and self.ending.told.never


@dataclass(frozen=True, slots=True)
class SignatureView:
    """The lines around a reply that this person may call their signature. ``mark`` says which lines they saw;
    ``answer`` is the choice that the same press may confirm."""

    above: tuple[str, ...]
    below: tuple[str, ...]
    mark: str
    answer: NoticeChoice | None


@dataclass(frozen=True, slots=True)
class QuestionView:
    """``context`` holds names and texts; ``may_not`` says why this person has no form, ``recorded`` that they have
    answered and others have to as well; ``silence_until`` is the time in the notice's sentence about silence;
    ``others`` are people to whom this person can hand the question over."""

    notice: Notice
    place: str
    identity: str
    state: State
    asked: Moment
    deadline: Moment | None
    silence_until: Moment | None
    context: tuple[tuple[str, str], ...]
    action: ActionView | None
    earlier_heading: str
    earlier: tuple[EarlierView, ...]
    fields: tuple[Field, ...]
    attempted: Attempted
    claim: ClaimView | None
    end: EndView | None
    may_not: str | None
    recorded: str | None
    may_ask_back: bool
    others: tuple[Person, ...]
    hidden: Hidden
    may_approve: bool
    """Whether anything but a negative choice is taken here."""
    question_page: str
    """Where it is shown to who has signed in."""
    signature: SignatureView | None

    def typed(self, one: Field) -> tuple[str, ...]:
        """The content of an input: what was typed, else the agent's suggestion."""
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
    zone: tzinfo | None = None,
    sight: Sight = Sight.REVEALED,
    hidden: Hidden = Hidden.NOTHING,
    told: AgentTold | None = None,
    offer: SignatureOffer | None = None,
) -> QuestionView:
    """``refusal`` is the code why ``identity`` may not answer, ``None`` if they may. ``zone`` is the reader's, if
    the directory knows it; ``sight`` is how much this page can show, ``told`` whether the agent knows the end;
    ``offer`` are lines that they may call their signature."""
    ask = suspension.ask
    is_form = ask.response_type is ResponseType.FORM
    notice = build_notice(suspension, suspension.attempt, NoticeLinks(shared=place), identity, zone)
    may_approve = not suspension.to_reveal or sight is Sight.REVEALED
    has_answered = answer_of(suspension, identity) is not None
    return QuestionView(
        notice=notice,
        place=place,
        identity=identity,
        state=state_of(suspension, now),
        asked=moment(ask.suspended_at, now, zone),
        deadline=None if suspension.expires_at is None else moment(suspension.expires_at, now, zone),
        silence_until=_silence_until(suspension, now, zone),
        context=tuple((name, shown(value)) for name, value in ask.context.items()),
        action=None if notice.action is None else action_view(notice.action),
        earlier_heading=earlier_answers.HEADING,
        earlier=tuple(
            EarlierView(one.by, one.told, moment(one.at, now, zone), one.ref, one.reason) for one in notice.earlier
        ),
        fields=form_fields(ask.form_schema, ask.context) if is_form else (),
        attempted=attempted or Attempted(),
        claim=_claim(suspension, identity, now, zone),
        end=_end(suspension, identity, now, zone, told),
        may_not=None if refusal is None else _MAY_NOT.get(refusal, "You can't answer this question."),
        may_ask_back=suspension.asks_back is None and len(suspension.clarifications) < MOST,
        others=() if _is_held(suspension, identity, now) else tuple(others),
        hidden=hidden,
        may_approve=may_approve,
        question_page=question_place(ask.ref),
        recorded=recorded_partly(suspension, identity) if has_answered else None,
        signature=None if offer is None else _signature(offer, notice, has_answered, may_approve),
    )


def _signature(offer: SignatureOffer, notice: Notice, has_answered: bool, may_approve: bool) -> SignatureView:
    """A choice that is not allowed here, or whose question already has their answer, is not confirmed together with
    it."""
    chosen = (choice for choice in notice.choices if choice.index == offer.choice and not has_answered)
    answer = next((choice for choice in chosen if may_approve or choice.negative), None)
    return SignatureView(offer.above, offer.below, offer.mark, answer)


def action_view(action: ShownAction) -> ActionView:
    text = action.text()
    return ActionView(action.heading, text, HIDDEN if hides(text) else None)


def state_of(suspension: Suspension, now: datetime) -> State:
    """A question whose time is up takes no answer, even if the clock has not looked at it yet."""
    if not suspension.is_open:
        return State.ENDED
    expires_at = suspension.expires_at
    return State.OVERDUE if expires_at is not None and now >= expires_at else State.OPEN


def _silence_until(suspension: Suspension, now: datetime, zone: tzinfo | None) -> Moment | None:
    until = suspension.expires_at if suspension.asks_back is None else suspension.asks_back.until
    return None if until is None else moment(until, now, zone)


def _is_held(suspension: Suspension, identity: str, now: datetime) -> bool:
    """Whether another person is on it."""
    claim = _claim(suspension, identity, now)
    return claim is not None and not claim.is_mine


def _claim(suspension: Suspension, identity: str, now: datetime, zone: tzinfo | None = None) -> ClaimView | None:
    claim = suspension.claim
    if claim is None or claim.until <= now or not suspension.is_open:
        return None
    return ClaimView(claim.by, moment(claim.until, now, zone), claim.by == identity)


def _end(
    suspension: Suspension, identity: str, now: datetime, zone: tzinfo | None, told: AgentTold | None
) -> EndView | None:
    ended = suspension.ended
    if ended is None:
        return None
    ending = build_ending(suspension, zone=zone, told=told)
    is_mine = suspension.status is Status.RESPONDED and ended.by == identity and not is_shared(suspension)
    in_full = shown(ended.value) if isinstance(ended.value, dict | list) else ending.answer
    at, report = moment(ended.at, now, zone), _report(ended, now, zone)
    return EndView(ending, at, is_mine, ended.reason, in_full or "", evidence(suspension), report)


def _report(ended: Ended, now: datetime, zone: tzinfo | None) -> ReportView | None:
    report = ended.reported
    if report is None:
        return None
    host = None if report.url is None else told_host(report.url)
    at = moment(report.at, now, zone)
    return ReportView(report.status.value, told_status(report), report.text, report.url, host, at)
