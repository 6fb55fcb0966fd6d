"""Request bodies. Wire names are the RFC's; unknown fields are refused.

A promise that is not kept must not be made.

Source: RFC-0025 §4, §5, §7, §8; API.md §2, §4, §5, §7.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from bot.web.api import conditions
from bot.web.errors import VISIBLE
from core.domain.engagement import EngagementSignals
from core.domain.people import canonical
from core.domain.policy import PolicyFields, RetryPolicyFields, Seconds
from core.domain.request import AskRequest
from core.domain.suspension import Choice, FallbackPolicy, Kind, ResponseType, Resume, Style

JsonObject = dict[str, JsonValue]


Name = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Identity = Annotated[str, Field(min_length=1, max_length=320, pattern=VISIBLE)]
IntentId = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Recipient = Annotated[str, Field(min_length=1, max_length=320, json_schema_extra=conditions.RECIPIENT)]
Url = Annotated[str, Field(min_length=1, max_length=2000, json_schema_extra=conditions.URL)]
Reason = Annotated[str, Field(max_length=3000)]
Word = Annotated[str, Field(max_length=255)]
AnswerMetadata = Annotated[
    JsonObject, Field(json_schema_extra={"properties": {"reason": {"type": ["string", "null"], "maxLength": 3000}}})
]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


def such_as(example: JsonObject) -> JsonObject:
    """What a body's schema shows as an example."""
    return {"examples": [example]}


class ChoiceBody(Strict):
    """RFC-0025 §4.2. A plain string is value and label at once."""

    model_config = ConfigDict(json_schema_extra=conditions.or_plain_choice)

    value: Annotated[str, Field(min_length=1, max_length=1000)]
    label: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    description: Annotated[str, Field(max_length=3000)] | None = None
    style: Style | None = None
    metadata: JsonObject | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: object) -> object:
        return {"value": given, "label": given} if isinstance(given, str) else given

    def choice(self) -> Choice:
        return Choice(self.value, self.label, self.description, self.style, self.metadata or {})


class ResumeBody(Strict):
    """How the agent goes on (API.md §2)."""

    session_id: Name | None = None
    callback_url: Url | None = None
    state: JsonValue = None
    invocation_id: Name | None = None
    correlation_id: Name | None = None
    signal_id: Name | None = None
    signal_metadata: JsonObject | None = None
    payload_schema: JsonObject | None = None

    def resume(self) -> Resume:
        return Resume(**{name: value for name, value in self if value is not None})


class SuspendBody(Strict):
    """A question to a person. Only ``question`` is always needed."""

    model_config = ConfigDict(json_schema_extra={"allOf": conditions.SUSPEND, "examples": conditions.SUSPEND_EXAMPLES})

    question: Annotated[str, Field(min_length=1, max_length=10_000, pattern=VISIBLE)]
    response_type: ResponseType | None = None
    choices: Annotated[list[ChoiceBody], Field(max_length=500)] | None = None
    context: JsonObject | None = None
    channel_hint: Name | None = None
    notify_to: Recipient | None = None
    responders: Annotated[list[Recipient], Field(max_length=100)] | None = None
    answers_required: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    timeout_seconds: (
        Annotated[Seconds, Field(description="How long an attempt waits for its answer; for a veto, the whole window.")]
        | None
    ) = None
    deadline_seconds: (
        Annotated[
            Seconds, Field(description="The whole window, however many attempts; alone it is timeout_seconds too.")
        ]
        | None
    ) = None
    fallback_policy: FallbackPolicy | None = None
    fallback_value: JsonValue = None
    retry_policy: RetryPolicyFields | None = None
    confidence: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    decision_record: JsonObject | None = None
    kind: Kind | None = None
    action: JsonObject | None = None
    form_schema: JsonObject | None = None
    on_behalf_of: Identity | None = None
    resume: ResumeBody | None = None

    def request(self) -> AskRequest:
        """The same in the domain's words; ``null`` means absent (API.md §1)."""
        return AskRequest(
            question=self.question,
            response_type=self.response_type or ResponseType.CHOICE,
            choices=tuple(choice.choice() for choice in self.choices or ()),
            context=self.context or {},
            channel_hint=self.channel_hint,
            notify_to=self.notify_to,
            responders=tuple(self.responders or ()),
            answers_required=self.answers_required or 1,
            timeout=None if self.timeout_seconds is None else timedelta(seconds=self.timeout_seconds),
            deadline=None if self.deadline_seconds is None else timedelta(seconds=self.deadline_seconds),
            fallback_policy=self.fallback_policy,
            fallback_value=self.fallback_value,
            policy=PolicyFields() if self.retry_policy is None else self.retry_policy.fields(),
            confidence=self.confidence,
            decision_record=self.decision_record,
            kind=self.kind or Kind.INPUT,
            action=self.action,
            form_schema=self.form_schema,
            on_behalf_of=None if self.on_behalf_of is None else canonical(self.on_behalf_of),
            resume=Resume() if self.resume is None else self.resume.resume(),
        )


