"""Rows of the inbox: from a record to what one line of it shows, and whether it is answered there. Pure.

A row is answered where it stands only once it is unfolded to the whole of what is asked. What can't be shown there, or
takes more than a press, is answered on the question's own page.

Source: docs/decisions/0120.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from bot.web.pages.moments import Moment, Reader
from bot.web.pages.person_names import with_names
from bot.web.pages.urls import question_place
from bot.web.pages.view import Hidden, QuestionView, State, hides_anything, state_of, view_question
from core.domain import quorum
from core.domain.action_summary import in_short
from core.domain.notice import NoticeLinks, build_ending, build_notice
from core.domain.redaction.redaction import PAGE, Redaction
from core.domain.suspension import Ask, Kind, ReasonWanted, ResponseType, Sight, Status, Suspension
from core.domain.wording import Risk, next_in_short, shortened, stated_risk

BEGINNING = 300
"""Characters of a question that a row shows; its own page has all of it."""
MOST_CHOICES = 3
LONGEST = 6_000
"""Characters of a question, its context and its action together that a row has room for."""


def name_of(reader: Reader, identity: str) -> str:
    names = reader.names
    return "you" if names.identity_of(identity) == names.reader else names.text(identity)


@dataclass(frozen=True, slots=True)
class EndedRow:
    """``result`` is the answer, or how it ended without one; ``by`` is ``None`` if time ended it."""

    result: str
    by: str | None
    at: Moment
    status: str


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One line. ``risk`` is what the agent says if it is high; ``action`` the action in short; ``quorum`` ``1/2``;
    ``claim`` who is on it; ``next`` what the ladder does next. ``whole`` is all of the question if it is answered here,
    else ``elsewhere`` says why it leads to its page. ``revision`` is what is shown of it, as a mark."""

    ref: str
    place: str
    question: str
    asked_by: str
    asked: Moment
    headline: str
    is_last_call: bool
    risk: Risk | None
    action: str | None
    quorum: str | None
    claim: str | None
    next: str | None
    deadline: Moment | None
    ended: EndedRow | None
    whole: QuestionView | None
    elsewhere: str | None
    revision: str


@dataclass(frozen=True, slots=True)
class Withheld:
    """A question that the reader took part in, and may not read any more."""

    ref: str


def is_long(ask: Ask) -> bool:
    parts = (ask.context, ask.action, [[one.label, one.description] for one in ask.choices])
    return len(ask.question) + sum(len(json.dumps(part, ensure_ascii=False)) for part in parts) > LONGEST


def to_show(suspension: Suspension) -> Suspension:
    """What a row shows something of: of a long question neither context nor action, so that no list takes seconds."""
    if not is_long(suspension.ask):
        return suspension
    ask = suspension.ask
    return replace(suspension, ask=replace(ask, context={}, action=None, form_schema=None), clarifications=())


def why_elsewhere(suspension: Suspension, shown: Suspension, now: datetime) -> str | None:
    """Why it is answered on its own page alone; ``None`` if it can be answered in a row, and with others."""
    ask = suspension.ask
    reasons = (
        (state_of(suspension, now) is not State.OPEN, "its deadline has passed"),
        (ask.response_type is ResponseType.FORM, "a form is to be filled in"),
        (ask.response_type is ResponseType.TEXT, "a text is asked for"),
        (ask.kind is Kind.VETO, "who has seen a veto is noted on its page"),
        (len(ask.choices) > MOST_CHOICES, f"it has {len(ask.choices)} choices"),
        (any(one.reason_wanted is ReasonWanted.REQUIRED for one in ask.choices), "a reason is required"),
        (is_long(ask), "it is long"),
        (suspension.undoable is not None, "somebody has just answered it, and can undo that for a moment"),
        (shown.to_reveal, "a part of it has to be revealed first"),
    )
    return next((why for is_so, why in reasons if is_so), None)


def revision(suspension: Suspension) -> str:
    """A mark of what whoever answers has before them: it changes with what was clarified or answered meanwhile, and not
    with a reminder. The question's id is in it: nobody else makes one."""
    ask = suspension.ask
    shown = [ask.id, ask.question, ask.action_digest, [one.value for one in ask.choices]]
    clarified = [[one.question, one.text] for one in suspension.clarifications]
    answered = [[one.by, one.at.isoformat()] for one in suspension.answers]
    return hashlib.sha256(json.dumps([shown, clarified, answered]).encode()).hexdigest()[:24]


def row(suspension: Suspension, shown: Suspension, redaction: Redaction, reader: Reader) -> InboxRow:
    """``shown`` is :func:`to_show` of it, redacted for a page."""
    ask, claim, now = suspension.ask, suspension.claim, reader.now
    place = question_place(ask.ref)
    elsewhere = why_elsewhere(suspension, shown, now) if suspension.is_open else None
    notice = build_notice(with_names(shown, reader.names), shown.attempt, NoticeLinks(shared=place))
    risk = stated_risk(ask.decision_record, ask.context)
    is_held = suspension.is_open and claim is not None and claim.until > now
    whole = None
    if suspension.is_open and elsewhere is None:
        hidden = Hidden.TO_REVEAL if hides_anything(shown) else Hidden.NOTHING
        whole = view_question(
            shown,
            reader.names.reader,
            now,
            place=place,
            names=reader.names,
            zone=reader.zone,
            sight=Sight.WHOLE,
            hidden=hidden,
        )
    question = shortened(redaction.text_on(PAGE, ask.question, 2 * BEGINNING).strip().partition("\n")[0], BEGINNING)
    return InboxRow(
        ref=ask.ref,
        place=place,
        question=question,
        asked_by=notice.asked_by,
        asked=reader.moment(ask.suspended_at),
        headline=notice.headline,
        is_last_call=suspension.is_open and 1 < ask.max_attempts == suspension.attempt,
        risk=risk if risk in {Risk.HIGH, Risk.CRITICAL} else None,
        action=_action(ask, shown),
        quorum=_quorum(suspension),
        claim=name_of(reader, claim.by) if claim is not None and is_held else None,
        next=next_in_short(suspension, now, partial(_asked, reader)) if suspension.is_open else None,
        deadline=None if suspension.expires_at is None else reader.moment(suspension.expires_at),
        ended=_ended(shown, reader),
        whole=whole,
        elsewhere=elsewhere,
        revision=revision(suspension),
    )


def _asked(reader: Reader, identity: str) -> str:
    return reader.names.asked(identity).text


def _action(ask: Ask, shown: Suspension) -> str | None:
    if ask.action is None:
        return None
    return in_short(shown.ask.action) if shown.ask.action is not None else "a long action"


def _quorum(suspension: Suspension) -> str | None:
    """How many of the answers that most choices need have come."""
    if not quorum.is_shared(suspension):
        return None
    return f"{len(suspension.answers)}/{suspension.ask.answers_required}"


def _ended(shown: Suspension, reader: Reader) -> EndedRow | None:
    ended = shown.ended
    if ended is None:
        return None
    ending = build_ending(shown, zone=reader.zone)
    at = reader.moment(ended.at)
    match shown.status:
        case Status.RESPONDED:
            result = shortened(ending.answer or "answered", 80)
        case Status.CANCELLED:
            result = "Cancelled"
        case _:
            went_on = ending.continued_with
            result = "Nobody answered" + ("" if went_on is None else f": {shortened(went_on, 60)}")
    by = None if ended.by is None else name_of(reader, ended.by)
    if shown.answers and shown.status is Status.RESPONDED:
        by = " and ".join(name_of(reader, str(one)) for one in quorum.responders(shown, ended.value))
    return EndedRow(result, by, at, shown.status.value)
