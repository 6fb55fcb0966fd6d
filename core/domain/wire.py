"""How the domain is written in JSON: instants, durations, choices, policies, ladders and the whole record.

Source: API.md §1, §2; RFC-0025 §4.2, §5; RFC-0026 §4.1.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import overload

from pydantic import JsonValue

from core.domain.suspension import Ask, Choice, Given, HumanRetryPolicy, PlannedAttempt, Rung, Suspension

JsonObject = dict[str, JsonValue]


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


def choice_json(choice: Choice) -> JsonObject:
    """A choice as the RFC writes it; optional fields only where they are set."""
    written: JsonObject = {"value": choice.value, "label": choice.label}
    if choice.description is not None:
        written["description"] = choice.description
    if choice.style is not None:
        written["style"] = choice.style.value
    if choice.metadata:
        written["metadata"] = dict(choice.metadata)
    return written


def policy_json(policy: HumanRetryPolicy) -> JsonObject:
    """A resolved ``HumanRetryPolicy``."""
    return {
        "max_attempts": policy.max_attempts,
        "interval_seconds": seconds(policy.interval),
        "strategy": "fixed",
        "escalation_ladder": [
            {"attempt": rung.attempt, "channel_hint": rung.channel_hint, "notify_to": rung.notify_to, **_if_quiet(rung)}
            for rung in policy.escalation_ladder
        ],
        "final_fallback_policy": policy.final_fallback_policy.value,
    }


def _if_quiet(step: Rung | PlannedAttempt) -> JsonObject:
    """Ours and opt-in: the RFC's own shape where it isn't used."""
    return {"quiet": True} if step.quiet else {}


def ladder_json(ask: Ask) -> list[JsonValue]:
    """What every attempt will do and when, as the suspended outcome and the preview show it."""
    return [attempt_json(ask, step) for step in ask.attempts]


def attempt_json(ask: Ask, step: PlannedAttempt) -> JsonObject:
    return {
        "attempt": step.number,
        "due_at": instant(ask.due_at(step.number)),
        "channel": step.channel,
        "notify_to": step.notify_to,
        "recipients": list(step.recipients),
        **_if_quiet(step),
    }


def record_json(suspension: Suspension, next_attempt_at: datetime | None) -> JsonObject:
    """Every field of RFC-0025 §5, and where the ladder stands."""
    ask, ended, claim = suspension.ask, suspension.ended, suspension.claim
    answered_by = ended.by if ended is not None and suspension.status.value == "responded" else None
    return {
        "id": ask.id,
        "ref": ask.ref,
        "intent_id": ask.intent_id,
        "question": ask.question,
        "response_type": ask.response_type.value,
        "choices": [choice_json(choice) for choice in ask.choices],
        "context": dict(ask.context),
        "channel_hint": ask.channel_hint,
        "notify_to": ask.notify_to,
        "responders": list(ask.responders),
        "answers_required": ask.answers_required,
        "suspended_at": instant(ask.suspended_at),
        "timeout_seconds": seconds(ask.timeout),
        "expires_at": instant(suspension.expires_at),
        "fallback_value": ask.fallback_value,
        "fallback_policy": ask.policy.final_fallback_policy.value,
        "retry_policy": policy_json(ask.policy) if ask.with_retry_policy else None,
        "confidence_at_suspension": ask.confidence,
        "decision_record": None if ask.decision_record is None else dict(ask.decision_record),
        "kind": ask.kind.value,
        "action": None if ask.action is None else dict(ask.action),
        "action_digest": ask.action_digest,
        "form_schema": None if ask.form_schema is None else dict(ask.form_schema),
        "on_behalf_of": ask.on_behalf_of,
        "session_id": ask.resume.session_id,
        "signal_id": ask.resume.signal_id,
        "created_by": ask.created_by,
        "status": suspension.status.value,
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
        "resolution": None if suspension.is_open else suspension.status.value,
        "ended_at": instant(ended.at) if ended else None,
        "channel": ended.channel if ended else None,
        "reason": ended.reason if ended else None,
        "metadata": dict(ended.metadata) if ended else {},
        "error": ended.error if ended else None,
        "continued_with": continued_with(suspension),
    }


def given_json(given: Given) -> JsonObject:
    """One of several answers, while the question waits for the others and after."""
    return {
        "value": given.value,
        "responded_by": given.by,
        "responded_at": instant(given.at),
        "channel": given.channel,
        "reason": given.reason,
    }


def clarification_json(suspension: Suspension) -> JsonObject | None:
    """What the agent was asked back last; ``held_until`` is set while the clock waits for it."""
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


def continued_with(suspension: Suspension) -> JsonValue:
    """What the agent went on with after silence; ``None`` after ``fail``, an answer or a cancellation."""
    ended = suspension.ended
    if ended is None or suspension.status.value != "expired" or ended.error is not None:
        return None
    return ended.value
