"""Records: the server's replies about a question: that it waits, its state, and how it ended.

Unknown fields are kept and known ones may be missing, so that an older agent works with a newer server.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar, overload

from pydantic import AfterValidator, BaseModel, Field, JsonValue, model_validator

from handraise import tool_results
from handraise.errors import HandraiseError
from handraise.negatives import is_affirmative, is_negative
from handraise.questions import HumanRetryPolicy, ResumeTarget, SuspensionChoice, Wire

Model = TypeVar("Model", bound=BaseModel)


def _utc(instant: datetime) -> datetime:
    """Naive instants are UTC (API.md §1)."""
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


Instant = Annotated[datetime, AfterValidator(_utc)]
JsonObject = Mapping[str, JsonValue]


class Received(Wire):
    """A reply of the server. ``null`` means absent (API.md §1)."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if value is not None}


class InputResponse(Received):
    """A person's answer, and who gave it (RFC-0025 §10)."""

    suspension_id: str
    value: JsonValue = None
    choice_label: str | None = None
    choice_description: str | None = None
    responded_by: str | None = None
    responded_at: Instant | None = None
    metadata: JsonObject = Field(default_factory=dict)


class Clarification(Received):
    """A person's question to the agent. ``text`` is the agent's answer; while ``held_until`` is set, the clock waits
    for it."""

    question: str
    asked_by: str | None = None
    asked_at: Instant | None = None
    text: str | None = None
    held_until: Instant | None = None


class ActionReport(Received):
    """The result of an action, as the agent has reported it (:meth:`Handraise.report_outcome`)."""

    status: str
    text: str | None = None
    url: str | None = None
    at: Instant | None = None


class GivenAnswer(Received):
    """One person's answer to a question that needs several."""

    value: JsonValue = None
    responded_by: str | None = None
    responded_at: Instant | None = None
    channel: str | None = None
    reason: str | None = None


