"""JSON of the whole record: every field of a suspension, as clients read it and as ``state._suspension`` mirrors it.

Source: RFC-0025 §5; RFC-0026 §4; API.md §2.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import JsonValue

from core.domain.suspension import FallbackPolicy, Kind, ResponseType, Status, Suspension
from core.domain.wire import (
    ChoiceReply,
    ClarificationReply,
    GivenReply,
    Instant,
    JsonObject,
    Open,
    PolicyReply,
    Resolution,
    ResumeReply,
    choice_json,
    clarification_json,
    given_json,
    instant,
    policy_json,
    seconds,
)


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
