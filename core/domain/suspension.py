"""Suspensions: the record of one question to a person, and its parts.

Everything in :class:`Ask` is frozen when the question opens: ladder, recipients and choices never follow later changes
of the configuration. The other fields of :class:`Suspension` move, and only through ``core.domain.machine``.

Source: RFC-0025 §4, §5; RFC-0026 §4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from handraise import negatives
from pydantic import JsonValue


class ResponseType(StrEnum):
    """What kind of answer is expected (RFC-0025 §4.1)."""

    CHOICE = "choice"
    CONFIRM = "confirm"
    TEXT = "text"
    FORM = "form"


class Kind(StrEnum):
    """``input`` waits for a decision; ``veto`` goes ahead unless somebody objects."""

    INPUT = "input"
    VETO = "veto"


class Status(StrEnum):
    """Where a suspension stands. Every value but ``open`` is the RFC's ``resolution``."""

    AWAITING = "open"
    RESPONDED = "responded"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


CLOSED = frozenset(Status) - {Status.AWAITING}


class ReasonWanted(StrEnum):
    """Whether a choice asks for a reason when it is pressed (``metadata.reason``, decision 0017)."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class Cut(IntEnum):
    """What is left out, where there is no room for all that the agent wrote; the more is at stake, the higher."""

    NOTHING = 0
    WORDS = 1
    """Of the question, its context or its choices."""
    ACTION = 2
    """Of what will run."""


class Sight(IntEnum):
    """How much of a question is shown where it is answered."""

    MESSAGE = 0
    """What its channel's message has room for."""
    WHOLE = 1
    """All of it: on its page, or in a modal of Slack's."""
    REVEALED = 2
    """All of it, and what redaction hides can be shown: on its page, signed in. The API hides nothing."""


class Style(StrEnum):
    """A hint for how a choice looks (RFC-0025 §4.2)."""

    PRIMARY = "primary"
    DANGER = "danger"
    DEFAULT = "default"


class PagerSeverity(StrEnum):
    """How urgent a page is, in PagerDuty's words (https://developer.pagerduty.com/docs/send-alert-event)."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class FallbackPolicy(StrEnum):
    """What happens when nobody answered (RFC-0025 §6)."""

    FAIL = "fail"
    COMPLETE_WITH_FALLBACK = "complete_with_fallback"
    USE_DEFAULT_AND_CONTINUE = "use_default_and_continue"

    @property
    def continues(self) -> bool:
        """Whether the agent goes on with the fallback value."""
        return self is not FallbackPolicy.FAIL


@dataclass(frozen=True, slots=True)
class Choice:
    """One option the responder may pick (RFC-0025 §4.2)."""

    value: str
    label: str
    description: str | None = None
    style: Style | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    answers_required: int | None = None
    """How many people have to give it; ``None`` leaves that to :func:`core.domain.quorum.required`."""

    @property
    def is_veto(self) -> bool:
        return self.metadata.get("veto") is True

    @property
    def on_acknowledge(self) -> bool:
        """Whether acknowledging a page *is* this answer."""
        return self.metadata.get("on_acknowledge") is True

    @property
    def reason_wanted(self) -> ReasonWanted | None:
        """``None`` if a press is enough, or if the metadata has another value."""
        return next((one for one in ReasonWanted if one == self.metadata.get("reason")), None)


YES_NO = (Choice("yes", "Yes"), Choice("no", "No"))
AUTHORIZE_VETO = (
    Choice("authorize", "Authorize", style=Style.PRIMARY),
    Choice("veto", "Veto", style=Style.DANGER, metadata={"veto": True}),
)


@dataclass(frozen=True, slots=True)
class Rung:
    """One entry of an escalation ladder: from this attempt's number, whom and how to ask instead (RFC-0026 §4.1)."""

    attempt: int
    channel_hint: str | None = None
    notify_to: str | None = None
    quiet: bool = False
    """Whether the attempt waits while everybody whom it asks is outside their working hours."""
    severity: PagerSeverity | None = None
    """How urgent the attempt's page is; ``None`` leaves that to the stated risk."""