class RespondBody(Strict):
    """RFC-0025 §8. ``metadata.reason`` travels to the agent."""

    model_config = ConfigDict(json_schema_extra={"allOf": conditions.RESPOND, "examples": conditions.RESPOND_EXAMPLES})

    suspension_id: Annotated[str, Field(max_length=255)] | None = None
    value: JsonValue = None
    responded_by: Annotated[str, Field(max_length=320)] | None = None
    metadata: AnswerMetadata | None = None


class SignalBody(Strict, json_schema_extra=such_as({"value": "approve"})):
    value: JsonValue = None
    metadata: AnswerMetadata | None = None
    creator: Identity | None = Field(
        None, description="The name of the key that registered the id; without it, only where one key has it open."
    )


class SignInLinkBody(Strict):
    email: Annotated[str, Field(min_length=1, max_length=320, json_schema_extra=conditions.PERSON)]


class CancelBody(Strict, json_schema_extra=such_as({"reason": "The customer withdrew."})):
    reason: Reason | None = None


class ClaimBody(Strict, json_schema_extra=such_as({"seconds": 1800})):
    """How long further attempts are held back; half an hour where nothing is said."""

    seconds: Annotated[int, Field(strict=True, ge=60, le=7200)] | None = None


class PauseBody(Strict, json_schema_extra=such_as({"reason": "refund-agent asks in a loop."})):
    reason: Reason | None = None


class AssignBody(Strict, json_schema_extra=such_as({"to": "alice@example.com"})):
    """To whom: one person, by e-mail."""

    to: Annotated[str, Field(min_length=1, max_length=320, json_schema_extra=conditions.PERSON)]


class ClarifyBody(Strict, json_schema_extra=such_as({"question": "Which account does the refund go to?"})):
    """What the agent has to say before somebody can answer."""

    question: Annotated[str, Field(min_length=1, max_length=3000, pattern=VISIBLE)]


class ClarificationBody(Strict, json_schema_extra=such_as({"text": "To the card that the order was paid with."})):
    text: Annotated[str, Field(min_length=1, max_length=10_000, pattern=VISIBLE)]


_ACTION: JsonObject = {"tool": "stripe.refund", "args": {"amount": 49}}


class ReceiptBody(Strict, json_schema_extra=such_as({"receipt": "eyJraWQi…", "action": _ACTION, "when": "approve"})):
    """``action`` is what is about to run, ``when`` the answer that it needs."""

    receipt: Annotated[str, Field(min_length=1, max_length=4096)]
    action: JsonObject
    when: JsonValue
    allow_silence: Annotated[bool, Field(strict=True)] = False


class SessionBody(Strict, json_schema_extra=such_as({"metadata": {"thread": "t-1"}})):
    callback_url: Url | None = None
    metadata: JsonObject | None = None


class EngagementBody(Strict, json_schema_extra=such_as({"confidence": 0.55, "risk": 0.4, "reversibility": 0.9})):
    """RFC-0025 §7.1."""

    confidence: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    risk: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    reversibility: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    context: JsonObject | None = None

    def signals(self) -> EngagementSignals:
        said = self.model_dump(exclude_none=True)
        return EngagementSignals(**said)
