"""Retries after agents' failures: when an agent tries again, and when another agent takes over (RFC-0010).

A *retry* is another go of the agent after a failure. ``max_retries`` counts those after the first go, so that the
failure of attempt *n* leaves another retry while *n* ≤ ``max_retries``.

A policy is written for an intent by itself, and for a task among its other fields. Both spellings of a field are read,
as the published client does. What is absent is as in the RFC's example.

Source: RFC-0010 ("Retry Policy Model"); API.md §7, "failures"; docs/decisions/0056.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from core.domain.people import LONGEST_KEY_NAME, key_name
from core.errors import InvalidRequest

FAILURE_RECORDED = "failure_recorded"
FAILURE_RESOLVED = "failure_resolved"
FALLBACK_TRIGGERED = "fallback_triggered"
POLICY_SET = "retry_policy_set"
RETRY_DUE = "intent.retry_due"
TASK_RETRYING = "task.retrying"


class RetryStrategy(StrEnum):
    """How long an agent waits before a retry (RFC-0010, "Strategies")."""

    NONE = "none"
    FIXED = "fixed"
    EXPONENTIAL = "exponential"
    LINEAR = "linear"


MOST_RETRIES = 100
MOST_FAILURES = 100
LONGEST_DELAY_MS = 31_536_000_000
"""A year, as every other duration."""


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """What to do about failures. ``failure_threshold`` unresolved failures in a row call the fallback agent, even if
    retries are left; ``None`` waits for all retries."""

    strategy: RetryStrategy
    max_retries: int = 3
    base_delay_ms: int = 1000
    max_delay_ms: int = 60_000
    fallback_agent_id: str | None = None
    failure_threshold: int | None = None


def policy_in_force(of_task: FailurePolicy | None, of_intent: FailurePolicy | None) -> FailurePolicy | None:
    """A task's policy overrides its intent's, as a whole (RFC-0010, "Cross-RFC Interactions")."""
    return of_task or of_intent


CALLBACK_DEAD = "CALLBACK_DEAD"
CALLBACK_REFUSED = "CALLBACK_REFUSED"
FINAL_CODES = frozenset({"BUDGET_EXCEEDED", "PERMISSION_DENIED", CALLBACK_DEAD, CALLBACK_REFUSED})
"""Codes that no retry mends (RFC-0010, "Error Codes"; API.md §5)."""


def is_retryable(error_code: str | None) -> bool:
    """``INVALID_OUTPUT`` ("Maybe") is: another go may do better. So are a code that RFC-0010 does not list, and no
    code."""
    return error_code not in FINAL_CODES


_EVEN = 0.5
_SPREAD = 0.1


def retry_delay(policy: FailurePolicy, attempt: int, draw: float = _EVEN) -> timedelta:
    """The wait after the failure of ``attempt`` (from 1). ``draw``, from 0 to 1, spreads it by a tenth to either side;
    the middle is exactly the strategy's. Never above ``max_delay_ms``, never nothing."""
    match policy.strategy:
        case RetryStrategy.EXPONENTIAL:
            wanted = policy.base_delay_ms * 2 ** min(attempt - 1, 40)
        case RetryStrategy.LINEAR:
            wanted = policy.base_delay_ms * attempt
        case RetryStrategy.FIXED | RetryStrategy.NONE:
            wanted = policy.base_delay_ms
    spread = round(min(wanted, policy.max_delay_ms) * (1 + _SPREAD * (2 * draw - 1)))
    return timedelta(milliseconds=max(1, min(spread, policy.max_delay_ms)))


@dataclass(frozen=True, slots=True)
class Failed:
    """A reported failure. ``attempt_number`` is counted if absent; ``retry_at`` is the agent's own choice;
    ``recoverable`` is false if the agent knows that no retry will help."""

    agent_id: str
    attempt_number: int | None = None
    error_code: str | None = None
    error_message: str | None = None
    retry_at: datetime | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    task_id: str | None = None
    recoverable: bool = True


@dataclass(frozen=True, slots=True)
class IntentFailure:
    """A stored failure. ``fallback_agent_id`` is the agent that took over because of it."""

    id: str
    intent_id: str
    task_id: str | None
    agent_id: str
    attempt_number: int
    error_code: str | None
    error_message: str | None
    retry_scheduled_at: datetime | None
    resolved_at: datetime | None
    metadata: Mapping[str, JsonValue]
    occurred_at: datetime
    fallback_agent_id: str | None = None


class TakeoverReason(StrEnum):
    """Why the fallback agent takes over."""

    RETRIES_EXHAUSTED = "retries_exhausted"
    NOT_RETRYABLE = "not_retryable"
    FAILURE_THRESHOLD = "failure_threshold"


@dataclass(frozen=True, slots=True)
class FailureOutcome:
    """The consequence of a failure: a retry, another agent, or neither."""

    attempt_number: int
    retry_at: datetime | None = None
    exhausted: bool = False
    """No retry is left, or none would help."""
    takeover: TakeoverReason | None = None
    """Why ``fallback_agent_id`` of the policy takes over now."""


