"""The view of one question for one person: from a record and ``now`` to values for the template, instants too. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from enum import StrEnum
from math import ceil

from bot.web.pages.context import ContextRow, rows
from bot.web.pages.ended_record import EndView, GivenView, end_view, given_answers
from bot.web.pages.forms import NOTHING, FormError, Posted, form_errors, form_fields
from bot.web.pages.kept_words import TypedWords, kept_words
from bot.web.pages.markdown import Prose, prose, title_of
from bot.web.pages.moments import Moment, Reader
from bot.web.pages.notice_timeline import TimelineStep, steps
from bot.web.pages.person_names import PersonNames, with_names
from bot.web.pages.urls import question_place
from core.domain import earlier_answers
from core.domain.action import HIDDEN, ShownAction, hides
from core.domain.clarification import MOST
from core.domain.forms import Field
from core.domain.notice import Notice, NoticeChoice, NoticeLinks, build_notice
from core.domain.people import canonical
from core.domain.quorum import answer_of
from core.domain.short_messages import recorded_partly
from core.domain.signature_lines import SignatureOffer
from core.domain.suspension import ResponseType, Sight, Suspension
from core.domain.wording import AgentTold, needed, shown_value, so_far
from core.engine.notice_progress import NoticeProgress

NOTHING_SENT = NoticeProgress()

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
class UndoView:
    """An answer that is about to end the question, in ``left`` seconds. ``answer`` is shown to who gave it alone."""

    by: str
    answer: str
    left: int
    is_mine: bool


@dataclass(frozen=True, slots=True)
class ClaimView:
    by: str
    until: Moment
    is_mine: bool


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
    """``title`` is the first line of the question and ``prose`` the rest; ``context`` its rows. ``may_not`` says why
    this person has no form, ``recorded`` that they have answered and others have to as well; ``silence_until`` is the
    time in the notice's sentence about silence; ``others`` are the names of people to whom this person can hand the
    question over; ``steps`` say who is asked and when; ``paused_at`` is since when no notice goes out; ``kept`` is what
    they had typed, if it was not taken and there is no form to keep it."""

    notice: Notice
    title: str
    prose: Prose
    place: str
    identity: str
    state: State
    asked: Moment
    deadline: Moment | None
    silence_until: Moment | None
    context: tuple[ContextRow, ...]
    more_context: tuple[ContextRow, ...]
    notes: tuple[str, ...]
    action: ActionView | None
    earlier_heading: str
    earlier: tuple[EarlierView, ...]
    fields: tuple[Field, ...]
    attempted: Attempted
    claim: ClaimView | None
    undo: UndoView | None
    end: EndView | None
    may_not: str | None
    recorded: str | None
    may_ask_back: bool
    others: tuple[str, ...]
    steps: tuple[TimelineStep, ...]
    paused_at: Moment | None
    given: tuple[GivenView, ...]
    """Who has answered so far, if several have to."""
    needed: int
    needed_told: str
    kept: tuple[TypedWords, ...]
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

    @property
    def errors(self) -> tuple[FormError, ...]:
        return form_errors(self.fields, self.attempted.problems)

    @property
    def first_wrong(self) -> str | None:
        """The input that gets the focus."""
        return next((one.input for one in self.errors), None)

    def problem(self, name: str) -> str | None:
        return self.attempted.problems.get(name)


def view_question(
    suspension: Suspension,
    identity: str,
    now: datetime,
    *,
    place: str,
    names: PersonNames,
    refusal: str | None = None,
    attempted: Attempted | None = None,
    others: Sequence[str] = (),
    zone: tzinfo | None = None,
    progress: NoticeProgress = NOTHING_SENT,
    sight: Sight = Sight.REVEALED,
    hidden: Hidden = Hidden.NOTHING,
    told: AgentTold | None = None,
    offer: SignatureOffer | None = None,
) -> QuestionView:
    """``refusal`` is the code why ``identity`` may not answer, ``None`` if they may. ``zone`` is the reader's, if
    the directory knows it; ``names`` are people's, for that reader. ``sight`` is how much this page can show, ``told``
    whether the agent knows the end, ``progress`` what has become of the notices; ``offer`` are lines that they may
    call their signature."""
    ask, reader = suspension.ask, Reader(now, names, zone)
    is_form = ask.response_type is ResponseType.FORM
    named = with_names(suspension, names)
    notice = build_notice(named, suspension.attempt, NoticeLinks(shared=place), identity, zone)
    may_approve = not suspension.to_reveal or sight is Sight.REVEALED
    has_answered = answer_of(suspension, identity) is not None
    state, attempted = state_of(suspension, now), attempted or Attempted()
    has_form = state is State.OPEN and refusal is None and suspension.undoable is None
    title, rest = title_of(ask.question)
    context, more_context = rows(ask.context)
    return QuestionView(
        notice=notice,
        title=title,
        prose=prose(rest),
        place=place,
        identity=identity,
        state=state,
        asked=reader.moment(ask.suspended_at),
        deadline=None if suspension.expires_at is None else reader.moment(suspension.expires_at),
        silence_until=_silence_until(suspension, reader),
        context=context,
        more_context=more_context,
        notes=tuple(note for note in notice.notes if note != so_far(named)),
        action=None if notice.action is None else action_view(notice.action),
        earlier_heading=earlier_answers.HEADING,
        earlier=tuple(
            EarlierView(one.by, one.told, reader.moment(one.at), one.ref, one.reason) for one in notice.earlier
        ),
        fields=form_fields(ask.form_schema, ask.context) if is_form else (),
        attempted=attempted,
        claim=_claim(suspension, reader),
        undo=_undo(suspension, reader),
        end=end_view(suspension, named, progress, reader, told, shows_accounts=sight is Sight.REVEALED),
        may_not=None if refusal is None else _MAY_NOT.get(refusal, "You can't answer this question."),
        may_ask_back=suspension.asks_back is None and len(suspension.clarifications) < MOST,
        others=() if _is_held(suspension, reader) else tuple(others),
        steps=steps(suspension, progress, reader),
        paused_at=None if progress.pause is None else reader.moment(progress.pause.at),
        given=given_answers(suspension, reader) if suspension.is_open else (),
        needed=ask.answers_required,
        needed_told=needed(named),
        kept=() if has_form else kept_words(ask, attempted.posted),
        hidden=hidden,
        may_approve=may_approve,
        question_page=question_place(ask.ref),
        recorded=recorded_partly(named, canonical(names.text(identity))) if has_answered else None,
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


def _silence_until(suspension: Suspension, reader: Reader) -> Moment | None:
    until = suspension.expires_at if suspension.asks_back is None else suspension.asks_back.until
    return None if until is None else reader.moment(until)


def _is_held(suspension: Suspension, reader: Reader) -> bool:
    """Whether another person is on it."""
    claim = _claim(suspension, reader)
    return claim is not None and not claim.is_mine


def _undo(suspension: Suspension, reader: Reader) -> UndoView | None:
    given = suspension.undoable
    if given is None:
        return None
    left = max(0, ceil((given.until - reader.now).total_seconds()))
    answer = shown_value(suspension, given.value)
    return UndoView(reader.names.text(given.by), answer, left, canonical(given.by) == reader.names.reader)


def _claim(suspension: Suspension, reader: Reader) -> ClaimView | None:
    claim = suspension.claim
    if claim is None or claim.until <= reader.now or not suspension.is_open:
        return None
    return ClaimView(reader.names.text(claim.by), reader.moment(claim.until), claim.by == reader.names.reader)
