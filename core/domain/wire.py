"""JSON of the domain: instants, durations, choices, policies, ladders and the whole record.

Source: API.md §1, §2; RFC-0025 §4.2, §5; RFC-0026 §4.1.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, NotRequired, cast, overload

from pydantic import ConfigDict, Field, JsonValue, with_config
from typing_extensions import TypedDict

from core.domain.suspension import (
    Ask,
    Choice,
    FallbackPolicy,
    Given,
    HumanRetryPolicy,
    Kind,
    PlannedAttempt,
    ResponseType,
    Resume,
    Rung,
    Status,
    Style,
    Suspension,
)

JsonObject = dict[str, JsonValue]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Resolution = Literal[Status.RESPONDED, Status.EXPIRED, Status.CANCELLED]
Quiet = Annotated[bool, Field(json_schema_extra={"default": False})]


@with_config(ConfigDict(extra="allow"))
class Open(TypedDict):
    """What a response holds: the OpenAPI document shows these fields, and mypy holds whoever writes them to it.

    Responses may gain fields; clients ignore those they do not know.
    """


def plain(written: Open) -> JsonObject:
    """The same object, for whoever takes any JSON."""
    return cast(JsonObject, written)


@overload
def instant(value: datetime) -> str: ...
@overload
def instant(value: None) -> None: ...
@overload
def instant(value: datetime | None) -> str | None: ...
def instant(value: datetime | None) -> str | None:
    """``2026-03-24T11:00:00Z``, with microseconds where there are any."""
    return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def as_utc(value: datetime) -> datetime:
    """Naive instants are read as UTC."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def seconds(value: timedelta | None) -> int | None:
    """A whole number of seconds, as every ``_seconds`` field is."""
    return None if value is None else int(value.total_seconds())


class ChoiceReply(Open):
    value: str
    label: str
    description: NotRequired[str | None]
    style: NotRequired[Style | None]
    metadata: NotRequired[JsonObject | None]


def choice_json(choice: Choice) -> ChoiceReply:
    """A choice as the RFC writes it; optional fields only where they are set."""
    written: ChoiceReply = {"value": choice.value, "label": choice.label}
    if choice.description is not None:
        written["description"] = choice.description
    if choice.style is not None:
        written["style"] = choice.style
    if choice.metadata:
        written["metadata"] = dict(choice.metadata)
    return written


class RungReply(Open):
    attempt: int
    channel_hint: str | None
    notify_to: str | None
    quiet: NotRequired[Quiet]


class PolicyReply(Open):
    max_attempts: int
    interval_seconds: int | None
    strategy: Literal["fixed"]
    escalation_ladder: list[RungReply]
    final_fallback_policy: FallbackPolicy


def policy_json(policy: HumanRetryPolicy) -> PolicyReply:
    """A resolved ``HumanRetryPolicy``."""
    return {
        "max_attempts": policy.max_attempts,
        "interval_seconds": seconds(policy.interval),
        "strategy": "fixed",
        "escalation_ladder": [
            {"attempt": rung.attempt, "channel_hint": rung.channel_hint, "notify_to": rung.notify_to, **_if_quiet(rung)}
            for rung in policy.escalation_ladder
        ],
        "final_fallback_policy": policy.final_fallback_policy,
    }


class _IfQuiet(TypedDict, total=False):
    quiet: bool


def _if_quiet(step: Rung | PlannedAttempt) -> _IfQuiet:
    """Ours and opt-in: the RFC's own shape where it isn't used."""
    return {"quiet": True} if step.quiet else {}


class LadderEntry(Open):
    attempt: int
    due_at: Instant
    channel: str
    notify_to: str | None
    recipients: list[str]
    quiet: NotRequired[Quiet]


def ladder_json(ask: Ask) -> list[LadderEntry]:
    """What every attempt will do and when, as the suspended outcome and the preview show it."""
    return [
        {
            "attempt": step.number,
            "due_at": instant(ask.due_at(step.number)),
            "channel": step.channel,
            "notify_to": step.notify_to,
            "recipients": list(step.recipients),
            **_if_quiet(step),
        }
        for step in ask.attempts
    ]


class GivenReply(Open):
    """One of several answers."""

    value: JsonValue
    responded_by: str
    responded_at: Instant
    channel: str
    reason: str | None


def given_json(given: Given) -> GivenReply:
    return {
        "value": given.value,
        "responded_by": given.by,
        "responded_at": instant(given.at),
        "channel": given.channel,
        "reason": given.reason,
    }


class ClarificationReply(Open):
    """What the agent was asked back last; ``held_until`` is set while the clock waits for its ``text``."""

    question: str
    asked_by: str
    asked_at: Instant
    text: str | None
    held_until: Instant | None