class SuspensionRecord(Received):
    """One question and how far it has come (RFC-0025 §5). ``id`` is a secret: it goes to nobody but the agent.

    ``resolution`` is ``None`` while it is open. ``continued_with`` is what silence meant: the fallback value, or the
    choice to go ahead of a veto window. ``receipt`` proves what was answered about ``action``
    (:meth:`Handraise.execute_once`). ``resume`` is what the key that asked said of how it goes on, ``signal_payload``
    what it goes on with: ``None`` unless there is an answer, or silence was agreed to mean something. Both have a value
    for that key alone, in :meth:`Handraise.get` and :meth:`Handraise.wait`.
    """

    id: str
    question: str
    intent_id: str | None = None
    ref: str | None = None
    kind: str = "input"
    response_type: str = "choice"
    choices: tuple[SuspensionChoice, ...] = ()
    context: JsonObject = Field(default_factory=dict)
    channel_hint: str | None = None
    notify_to: str | None = None
    responders: tuple[str, ...] = ()
    suspended_at: Instant | None = None
    timeout_seconds: int | None = None
    deadline_seconds: int | None = None
    expires_at: Instant | None = None
    fallback_value: JsonValue = None
    fallback_policy: str | None = None
    retry_policy: HumanRetryPolicy | None = None
    confidence_at_suspension: float | None = None
    decision_record: JsonObject | None = None
    action: JsonObject | None = None
    action_digest: str | None = None
    form_schema: JsonObject | None = None
    on_behalf_of: str | None = None
    session_id: str | None = None
    invocation_id: str | None = None
    correlation_id: str | None = None
    signal_id: str | None = None
    created_by: str | None = None
    status: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    next_attempt_at: Instant | None = None
    claimed_by: str | None = None
    claim_until: Instant | None = None
    assigned_to: str | None = None
    clarification: Clarification | None = None
    answers_required: int | None = None
    answers_received: int | None = None
    answers: tuple[GivenAnswer, ...] = ()
    response: JsonValue = None
    responded_by: str | None = None
    responded_at: Instant | None = None
    resolution: str | None = None
    ended_at: Instant | None = None
    channel: str | None = None
    reason: str | None = None
    metadata: JsonObject = Field(default_factory=dict)
    error: str | None = None
    continued_with: JsonValue = None
    reported: ActionReport | None = None
    resume: ResumeTarget | None = None
    signal_payload: JsonValue = None
    receipt: str | None = None

    @property
    def is_open(self) -> bool:
        return self.resolution is None

    @property
    def answer(self) -> InputResponse | None:
        """The person's answer; ``None`` if time or a cancellation ended it, and while it is open."""
        if self.resolution != "responded":
            return None
        choice = self._choice(self.response)
        return InputResponse(
            suspension_id=self.id,
            value=self.response,
            choice_label=choice.label if choice else None,
            choice_description=choice.description if choice else None,
            responded_by=self.responded_by,
            responded_at=self.responded_at,
            metadata=self.metadata,
        )

    @property
    def is_denial(self) -> bool:
        """Whether a person has answered, and said no (:mod:`handraise.negatives`). Silence never does, nor a text or a
        form."""
        choice = self._choice(self.response)
        if self.resolution != "responded" or choice is None:
            return False
        others = (other.value for other in self.choices if other is not choice)
        return is_negative(choice.value, choice.metadata or {}, others)

    def tool_result(self) -> str:
        """What to tell the model, as the result of the tool that asked: one to three sentences (:mod:`tool_results`).

        There is a text for every ending, and while the question is open: approved, another choice, a text or a form,
        denied with the reason, nobody answered and whether a fallback applies, taken back, asked back. It has no secret
        in it.
        """
        match self.resolution:
            case "responded":
                return self._told_answer()
            case "expired":
                return self._told_silence()
            case "cancelled":
                return tool_results.cancelled(self.ref, self.reason)
            case None if self.clarification is not None and self.clarification.held_until is not None:
                return tool_results.asked_back(self.ref, self.clarification.question)
            case None:
                return tool_results.still_open(self.ref)
        return tool_results.ended_otherwise(self.ref, self.resolution)

    def _told_silence(self) -> str:
        if self.error is None and self.continued_with is not None:
            return tool_results.silence_means(self.ref, self.continued_with, self._label(self.continued_with))
        return tool_results.silent(self.ref, self.error)

    def _told_answer(self) -> str:
        label = self._label(self.response)
        if self.is_denial:
            return tool_results.denied(self.ref, self.response, label, self.reason)
        is_yes = label is not None and is_affirmative(str(self.response))
        return tool_results.answered(self.ref, self.response, label, self.reason, is_yes=is_yes)

    def _choice(self, value: JsonValue) -> SuspensionChoice | None:
        return next((choice for choice in self.choices if choice.value == value), None)

    def _label(self, value: JsonValue) -> str | None:
        choice = self._choice(value)
        return None if choice is None else choice.label

    @overload
    def result(self) -> JsonValue: ...

    @overload
    def result(self, response_model: type[Model]) -> Model: ...

    def result(self, response_model: type[BaseModel] | None = None) -> JsonValue | BaseModel:
        """What the agent goes on with: the answer, or what silence was agreed to mean; as a ``response_model`` if one
        is given.

        Raises :class:`InputTimeoutError` if silence meant nothing, :class:`InputCancelledError` if the question
        was taken back, :class:`UnfitAnswer` if the answer is no such model, ``ValueError`` while it is open.
        """
        value = self._value()
        if response_model is None:
            return value
        from handraise.response_models import model_of

        made = model_of(response_model, value)
        if isinstance(made, str):
            raise UnfitAnswer(f"The answer is no {response_model.__name__}: {made}.", self)
        return made

    def _value(self) -> JsonValue:
        match self.resolution:
            case "responded":
                return self.response
            case "cancelled":
                raise InputCancelledError(self)
            # Only what the server says it went on with counts; a fallback is never worked out here.
            case "expired" if self.error is None and self.continued_with is not None:
                return self.continued_with
            case "expired":
                raise InputTimeoutError(self)
            case None:
                raise ValueError("The question is still open.")
        raise NotAnswered(f"{self.ref or 'The question'} ended as {self.resolution}.", self)


class PlannedAttempt(Received):
    """Whom an attempt will ask, where and when."""

    attempt: int
    due_at: Instant
    channel: str
    notify_to: str | None = None
    recipients: tuple[str, ...] = ()
    quiet: bool | None = None


PAUSE_HERE = (
    "A person has to decide first; nothing has run yet. Say so, with the reference, and end your turn on this. Don't "
    "ask again and don't poll: the decision comes as a new turn of this conversation. Other work may go on."
)