@dataclass(frozen=True, slots=True)
class HumanRetryPolicy:
    """A resolved policy: how often, how far apart, whom next, and what then (RFC-0026 §4.1).

    ``interval`` is ``None`` only if a single attempt waits for ever.
    """

    max_attempts: int = 1
    interval: timedelta | None = None
    escalation_ladder: tuple[Rung, ...] = ()
    final_fallback_policy: FallbackPolicy = FallbackPolicy.FAIL

    def due_after(self, attempt: int) -> timedelta:
        """The time from the question's start to ``attempt``, by the ladder alone."""
        return timedelta() if self.interval is None else self.interval * (attempt - 1)

    def severity_at(self, attempt: int) -> PagerSeverity | None:
        """The page severity of the rung of ``attempt``, if it has one."""
        return next((rung.severity for rung in self.escalation_ladder if rung.attempt == attempt), None)


@dataclass(frozen=True, slots=True)
class PlannedAttempt:
    """What attempt ``number`` will do, resolved and frozen at suspension.

    ``notify_to`` is from the rung or the call, ``None`` if neither gave one; ``recipients`` are the references that
    will be asked. ``rung``: the attempt has a ladder entry; ``quiet``: that entry is quiet. ``waits_until`` is when it
    goes out if that is later than the ladder's own time.
    """

    number: int
    channel: str
    notify_to: str | None
    recipients: tuple[str, ...]
    rung: bool = False
    quiet: bool = False
    waits_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """How the waiting agent goes on. ``state`` is the agent's own and returns to it untouched."""

    session_id: str | None = None
    callback_url: str | None = None
    state: JsonValue = None
    invocation_id: str | None = None
    correlation_id: str | None = None
    signal_id: str | None = None
    signal_metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    payload_schema: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class AskDigests:
    """The digests by which a repeated ask is recognised (``core.domain.same_ask``): of its whole body, and of its
    terms alone."""

    body: str | None = None
    terms: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFields:
    """What whoever asks may say of a question, and the question keeps as it was said. A field that is added here is in
    the request and in the record.

    ``traceparent`` is the span in which it was asked for (W3C Trace Context), where spans are made.
    """

    channel_hint: str | None = None
    notify_to: str | None = None
    responders: tuple[str, ...] = ()
    answers_required: int = 1
    timeout: timedelta | None = None
    deadline: timedelta | None = None
    fallback_value: JsonValue = None
    confidence: float | None = None
    decision_record: Mapping[str, JsonValue] | None = None
    kind: Kind = Kind.INPUT
    action: Mapping[str, JsonValue] | None = None
    form_schema: Mapping[str, JsonValue] | None = None
    on_behalf_of: str | None = None
    resume: Resume = field(default_factory=Resume)
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Ask(AskFields):
    """Everything about a suspension that never changes once it is open."""

    id: str
    ref: str
    intent_id: str
    created_by: str
    question: str
    response_type: ResponseType
    choices: tuple[Choice, ...]
    context: Mapping[str, JsonValue]
    suspended_at: datetime
    attempts: tuple[PlannedAttempt, ...]
    policy: HumanRetryPolicy
    expires_at: datetime | None = None
    with_retry_policy: bool = False
    action_digest: str | None = None
    keeps_its_times: bool = False
    """Whether its times stay what they were agreed to be, through outages of ours too: the agent has a clock of its
    own, and does not read ours."""
    digests: AskDigests | None = None
    """``None`` if nothing is ever taken for the same ask, and for what an older version has opened."""

    @property
    def max_attempts(self) -> int:
        return self.policy.max_attempts

    @property
    def ladder_ends_at(self) -> datetime | None:
        """When its last attempt has waited long enough, whatever the deadline is."""
        if self.deadline is None or self.kind is Kind.VETO or self.policy.interval is None:
            return self.expires_at
        return self.suspended_at + self.policy.interval * self.policy.max_attempts

    def due_at(self, attempt: int) -> datetime:
        """When ``attempt`` is due, anchored at the start so that a slow worker does not bend the ladder."""
        if (waits_until := self.planned(attempt).waits_until) is not None:
            return waits_until
        return self.suspended_at + self.policy.due_after(attempt)

    def planned(self, attempt: int) -> PlannedAttempt:
        return self.attempts[attempt - 1]

    def gives_way(self, attempt: int) -> bool:
        """Whether ``attempt`` would come at the same time as the next one, which then stands for both."""
        return attempt < self.max_attempts and self.due_at(attempt) == self.due_at(attempt + 1)

    def choice(self, value: JsonValue) -> Choice | None:
        return next((choice for choice in self.choices if choice.value == value), None)

    def is_negative(self, value: JsonValue) -> bool:
        """Whether this answer says no (:mod:`handraise.negatives`). A text or a form never does."""
        choice = self.choice(value)
        if choice is None:
            return False
        others = (other.value for other in self.choices if other is not choice)
        return negatives.is_negative(choice.value, choice.metadata, others)