def outcome_of(
    failed: Failed,
    policy: FailurePolicy | None,
    unresolved: Sequence[IntentFailure],
    now: datetime,
    *,
    ended: bool = False,
    draw: float = _EVEN,
) -> FailureOutcome:
    """The consequence of ``failed``. ``unresolved`` are the intent's unresolved failures so far, of every agent.
    ``ended``: the intent has ended, so nobody has to go on."""
    in_a_row = [one for one in unresolved if (one.agent_id, one.task_id) == (failed.agent_id, failed.task_id)]
    attempt = failed.attempt_number or len(in_a_row) + 1
    if ended:
        return FailureOutcome(attempt, exhausted=True)
    spent = _spent(failed, policy, attempt)
    reason = spent
    threshold = None if policy is None else policy.failure_threshold
    if reason is None and threshold is not None and len(in_a_row) + 1 >= threshold:
        reason = TakeoverReason.FAILURE_THRESHOLD
    if policy is not None and reason is not None and _may_take_over(policy, failed, unresolved):
        return FailureOutcome(attempt, exhausted=spent is not None, takeover=reason)
    if spent is not None:
        return FailureOutcome(attempt, exhausted=True)
    retry_at = failed.retry_at
    if retry_at is None and policy is not None:
        retry_at = now + retry_delay(policy, attempt, draw)
    return FailureOutcome(attempt, retry_at)


def _spent(failed: Failed, policy: FailurePolicy | None, attempt: int) -> TakeoverReason | None:
    """Why there is no further retry; ``None`` if there is one, or if no limit is set."""
    if not (failed.recoverable and is_retryable(failed.error_code)):
        return TakeoverReason.NOT_RETRYABLE
    if policy is None:
        return None
    retries = 0 if policy.strategy is RetryStrategy.NONE else policy.max_retries
    return TakeoverReason.RETRIES_EXHAUSTED if attempt > retries else None


def _may_take_over(policy: FailurePolicy, failed: Failed, unresolved: Sequence[IntentFailure]) -> bool:
    """There is a fallback agent, it is another agent, and it has not taken over already because of an unresolved
    failure."""
    fallback = policy.fallback_agent_id
    if fallback is None or fallback == failed.agent_id:
        return False
    return not any((one.fallback_agent_id, one.task_id) == (fallback, failed.task_id) for one in unresolved)


_Delay = Annotated[int, Field(strict=True, ge=1, le=LONGEST_DELAY_MS)]
_Agent = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY_NAME)]


def either(snake: str, camel: str) -> AliasChoices:
    """A field that may be written in either spelling, and in one at a time."""
    return AliasChoices(snake, camel)


class FailurePolicyFields(BaseModel):
    """A policy replaces another as a whole: nothing of it is inherited."""

    model_config = ConfigDict(extra="forbid")

    strategy: RetryStrategy
    """How the waiting time grows from one try to the next."""
    max_retries: Annotated[int, Field(strict=True, ge=0, le=MOST_RETRIES)] | None = Field(
        None, validation_alias=either("max_retries", "maxRetries")
    )
    """How many tries follow the first; 3 if you leave it out."""
    base_delay_ms: _Delay | None = Field(None, validation_alias=either("base_delay_ms", "baseDelayMs"))
    """Milliseconds before the first retry; 1000 if you leave it out."""
    max_delay_ms: _Delay | None = Field(None, validation_alias=either("max_delay_ms", "maxDelayMs"))
    """The longest wait, in milliseconds; 60000 if you leave it out."""
    fallback_agent_id: _Agent | None = Field(None, validation_alias=either("fallback_agent_id", "fallbackAgentId"))
    """The agent that takes over once no retry is left."""
    failure_threshold: Annotated[int, Field(strict=True, ge=1, le=MOST_FAILURES)] | None = Field(
        None, validation_alias=either("failure_threshold", "failureThreshold")
    )
    """After how many failures in a row the fallback agent takes over, retries left or not."""

    def policy(self, inside: str = "") -> FailurePolicy:
        """Raises :class:`InvalidRequest` for a fallback agent that can be no key's name, and for delays that contradict
        each other. ``inside`` is what the fields' paths begin with."""
        names = FailurePolicyFields.model_fields
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.fallback_agent_id is not None:
            given["fallback_agent_id"] = _named(self.fallback_agent_id, inside)
        policy = FailurePolicy(**given)
        if policy.base_delay_ms > policy.max_delay_ms:
            message = "base_delay_ms must not be greater than max_delay_ms."
            raise InvalidRequest(message, path=f"{inside}base_delay_ms")
        return policy


def _named(fallback: str, inside: str) -> str:
    try:
        return key_name(fallback)
    except ValueError as problem:
        raise InvalidRequest(f"The name of an agent {problem}.", path=f"{inside}fallback_agent_id") from problem


def failure_policy(kept: Mapping[str, JsonValue]) -> FailurePolicy:
    """What :func:`failure_policy_values` has written."""
    return FailurePolicyFields.model_validate(kept).policy()


def failure_policy_values(policy: FailurePolicy) -> dict[str, JsonValue]:
    """Every field in the RFC's spelling."""
    return {
        "strategy": policy.strategy.value,
        "max_retries": policy.max_retries,
        "base_delay_ms": policy.base_delay_ms,
        "max_delay_ms": policy.max_delay_ms,
        "fallback_agent_id": policy.fallback_agent_id,
        "failure_threshold": policy.failure_threshold,
    }
