"""Request bodies. Wire names are the RFC's; unknown fields are refused.

A promise that is not kept must not be made.

Source: RFC-0025 §4, §5, §7, §8; API.md §2, §4, §5, §7.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from bot.web.api import conditions
from bot.web.api.paging import Instant
from bot.web.errors import VISIBLE
from core.domain.engagement import EngagementSignals
from core.domain.intent import Patch
from core.domain.people import canonical
from core.domain.policy import PolicyFields, RetryPolicyFields, Seconds
from core.domain.request import AskRequest
from core.domain.retry_fields import FailurePolicyFields, failure_policy_values
from core.domain.suspension import Choice, FallbackPolicy, Kind, ResponseType, Resume, Style
from core.domain.task import TaskChange, TaskStatus
from core.errors import InvalidRequest
from core.intents.subscriptions import NewSubscription

JsonObject = dict[str, JsonValue]


Name = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Identity = Annotated[str, Field(min_length=1, max_length=320, pattern=VISIBLE)]
IntentId = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Recipient = Annotated[str, Field(min_length=1, max_length=320, json_schema_extra=conditions.RECIPIENT)]
Url = Annotated[str, Field(min_length=1, max_length=2000, json_schema_extra=conditions.URL)]
Reason = Annotated[str, Field(max_length=3000)]
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


class IntentBody(Strict):
    """RFC-0001, as the published client writes it. ``created_by`` is the caller's key, whatever is written."""

    model_config = ConfigDict(json_schema_extra={"examples": conditions.INTENT_EXAMPLES})

    title: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    description: Annotated[str, Field(max_length=40_000)] | None = None
    state: JsonObject | None = None
    constraints: JsonObject | None = None
    confidence: Annotated[float, Field(strict=True, ge=0, le=100)] | None = None
    status: Literal["draft", "active"] | None = None
    created_by: Annotated[str, Field(max_length=320)] | None = None
    parent_intent_id: IntentId | None = None
    depends_on: Annotated[list[IntentId], Field(max_length=100)] | None = None
    governance_policy: JsonObject | None = None


class DependencyBody(Strict):
    dependency_id: IntentId


class StatusBody(Strict, json_schema_extra=such_as({"status": "active"})):
    status: Literal["draft", "active", "blocked", "suspended_awaiting_input", "completed", "abandoned"]
    reason: Reason | None = None


class PatchBody(Strict):
    op: Literal["set", "append", "remove"]
    path: Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra=conditions.PATH)]
    value: JsonValue = None

    def patch(self) -> Patch:
        return Patch(self.op, self.path, self.value)


class StateBody(Strict):
    """Either patches, or a whole new state."""

    model_config = ConfigDict(json_schema_extra={"anyOf": conditions.STATE, "examples": conditions.STATE_EXAMPLES})

    patches: Annotated[list[PatchBody], Field(min_length=1, max_length=1000)] | None = None
    state: JsonObject | None = None

    def one_of(self) -> None:
        """Raises :class:`InvalidRequest` unless exactly one is given."""
        if (self.patches is None) == (self.state is None):
            raise InvalidRequest("Give either patches or state.", path="patches")


EventType = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.:-]+$")]


class EventBody(Strict, json_schema_extra=such_as({"event_type": "refund.prepared", "payload": {"amount": 499.99}})):
    event_type: EventType
    actor: Annotated[str, Field(max_length=320)] | None = None
    payload: JsonObject | None = None


class SubscriptionBody(
    Strict,
    json_schema_extra=such_as({"webhook_url": "https://agent.example/events", "event_types": ["intent.resumed"]}),
):
    """RFC-0006. Neither ``intent_id`` nor ``portfolio_id`` is every intent that the key may read; no ``event_types``
    are all. ``subscriber_id`` is the caller's key, whatever is written, but for an admin."""

    webhook_url: Url
    event_types: Annotated[list[EventType], Field(max_length=100)] | None = None
    intent_id: IntentId | None = None
    portfolio_id: IntentId | None = None
    subscriber_id: Annotated[str, Field(max_length=320)] | None = None
    expires_at: Instant | None = None

    def wanted(self) -> NewSubscription:
        return NewSubscription(
            webhook_url=self.webhook_url,
            event_types=tuple(self.event_types or ()),
            intent_id=self.intent_id,
            portfolio_id=self.portfolio_id,
            subscriber_id=self.subscriber_id,
            expires_at=self.expires_at,
        )


class LeaseBody(Strict, json_schema_extra=such_as({"scope": "refunds", "duration_seconds": 300})):
    """Which part of the intent the agent is to have alone, and for how long."""

    scope: Name
    duration_seconds: Seconds


class RenewalBody(Strict, json_schema_extra=such_as({"duration_seconds": 300})):
    duration_seconds: Annotated[Seconds, Field(description="From now on.")]


class IntentAgentBody(Strict, json_schema_extra=such_as({"agent_id": "agent-backup", "role": "worker"})):
    """Who is to work on the intent: the name of a key."""

    agent_id: Name
    role: Name | None = None


Word = Annotated[str, Field(max_length=255)]


class TaskFields(Strict):
    """What an agent writes into a task (RFC-0012). ``input``, ``depends_on`` and the like are kept as they are."""

    description: Annotated[str, Field(max_length=40_000)] | None = None
    priority: Word | None = None
    input: JsonObject | None = None
    output: JsonObject | None = None
    artifacts: Annotated[list[Word], Field(max_length=1000)] | None = None
    assigned_agent: Name | None = None
    capabilities_required: Annotated[list[Word], Field(max_length=100)] | None = None
    depends_on: Annotated[list[Word], Field(max_length=1000)] | None = None
    parent_task_id: Word | None = None
    retry_policy: FailurePolicyFields | None = None
    timeout_seconds: Seconds | None = None
    max_attempts: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    metadata: JsonObject | None = None
    error: Annotated[str, Field(max_length=10_000)] | None = None
    blocked_reason: Word | None = None

    def change(self, status: TaskStatus | None = None) -> TaskChange:
        said = {name: value for name in _DETAILS if (value := getattr(self, name)) is not None}
        return TaskChange(
            status=status,
            assigned_agent=self.assigned_agent,
            retry_policy=None
            if self.retry_policy is None
            else failure_policy_values(self.retry_policy.policy("retry_policy.")),
            blocked_reason=self.blocked_reason,
            error=self.error,
            output=self.output,
            details=said or None,
        )


_DETAILS = (
    "description",
    "priority",
    "input",
    "artifacts",
    "capabilities_required",
    "depends_on",
    "parent_task_id",
    "timeout_seconds",
    "max_attempts",
    "metadata",
)


class NewTaskBody(TaskFields, json_schema_extra=such_as({"intent_id": "…", "name": "Look the order up"})):
    intent_id: Annotated[str, Field(min_length=1, max_length=255)]
    name: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]


class TaskBody(TaskFields, json_schema_extra=such_as({"status": "running"})):
    """What changes; what is left out stays."""

    status: TaskStatus | None = None
