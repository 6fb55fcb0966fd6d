"""Notices: what a responder is shown. The question at attempt *n*, its ending, and the short messages in between.

They are built from the record alone, so that every channel says the same. The layout is the channel's ``render``.

Source: RFC-0026 §4.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from enum import Enum, StrEnum, auto
from typing import Any

from pydantic import JsonValue

from core.domain.action import ShownAction, shown_action
from core.domain.channels import called
from core.domain.clarification import MOST
from core.domain.earlier_answers import shown
from core.domain.quorum import responders
from core.domain.silence import Silence, silence_of, what_silence_means
from core.domain.suspension import (
    ActionReport,
    Ask,
    Cut,
    EarlierAnswer,
    Ended,
    Kind,
    PagerSeverity,
    ResponseType,
    Sight,
    Status,
    Style,
    Suspension,
)
from core.domain.wording import (
    AgentTold,
    Risk,
    agent_told,
    next_step,
    notes,
    shown_value,
    stated_risk,
    told_at,
    told_risk,
)


class WhenCut(Enum):
    """Where a question is answered that a channel can't show whole (``answers.require_open_when_cut``)."""

    ANSWER = auto()
    """Where it is shown."""
    OPEN = auto()
    """Only where all of it is shown: on its page, or in a modal of Slack's. So it is always if its action is cut."""


@dataclass(frozen=True, slots=True)
class NoticeChoice:
    """A choice for display. ``index`` (from 0) is what comes back; ``number`` is what a person types."""

    index: int
    label: str
    value: str
    description: str | None = None
    style: Style | None = None
    on_acknowledge: bool = False
    negative: bool = False
    """Whether it says no: it may be given wherever the question is met."""
    confirm: bool = False
    """Whether one press is too little (``metadata.confirm``)."""

    @property
    def number(self) -> int:
        return self.index + 1


@dataclass(frozen=True, slots=True)
class NoticeLinks:
    """Where the question can be answered in a browser.

    ``personal`` is the page of one recipient (``/a/{token}``), ``None`` for a shared place; ``shared`` (``/q/{ref}``)
    asks to sign in and may be seen by anybody. ``reply_token`` makes the mail's Reply-To.
    """

    shared: str
    personal: str | None = None
    reply_token: str | None = None

    @property
    def best(self) -> str:
        return self.personal or self.shared


@dataclass(frozen=True, slots=True)
class Notice:
    """One question for one recipient at one attempt. Never holds the ``suspension_id``.

    ``notes`` say what people have done with it (``core.domain.wording``). ``silence`` says what happens if nobody
    answers, ``next_step`` what happens before that. ``zone`` is the reader's, if known. ``stakes`` is the risk that the
    agent has stated, ``None`` if it stated none; ``risk`` is what is shown of it in words. ``unanswered`` is
    ``silence`` in a few words, and ``made_at`` the time that these are relative to, if known. ``severity`` is the
    page's by the attempt's rung, or ``None``.
    """

    ref: str
    question: str
    response_type: ResponseType
    choices: tuple[NoticeChoice, ...]
    context: Mapping[str, JsonValue]
    attempt: int
    max_attempts: int
    asked_by: str
    asked_at: datetime
    expires_at: datetime | None
    silence: str
    links: NoticeLinks
    kind: Kind = Kind.INPUT
    form_schema: Mapping[str, JsonValue] | None = None
    risk: str | None = None
    notes: tuple[str, ...] = ()
    next_step: str | None = None
    zone: tzinfo | None = None
    stakes: Risk | None = None
    severity: PagerSeverity | None = None
    action: ShownAction | None = None
    in_part: Cut = Cut.NOTHING
    to_reveal: bool = False
    """Whether its action hides something that has to be revealed before it is approved."""
    earlier: tuple[EarlierAnswer, ...] = ()
    """What was answered before to the same action, the latest first. A message has room for a few of them
    (``core.domain.earlier_answers.in_message``)."""
    unanswered: Silence | None = None
    made_at: datetime | None = None
    is_answered: bool = False
    """Whether an answer is about to end it, which only who gave it can undo."""
    claimed_by: str | None = None
    """Who is on it."""
    may_ask_back: bool = True
    """Whether the agent can be asked back now."""

    @property
    def in_short(self) -> str:
        """What silence does, in one line."""
        return self.silence if self.unanswered is None else self.unanswered.in_short(self.made_at, self.zone)

    @property
    def in_brief(self) -> str:
        """:attr:`in_short` without the time left."""
        if self.unanswered is None:
            return self.silence
        return self.unanswered.in_short(self.made_at, self.zone, with_span=False)

    @property
    def negatives(self) -> tuple[NoticeChoice, ...]:
        return tuple(choice for choice in self.choices if choice.negative)

    @property
    def headline(self) -> str:
        """The attempt in words: a first request, a reminder, or the last one."""
        if self.attempt == 1:
            return "Input needed" if self.kind is Kind.INPUT else "About to go ahead"
        if self.attempt < self.max_attempts:
            return f"Reminder ({self.attempt} of {self.max_attempts})"
        return "URGENT: final reminder"