class PreviewProblem(Received):
    """``error``: asking is refused with this code. ``warning``: it can be asked, and this will happen."""

    code: str
    message: str
    severity: str
    attempt: int | None = None


class Suspended(Received):
    """The suspended outcome (API.md §2): the question is stored and on its way, the process may end.

    ``status`` is ``pending_veto`` for a veto window. ``silence`` says what happens if nobody answers, and when. ``ref``
    may be shown to anybody, ``suspension_id`` to nobody. ``joined``: the same question was open already, and is this
    one. ``problems`` warns of attempts that may not go as planned.
    """

    status: str
    intent_id: str
    suspension_id: str
    suspension: SuspensionRecord
    outcome: str = "suspended"
    joined: bool = False
    ref: str | None = None
    session_id: str | None = None
    invocation_id: str | None = None
    correlation_id: str | None = None
    descriptor: JsonObject = Field(default_factory=dict)
    suspended_at: Instant | None = None
    expires_at: Instant | None = None
    silence: str | None = None
    ladder: tuple[PlannedAttempt, ...] = ()
    problems: tuple[PreviewProblem, ...] = ()

    def tool_result(self) -> dict[str, JsonValue]:
        """The structured result by which a tool tells a model to pause here (issue 186): no error, and not done yet.

        ``status``, ``intent_id``, ``ref``, ``expires_at``, ``silence`` and ``instruction``; neither the
        ``suspension_id`` nor the ``state``, nor whom the ladder asks.
        """
        told: dict[str, JsonValue] = {
            "status": self.status,
            "intent_id": self.intent_id,
            "ref": self.ref,
            "expires_at": None if self.expires_at is None else f"{self.expires_at:%Y-%m-%dT%H:%M:%SZ}",
            "silence": self.silence,
            "instruction": PAUSE_HERE,
        }
        return {name: value for name, value in told.items() if value is not None}


class Claim(Received):
    """Who is on it, and until when no further attempt goes out; both ``None`` once it is given back (API.md §2)."""

    suspension_id: str
    claimed_by: str | None = None
    claim_until: Instant | None = None


class TimelineItem(Received):
    """One thing that happened to a question. ``kind`` is ``event``, ``attempt``, ``delivery``, ``withdrawal``,
    ``message`` or ``callback``, and says which of the fields are there (API.md §2)."""

    kind: str
    at: Instant
    type: str | None = None
    actor: str | None = None
    payload: JsonObject = Field(default_factory=dict)
    attempt: int | None = None
    channel: str | None = None
    notify_to: str | None = None
    recipients: tuple[str, ...] = ()
    recipient: str | None = None
    status: str | None = None
    tries: int | None = None
    receipt: JsonObject | None = None
    reason: str | None = None
    settled_at: Instant | None = None


class EarlierAnswer(Received):
    """A person's earlier answer to the same action of the same key, redacted: ``answer`` as people read it, and the
    ``reason`` if they wrote one. ``ref`` is the question that they answered."""

    ref: str
    responded_by: str
    answer: str
    reason: str | None = None
    responded_at: Instant | None = None


class ShownNotice(Received):
    """What people are shown of a question, redacted. ``url`` is its page, ``ladder`` every attempt as it was planned,
    ``people`` the names of those whom the question names, by e-mail, and ``channels`` how people call each channel.
    ``silence`` says what happens if nobody answers.
    ``action`` has a ``heading`` and a ``text``, and ``hidden`` if a part of it is redacted. ``earlier_answers`` are
    those of the last 30 days to the same action.
    """

    question: str
    choices: tuple[SuspensionChoice, ...] = ()
    context: JsonObject = Field(default_factory=dict)
    risk: str | None = None
    silence: str | None = None
    action: JsonObject | None = None
    earlier_answers: tuple[EarlierAnswer, ...] = ()
    url: str | None = None
    ladder: tuple[PlannedAttempt, ...] = ()
    people: Mapping[str, str] = Field(default_factory=dict)
    channels: Mapping[str, str] = Field(default_factory=dict)