@dataclass(frozen=True, slots=True)
class Claim:
    """A person has said "I'm on it". Holds attempts back; never an answer.

    ``refused`` is the attempt whose every recipient was refused meanwhile: the next one is due when the claim ends.
    """

    by: str
    until: datetime
    channel: str
    refused: int | None = None


@dataclass(frozen=True, slots=True)
class Via:
    """The evidence of an answer: where to find it in its channel. It authorises nothing.

    ``account`` is the vendor's name for the person (``U0ALICE``, a mail's From, a key's name), ``delivery_id`` our
    message that was answered, ``message_id`` the vendor's id of their action (``C0OPS/1732.01``, a Message-ID, an
    event), ``session`` a digest of the signed-in session. ``sender`` is the real sender of a mail, if it differs from
    its author.
    """

    channel: str
    account: str | None = None
    delivery_id: str | None = None
    message_id: str | None = None
    session: str | None = None
    sender: str | None = None


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """One person's answer to a question that needs several (``core.domain.quorum``)."""

    by: str
    value: JsonValue
    at: datetime
    channel: str
    reason: str | None = None
    via: Via | None = None


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """One person's answer to another question about the same action (``core.domain.earlier_answers``).

    ``label`` is the label of the choice with that ``value``, if there was one.
    """

    ref: str
    by: str
    value: JsonValue
    at: datetime
    reason: str | None = None
    label: str | None = None

    @property
    def told(self) -> str:
        """The answer for people."""
        return told_value(self.value) if self.label is None else self.label


def told_value(value: JsonValue) -> str:
    """A value that is not a choice, for people."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return str(value)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The question was handed over ``to`` one person (``core.domain.machine``)."""

    to: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Clarification:
    """A responder has asked the agent back (``core.domain.clarification``).

    The clock holds until ``closed_at``, at the latest until ``until``; ``text`` is the agent's answer, even a late one.
    """

    question: str
    by: str
    asked_at: datetime
    until: datetime
    closed_at: datetime | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class UndoableAnswer:
    """The answer that ends the question at ``until``, unless whoever gave it undoes it (``core.domain.undo``)."""

    value: JsonValue
    by: str
    at: datetime
    until: datetime
    channel: str
    reason: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    via: Via | None = None


class ActionStatus(StrEnum):
    """What came of an action, as the agent reports it."""

    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ActionReport:
    """The result of an action in the agent's words (API.md §5). ``url`` leads to more, over HTTP or HTTPS."""

    status: ActionStatus
    text: str | None
    url: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """How a suspension ended. ``by`` and ``channel`` are ``None`` if time ended it; ``reported`` is the agent's
    report of the result since then."""

    at: datetime
    value: JsonValue = None
    by: str | None = None
    channel: str | None = None
    reason: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    error: str | None = None
    via: Via | None = None
    reported: ActionReport | None = None