@dataclass(frozen=True, slots=True)
class Ending:
    """How the question ended, for everybody who was asked.

    ``answer`` is the label (or the text) to show, ``None`` if nobody answered; ``continued_with`` is the agent's value
    after silence. ``given`` of the ``needed`` answers had come by then. ``zone`` is the reader's, if any; ``told`` says
    whether the agent knows, if known. ``report`` is the agent's report of the result. ``asked_by``, ``context`` and
    ``action`` are the question's, ``reason`` is the words of whoever ended it.
    """

    ref: str
    question: str
    resolution: Status
    at: datetime
    answer: str | None = None
    by: str | None = None
    channel: str | None = None
    continued_with: str | None = None
    links: NoticeLinks | None = None
    given: int = 0
    needed: int = 1
    zone: tzinfo | None = None
    told: AgentTold | None = None
    report: ActionReport | None = None
    reason: str | None = None
    asked_by: str = ""
    context: Mapping[str, JsonValue] = field(default_factory=dict)
    action: ShownAction | None = None

    @property
    def sentence(self) -> str:
        """One line of plain text, without the question."""
        when = told_at(self.at, self.zone)
        match self.resolution:
            case Status.RESPONDED:
                return f"Answered “{self.answer}” by {self.by} via {self.way}, {when}."
            case Status.CANCELLED:
                return f"Cancelled by {self.by}, {when}. No answer is needed any more."
            case _:
                return f"{self._who_answered} by {when}. {self.silence}"

    @property
    def way(self) -> str:
        """By which way the answer came, as people call it; empty if there is none."""
        return called(self.channel or "")

    @property
    def silence(self) -> str:
        """What silence did, as a sentence."""
        onward = "" if self.continued_with is None else f" with “{self.continued_with}”"
        return f"The agent {self.proceeds}{onward}."

    @property
    def proceeds(self) -> str:
        """What the agent does after silence, as a verb: not in the past while it still has to be told."""
        goes_on, was_to, went_on = _STOPS if self.continued_with is None else _GOES_ON
        if self.told is AgentTold.NOT_YET:
            return goes_on
        return was_to if self.told is not None and self.told.never else went_on

    @property
    def agent(self) -> str:
        """Whether the agent knows, as a sentence; empty if that is unknown."""
        return "" if self.told is None else agent_told(self.told)

    @property
    def _who_answered(self) -> str:
        if not self.given:
            return "Nobody answered"
        if self.given < self.needed:
            return f"Only {self.given} of {self.needed} people answered"
        return f"{self.given} people gave different answers"


_GOES_ON = ("goes on", "was to go on", "went on")
_STOPS = ("stops", "was to stop", "stopped")


class Purpose(StrEnum):
    """Why a short message is sent."""

    SIGN_IN = "sign_in"
    CONFIRMATION = "confirmation"
    TOO_LATE = "too_late"
    CLARIFICATION = "clarification"
    CLARIFIED = "clarified"
    ENDED = "ended"
    """How a question ended, for whoever would not hear otherwise."""
    UNTOLD = "untold"
    """The agent has not been told of an answer, for whoever gave it."""
    FAILED = "failed"
    """What somebody has decided came to nothing."""
    ALERT = "alert"
    NOTE = "note"
    """Beside the question, for whoever looks there: nobody is interrupted."""
    REQUEST = "request"
    """Calls one more person to a question that was asked where others are."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The answer that the writer of an undecided reply may confirm (API.md §6): the option at ``index``, which the
    first line names, with its ``value`` for display; or, without an index, a text or the fields of a form."""

    index: int | None
    value: JsonValue

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Proposal | None:
        """From a message's row."""
        kept = body.get("proposal")
        return cls(kept["index"], kept["value"]) if isinstance(kept, dict) else None

    def kept(self) -> dict[str, JsonValue]:
        return {"index": self.index, "value": self.value}


class LinkTarget(StrEnum):
    """What the link of a short message opens."""

    QUESTION = "question"
    SIGN_IN = "sign_in"


@dataclass(frozen=True, slots=True)
class MessageLink:
    """The link of a short message, made when the message is sent (``core.delivery.links``) and never stored.
    ``onward`` is the page after a sign-in."""

    opens: LinkTarget
    onward: str = ""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> MessageLink | None:
        """From a message's row."""
        kept = body.get("link_to")
        return cls(LinkTarget(kept["opens"]), kept["onward"]) if isinstance(kept, dict) else None

    def kept(self) -> dict[str, JsonValue]:
        return {"opens": self.opens.value, "onward": self.onward}


DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class Message:
    """A short message to one address: plain text, with at most one link. Its writer says by ``link_to`` which link
    it should have, and ``link`` is set when it is sent. ``ref`` threads it under its question; ``reply_token`` makes
    the mail's Reply-To if it may be answered. ``choices`` are those in ``text`` that can still be taken,
    ``proposal`` is the proposed answer. ``language`` is that of ``text``."""

    purpose: Purpose
    subject: str
    text: str
    link: str | None = None
    ref: str | None = None
    reply_token: str | None = None
    choices: tuple[NoticeChoice, ...] = ()
    proposal: Proposal | None = None
    link_to: MessageLink | None = None
    language: str = DEFAULT_LANGUAGE


def build_notice(
    suspension: Suspension,
    attempt: int,
    links: NoticeLinks,
    reader: str | None = None,
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> Notice:
    """The notice of ``attempt`` for the recipient of ``links``: the person ``reader``, who lives in ``zone``, as far
    as known. ``now`` is set if the notice is to say how long there is."""
    ask = suspension.ask
    stakes = stated_risk(ask.decision_record, ask.context)
    return Notice(
        ref=ask.ref,
        question=ask.question,
        response_type=ask.response_type,
        choices=shown_choices(ask),
        context=ask.context,
        attempt=attempt,
        max_attempts=ask.max_attempts,
        asked_by=ask.created_by,
        asked_at=ask.suspended_at,
        expires_at=suspension.expires_at,
        silence=what_silence_means(suspension, zone),
        links=links,
        kind=ask.kind,
        form_schema=ask.form_schema,
        notes=notes(suspension, zone),
        next_step=next_step(suspension, attempt, reader, zone),
        zone=zone,
        risk=told_risk(stakes),
        stakes=stakes,
        severity=ask.policy.severity_at(attempt),
        action=shown_action(ask.action, ask.action_digest),
        in_part=suspension.in_part,
        to_reveal=suspension.to_reveal,
        earlier=tuple(map(shown, suspension.earlier)),
        unanswered=silence_of(suspension),
        made_at=now,
        is_answered=suspension.undoable is not None,
        claimed_by=None if suspension.claim is None else suspension.claim.by,
        may_ask_back=suspension.asks_back is None and len(suspension.clarifications) < MOST,
    )


def sight_needed(notice: Notice, cut: Cut, when_cut: WhenCut) -> Sight:
    """How much has to be shown for any answer but a negative choice, if a message leaves out ``cut`` (API.md §2)."""
    if notice.to_reveal:
        return Sight.REVEALED
    if cut is Cut.ACTION or (cut is Cut.WORDS and when_cut is WhenCut.OPEN):
        return Sight.WHOLE
    return Sight.MESSAGE


def shown_choices(ask: Ask) -> tuple[NoticeChoice, ...]:
    return tuple(
        NoticeChoice(
            index,
            choice.label,
            choice.value,
            choice.description,
            choice.style,
            choice.on_acknowledge,
            ask.is_negative(choice.value),
            choice.metadata.get("confirm") is True,
        )
        for index, choice in enumerate(ask.choices)
    )


def _by(suspension: Suspension, ended: Ended) -> str | None:
    """Everybody who gave the answer that counts."""
    together = [str(name) for name in responders(suspension, ended.value)]
    return " and ".join(together) if together else ended.by


def build_ending(
    suspension: Suspension,
    links: NoticeLinks | None = None,
    zone: tzinfo | None = None,
    told: AgentTold | None = None,
) -> Ending:
    """The ending of an ended suspension. Raises ``ValueError`` while it is open."""
    ended = suspension.ended
    if ended is None:
        raise ValueError("the suspension is still open")
    answered = suspension.status is Status.RESPONDED
    went_on = suspension.status is Status.EXPIRED and ended.error is None
    return Ending(
        ref=suspension.ask.ref,
        question=suspension.ask.question,
        resolution=suspension.status,
        at=ended.at,
        answer=shown_value(suspension, ended.value) if answered else None,
        by=_by(suspension, ended) if answered else ended.by,
        channel=ended.channel,
        continued_with=shown_value(suspension, ended.value) if went_on else None,
        links=links,
        given=len(suspension.answers),
        needed=suspension.ask.answers_required,
        zone=zone,
        told=told,
        report=ended.reported,
        reason=ended.reason,
        asked_by=suspension.ask.created_by,
        context=suspension.ask.context,
        action=shown_action(suspension.ask.action, suspension.ask.action_digest),
    )