class CallbackRecord(Received):
    """One callback and its state: ``pending``, ``delivered``, ``refused`` (the agent answered 410) or ``dead`` (it
    never took it). ``reason`` is why the last try failed."""

    id: str
    status: str
    tries: int = 0
    suspension_id: str | None = None
    url: str | None = None
    type: str | None = None
    reason: str | None = None
    created_at: Instant | None = None
    next_try_at: Instant | None = None
    settled_at: Instant | None = None


class PolicyValue(Received):
    """One field of a resolved policy. ``level``: where it comes from, ``call``, ``agent``, ``platform`` or
    ``default``."""

    value: JsonValue = None
    level: str = Field(alias="from")


class Preview(Received):
    """The effect of asking. ``notices`` has what each channel of the ladder would show; ``cut`` in it says that the
    channel shows only a part."""

    ladder: tuple[PlannedAttempt, ...] = ()
    expires_at: Instant | None = None
    silence: str | None = None
    policy: Mapping[str, PolicyValue] = Field(default_factory=dict)
    problems: tuple[PreviewProblem, ...] = ()
    notices: Mapping[str, JsonObject] = Field(default_factory=dict)


class Answered(Received):
    """The result of an answer. While more people have to answer, ``resolution`` is ``None`` and ``received`` of the
    ``required`` answers are there."""

    intent_id: str | None = None
    suspension_id: str | None = None
    resolution: str | None = None
    value: JsonValue = None
    choice_label: str | None = None
    choice_description: str | None = None
    responded_by: str | None = None
    responded_at: Instant | None = None
    received: int | None = None
    required: int | None = None


class Me(Received):
    """Whose the API key is, and what it may do (API.md §1). ``webhook_secrets`` is how many it has."""

    name: str
    identity: str
    roles: tuple[str, ...] = ()
    webhook_secrets: int = 0
    quotas: JsonObject = Field(default_factory=dict)
    default_retry_policy: HumanRetryPolicy = HumanRetryPolicy()


class Intent(Received):
    """An intent (RFC-0001). ``state["_suspension"]`` is the record of its latest suspension."""

    id: str
    title: str
    status: str
    version: int
    description: str = ""
    created_by: str | None = None
    state: JsonObject = Field(default_factory=dict)
    constraints: JsonObject = Field(default_factory=dict)
    confidence: float | None = None
    abandonment_reason: str | None = None
    created_at: Instant | None = None
    updated_at: Instant | None = None


class LoggedEvent(Received):
    """One event of an intent's log."""

    id: str
    intent_id: str
    event_type: str
    actor: str | None = None
    payload: JsonObject = Field(default_factory=dict)
    created_at: Instant | None = None


class EngagementDecision(Received):
    """Whether a person should be asked (RFC-0025 §7.2). ``mode`` is ``autonomous``, ``request_input``,
    ``require_input`` or ``defer``; ``action`` what the agent does about it: ``proceed``, ``ask``, ``must_ask`` or
    ``defer``."""

    mode: Literal["autonomous", "request_input", "require_input", "defer"]
    should_ask: bool
    action: str | None = None
    rationale: str = ""
    event_id: str | None = None


class NotAnswered(HandraiseError):
    """The question ended without an answer or fallback. ``suspension`` is the ended record."""

    def __init__(self, message: str, suspension: SuspensionRecord) -> None:
        super().__init__(message)
        self.suspension = suspension


class InputTimeoutError(NotAnswered):
    """Time ran out and the policy was to fail (RFC-0025 §6). It is not a denial: nobody decided.

    ``reason`` is the server's code: ``input_timeout``, ``notice_undelivered`` (a veto window that nobody could have
    seen) or ``portfolio_deadline_exceeded``.
    """

    def __init__(self, suspension: SuspensionRecord) -> None:
        self.reason = suspension.error or "input_timeout"
        super().__init__(f"{suspension.ref or 'The question'} ended unanswered: {self.reason}.", suspension)


class UnfitAnswer(NotAnswered):
    """The answer, or the fallback value, does not fit the ``response_model``. The message names the fields, and no
    value; ``suspension.response`` has it."""


class InputCancelledError(NotAnswered):
    """The question was taken back; ``suspension.reason`` says why if somebody said so."""

    def __init__(self, suspension: SuspensionRecord) -> None:
        super().__init__(f"{suspension.ref or 'The question'} was cancelled.", suspension)
