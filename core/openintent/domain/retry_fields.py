"""A retry policy as it is written: of an intent by itself, of a task among its other fields (RFC-0010).

Both spellings of a field are read, as the published client does. What is absent is as in the RFC's example.

Source: RFC-0010, "Retry Policy Model"; API.md §7, "failures"; docs/decisions/0056.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from core.domain.people import LONGEST_KEY_NAME, key_name
from core.errors import InvalidRequest
from core.openintent.domain.retry import LONGEST_DELAY_MS, MOST_FAILURES, MOST_RETRIES, FailurePolicy, RetryStrategy

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