def clarification_json(suspension: Suspension) -> ClarificationReply | None:
    if not suspension.clarifications:
        return None
    latest, waits = suspension.clarifications[-1], suspension.asks_back is not None
    return {
        "question": latest.question,
        "asked_by": latest.by,
        "asked_at": instant(latest.asked_at),
        "text": latest.text,
        "held_until": instant(latest.until) if waits else None,
    }


class ResumeReply(Open):
    """How the agent goes on, as it said when it asked (API.md §2)."""

    session_id: str | None
    callback_url: str | None
    state: JsonValue
    invocation_id: str | None
    correlation_id: str | None
    signal_id: str | None
    signal_metadata: JsonObject
    payload_schema: JsonObject | None


def resume_json(resume: Resume) -> ResumeReply:
    return {
        "session_id": resume.session_id,
        "callback_url": resume.callback_url,
        "state": resume.state,
        "invocation_id": resume.invocation_id,
        "correlation_id": resume.correlation_id,
        "signal_id": resume.signal_id,
        "signal_metadata": dict(resume.signal_metadata),
        "payload_schema": None if resume.payload_schema is None else dict(resume.payload_schema),
    }


class SuspensionReply(Open):
    """Every field of RFC-0025 §5, and where the ladder stands. ``resume``, ``signal_payload`` and ``receipt`` are for
    the key that asked alone, where one suspension is shown; ``signal_payload`` is null unless there is something to go
    on with."""

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
    deadline_seconds: int | None
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
    invocation_id: str | None
    correlation_id: str | None
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
    resolution: Resolution | None
    ended_at: Instant | None
    channel: str | None
    reason: str | None
    metadata: JsonObject
    error: str | None
    continued_with: JsonValue
    resume: ResumeReply | None
    signal_payload: JsonValue
    receipt: str | None


def record_json(suspension: Suspension, next_attempt_at: datetime | None) -> SuspensionReply:
    ask, ended, claim, status = suspension.ask, suspension.ended, suspension.claim, suspension.status
    answered_by = ended.by if ended is not None and status is Status.RESPONDED else None
    return {
        "id": ask.id,
        "ref": ask.ref,
        "intent_id": ask.intent_id,
        "question": ask.question,
        "response_type": ask.response_type,
        "choices": [choice_json(choice) for choice in ask.choices],
        "context": dict(ask.context),
        "channel_hint": ask.channel_hint,
        "notify_to": ask.notify_to,
        "responders": list(ask.responders),
        "answers_required": ask.answers_required,
        "suspended_at": instant(ask.suspended_at),
        "timeout_seconds": seconds(ask.timeout),
        "deadline_seconds": seconds(ask.deadline),
        "expires_at": instant(suspension.expires_at),
        "fallback_value": ask.fallback_value,
        "fallback_policy": ask.policy.final_fallback_policy,
        "retry_policy": policy_json(ask.policy) if ask.with_retry_policy else None,
        "confidence_at_suspension": ask.confidence,
        "decision_record": None if ask.decision_record is None else dict(ask.decision_record),
        "kind": ask.kind,
        "action": None if ask.action is None else dict(ask.action),
        "action_digest": ask.action_digest,
        "form_schema": None if ask.form_schema is None else dict(ask.form_schema),
        "on_behalf_of": ask.on_behalf_of,
        "session_id": ask.resume.session_id,
        "invocation_id": ask.resume.invocation_id,
        "correlation_id": ask.resume.correlation_id,
        "signal_id": ask.resume.signal_id,
        "created_by": ask.created_by,
        "status": status,
        "attempt": suspension.attempt,
        "max_attempts": ask.max_attempts,
        "next_attempt_at": instant(next_attempt_at),
        "claimed_by": claim.by if claim else None,
        "claim_until": instant(claim.until) if claim else None,
        "answers_received": len(suspension.answers) or int(answered_by is not None),
        "answers": [given_json(one) for one in suspension.answers],
        "assigned_to": suspension.assigned_to,
        "clarification": clarification_json(suspension),
        "response": ended.value if ended is not None and answered_by is not None else None,
        "responded_at": instant(ended.at) if ended is not None and answered_by is not None else None,
        "responded_by": answered_by,
        "resolution": None if status is Status.AWAITING else status,
        "ended_at": instant(ended.at) if ended else None,
        "channel": ended.channel if ended else None,
        "reason": ended.reason if ended else None,
        "metadata": dict(ended.metadata) if ended else {},
        "error": ended.error if ended else None,
        "continued_with": continued_with(suspension),
        "resume": None,
        "signal_payload": None,
        "receipt": None,
    }


def continued_with(suspension: Suspension) -> JsonValue:
    """What the agent went on with after silence; ``None`` after ``fail``, an answer or a cancellation."""
    ended = suspension.ended
    if ended is None or suspension.status is not Status.EXPIRED or ended.error is not None:
        return None
    return ended.value
