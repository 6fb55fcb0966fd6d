"""What responses hold, for OpenAPI; ``replies.py`` writes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from core.containers.intents import IntentStatus
from core.domain.engagement import Action, Mode
from core.domain.policy import Level
from core.domain.suspension import FallbackPolicy, Kind, ResponseType, Status, Style
from core.domain.wire import JsonObject

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class Open(BaseModel):
    """Responses may gain fields; clients ignore those they do not know."""

    model_config = ConfigDict(extra="allow")


class FieldProblem(Open):
    path: str
    message: str


class Problem(Open):
    """``error`` is a stable code; ``fields`` say which parts of the request it is about."""

    error: str
    message: str
    fields: list[FieldProblem] = []


class Envelope(Open):
    """Every error (API.md §1)."""

    detail: Problem


class Accepted(Open):
    accepted: Literal[True]


class HealthReply(Open):
    status: Literal["alive"]


class ReadyReply(Open):
    """``paused``: new notices wait for ``handraise unpause``. ``slack``, in Socket Mode: whether Slack reaches this
    process (``standby``: other processes have all the sockets); it is no reason to send agents elsewhere.
    ``mail_listener`` and ``mail_poller``, where they are set up: how mail gets in (``standby``: another process looks
    into the mailbox)."""

    status: Literal["ready"]
    paused: bool
    slack: Literal["connected", "connecting", "standby"] | None = None
    mail_listener: Literal["listening", "closed"] | None = None
    mail_poller: Literal["connected", "connecting", "standby"] | None = None


class ChoiceReply(Open):
    value: str
    label: str
    description: str | None = None
    style: Style | None = None
    metadata: JsonObject | None = None


class RungReply(Open):
    attempt: int
    channel_hint: str | None
    notify_to: str | None
    quiet: bool = False


class PolicyReply(Open):
    max_attempts: int
    interval_seconds: int | None
    strategy: Literal["fixed"]
    escalation_ladder: list[RungReply]
    final_fallback_policy: FallbackPolicy


class GivenReply(Open):
    """One of several answers."""

    value: JsonValue
    responded_by: str
    responded_at: Instant
    channel: str
    reason: str | None


class ClarificationReply(Open):
    """What the agent was asked back last; ``held_until`` is set while the clock waits for its ``text``."""

    question: str
    asked_by: str
    asked_at: Instant
    text: str | None
    held_until: Instant | None


class SuspensionReply(Open):
    """Every field of RFC-0025 §5, and where the ladder stands."""

    id: str
    ref: str
    intent_id: str
    question: str
    response_type: ResponseType
    choices: list[ChoiceReply]
    context: JsonObject
    channel_hint: str | None
    notify_to: str | None
    responders: list[str]
    answers_required: int
    suspended_at: Instant
    timeout_seconds: int | None
    expires_at: Instant | None
    fallback_value: JsonValue
    fallback_policy: FallbackPolicy
    retry_policy: PolicyReply | None
    confidence_at_suspension: float | None
    decision_record: JsonObject | None
    kind: Kind
    action: JsonObject | None
    action_digest: str | None
    form_schema: JsonObject | None
    on_behalf_of: str | None
    session_id: str | None
    signal_id: str | None
    created_by: str
    status: Status
    attempt: int
    max_attempts: int
    next_attempt_at: Instant | None
    claimed_by: str | None
    claim_until: Instant | None
    answers_received: int
    answers: list[GivenReply]
    assigned_to: str | None
    clarification: ClarificationReply | None
    response: JsonValue
    responded_at: Instant | None
    responded_by: str | None
    resolution: Literal["responded", "expired", "cancelled"] | None
    ended_at: Instant | None
    channel: str | None
    reason: str | None
    metadata: JsonObject
    error: str | None
    continued_with: JsonValue


class LadderEntry(Open):
    attempt: int
    due_at: Instant
    channel: str
    notify_to: str | None
    recipients: list[str]
    quiet: bool = False


class Descriptor(Open):
    signal_id: str | None
    metadata: JsonObject


class SuspendedReply(Open):
    """The *suspended outcome* of API.md §2."""

    outcome: Literal["suspended"]
    status: Literal["suspended_awaiting_input", "pending_veto"]
    intent_id: str
    suspension_id: str
    ref: str
    session_id: str | None
    invocation_id: str | None
    correlation_id: str | None
    descriptor: Descriptor
    suspended_at: Instant
    expires_at: Instant | None
    ladder: list[LadderEntry]
    suspension: SuspensionReply


class PreviewProblem(Open):
    attempt: int
    code: str
    message: str


class PolicyField(Open):
    value: JsonValue
    level: Annotated[Level, Field(alias="from")]


class PreviewReply(Open):
    ladder: list[LadderEntry]
    expires_at: Instant | None
    policy: dict[str, PolicyField]
    problems: list[PreviewProblem]


class AnswerReply(Open):
    """RFC-0025 §8."""

    intent_id: str
    suspension_id: str
    resolution: Literal["responded"]
    value: JsonValue
    choice_label: str | None = None
    choice_description: str | None = None
    responded_by: str
    responded_at: Instant
    channel: str
    metadata: JsonObject


class PartialAnswerReply(Open):
    """The answer counts, and more are needed (API.md §4)."""

    received: int
    required: int


class ClaimReply(Open):
    suspension_id: str
    claimed_by: str | None
    claim_until: Instant | None


class SuspensionPage(Open):
    items: list[SuspensionReply]
    next_cursor: str | None


class EventEntry(Open):
    kind: Literal["event"]
    at: Instant
    type: str
    actor: str
    payload: JsonObject


class AttemptEntry(Open):
    kind: Literal["attempt"]
    at: Instant
    attempt: int
    channel: str
    notify_to: str | None
    recipients: list[str]
    deliveries: int


class MessageEntry(Open):
    """Something that was sent, or will be."""

    kind: Literal["delivery", "withdrawal", "message", "callback"]
    at: Instant
    id: str
    attempt: int | None
    channel: str | None
    recipient: str | None
    status: str
    tries: int
    receipt: JsonObject | None
    reason: str | None
    settled_at: Instant | None


class TimelineReply(Open):
    items: list[EventEntry | AttemptEntry | MessageEntry]


class CallbackReply(Open):
    id: str
    suspension_id: str
    status: Literal["pending", "delivered", "refused", "dead"]
    tries: int
    url: str | None
    type: str | None
    reason: str | None
    created_at: Instant
    next_try_at: Instant | None
    settled_at: Instant | None


class CallbackPage(Open):
    items: list[CallbackReply]
    next_cursor: str | None


class SessionReply(Open):
    session_id: str
    owner: str
    callback_url: str | None
    metadata: JsonObject
    created_at: Instant
    updated_at: Instant


class IntentReply(Open):
    """As the published client reads it; ``state._suspension`` is the record of the latest suspension."""

    id: str
    title: str
    description: str
    created_by: str
    parent_id: str | None
    parent_intent_id: str | None
    depends_on: list[str]
    constraints: JsonObject
    state: JsonObject
    status: IntentStatus
    confidence: float
    version: int
    governance_policy: JsonObject | None
    abandonment_reason: str | None
    created_at: Instant
    updated_at: Instant


class IntentPage(Open):
    intents: list[IntentReply]


class EventReply(Open):
    id: str
    intent_id: str
    event_type: str
    actor: str
    payload: JsonObject
    created_at: Instant


class EventPage(Open):
    events: list[EventReply]


class EngagementReply(Open):
    """The decision of RFC-0025 §7, and what the agent does about it."""

    mode: Mode
    should_ask: bool
    action: Action
    rationale: str
    event_id: str


class PauseReply(Open):
    """``held`` are notices that wait; who paused and why is for operators."""

    paused: bool
    paused_at: Instant | None
    paused_by: str | None
    reason: str | None
    held: int


class UnpauseReply(Open):
    """Of what waited: how many notices leave now, and how many were out of date."""

    paused: Literal[False]
    released: int
    dropped: int


class AgentPolicyReply(Open):
    agent_id: str
    default_retry_policy: JsonObject


class SuspensionConfig(Open):
    default_retry_policy: JsonObject | None


class ConfigReply(Open):
    protocol_version: str
    suspension: SuspensionConfig


ETAG: JsonObject = {
    "ETag": {
        "description": "The intent's version, for If-Match.",
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
    }
}
_DESCRIPTIONS = {
    400: "Not JSON, or not an object.",
    401: "No valid X-API-Key.",
    403: "The key's roles do not cover this, or this person may not do it.",
    404: "There is no such thing for this caller.",
    405: "This path does not take that method.",
    409: "What is stored now does not allow it.",
    413: "The body is too large.",
    422: "A field holds what it may not.",
    428: "If-Match is needed.",
    429: "The key has used up its quota; ``Retry-After`` says when to try again, where time alone mends it.",
    503: "The database is away; try again.",
}

_HEADERS: dict[int, dict[str, Any]] = {
    429: {"headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}}}
}

_ALWAYS = (401, 503)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for OpenAPI; 401 and 503 are everywhere."""
    return {
        status: {"model": Envelope, "description": _DESCRIPTIONS[status], **_HEADERS.get(status, {})}
        for status in sorted({*_ALWAYS, *statuses})
    }


BODY = (400, 413, 422)
"""What can be wrong with any body."""