@dataclass(frozen=True, slots=True)
class Suspension:
    """One question and its progress.

    ``attempt`` is the last attempt that went out; ``held`` are the numbers that came due while a claim held them.
    ``shift`` is how far all remaining times have moved since it was asked (API.md §3), ``outage_shift`` the part of it
    from our own outages, which alone moves a deadline. ``look_at`` is when the clock has to look at this record again,
    ``None`` for never. ``answers`` are those so far if several are needed, ``assigned`` its hand-overs,
    ``clarifications`` the questions to the agent; each in order. ``undoable`` is the answer that is about to end it.
    """

    ask: Ask
    status: Status = Status.AWAITING
    attempt: int = 1
    held: tuple[int, ...] = ()
    claim: Claim | None = None
    ended: Ended | None = None
    shift: timedelta = timedelta(0)
    outage_shift: timedelta = timedelta(0)
    look_at: datetime | None = None
    version: int = 1
    answers: tuple[PartialAnswer, ...] = ()
    assigned: tuple[Assignment, ...] = ()
    clarifications: tuple[Clarification, ...] = ()
    undoable: UndoableAnswer | None = None
    agents: tuple[str, ...] = ()
    """Whose intent it is beside whoever asked: owner and members, those of the start and those added since. None of
    them answers (API.md §7)."""
    in_part: Cut = Cut.NOTHING
    """Only of what people are shown (``core.domain.redaction.redaction``): what of the agent's words it lacks."""
    to_reveal: bool = False
    """Only of what people are shown: its action hides something that has to be revealed before it is approved."""
    earlier: tuple[EarlierAnswer, ...] = ()
    """Only of what people are shown: what was answered before to the same action, the latest first."""

    @property
    def id(self) -> str:
        return self.ask.id

    @property
    def is_open(self) -> bool:
        return self.status is Status.AWAITING

    @property
    def expires_at(self) -> datetime | None:
        """When silence ends it, ``None`` if it waits for ever."""
        end, deadline = self.ask.ladder_ends_at, self.deadline_at
        if end is None:
            return None
        return end + self.shift if deadline is None else min(end + self.shift, deadline)

    @property
    def deadline_at(self) -> datetime | None:
        """The latest end by silence, ``None`` if no deadline was given."""
        deadline = self.ask.deadline
        return None if deadline is None else self.ask.suspended_at + deadline + self.outage_shift

    def due_at(self, attempt: int) -> datetime:
        """When ``attempt`` is due: the time agreed at the start, plus the shift. Asking back moves no attempt into
        the last half interval before a deadline, so that nobody is left out by it."""
        agreed = self.ask.due_at(attempt)
        if self.deadline_at is None or self.ask.policy.interval is None:
            return agreed + self.shift
        latest = max(agreed + self.outage_shift, self.deadline_at - self.ask.policy.interval / 2)
        return min(agreed + self.shift, latest)

    def gives_way(self, attempt: int) -> bool:
        """Whether ``attempt`` comes at the same time as the next one, which then stands for both."""
        return attempt < self.ask.max_attempts and self.due_at(attempt) == self.due_at(attempt + 1)

    @property
    def asked(self) -> tuple[str, ...]:
        """Everybody who has been asked so far, by an attempt or as an assignee, in order and once."""
        attempted = (ref for step in self.ask.attempts[: self.attempt] for ref in step.recipients)
        return tuple(dict.fromkeys((*attempted, *(one.to for one in self.assigned))))

    @property
    def assigned_to(self) -> str | None:
        """The last person that it was handed over to."""
        return self.assigned[-1].to if self.assigned else None

    @property
    def asks_back(self) -> Clarification | None:
        """What the agent has to clarify before the clock goes on."""
        latest = self.clarifications[-1] if self.clarifications else None
        return latest if self.is_open and latest is not None and latest.closed_at is None else None
