"""Bodies about failures of agents (RFC-0010), with either spelling of a field, as the published client reads them.

Source: RFC-0010; API.md §7, "failures".
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field

from bot.web.api.paging import Instant
from bot.web.api.requests import JsonObject, Name, Strict, Url, such_as
from bot.web.errors import VISIBLE
from core.domain.retry import LONGEST_DELAY_MS, MOST_FAILURES, MOST_RETRIES, Failed, FailurePolicy, RetryStrategy
from core.errors import InvalidRequest

_Delay = Annotated[int, Field(strict=True, ge=1, le=LONGEST_DELAY_MS)]
_Code = Annotated[str, Field(min_length=1, max_length=200, pattern=VISIBLE)]


_POLICY: JsonObject = {"strategy": "exponential", "max_retries": 5, "base_delay_ms": 1000, "max_delay_ms": 60_000}
_FAILURE: JsonObject = {"attempt_number": 1, "error_code": "TIMEOUT", "error_message": "Request timed out after 30s"}


def _either(snake: str, camel: str) -> AliasChoices:
    return AliasChoices(snake, camel)


class FailurePolicyBody(Strict, json_schema_extra=such_as(_POLICY)):
    """RFC-0010, "Retry Policy Model". What is absent is as in its example. ``id`` and ``intent_id`` may be sent back
    as they were read."""

    id: Name | None = None
    intent_id: Name | None = Field(None, validation_alias=_either("intent_id", "intentId"))
    strategy: RetryStrategy
    max_retries: Annotated[int, Field(strict=True, ge=0, le=MOST_RETRIES)] | None = Field(
        None, validation_alias=_either("max_retries", "maxRetries")
    )
    base_delay_ms: _Delay | None = Field(None, validation_alias=_either("base_delay_ms", "baseDelayMs"))
    max_delay_ms: _Delay | None = Field(None, validation_alias=_either("max_delay_ms", "maxDelayMs"))
    fallback_agent_id: Name | None = Field(None, validation_alias=_either("fallback_agent_id", "fallbackAgentId"))
    failure_threshold: Annotated[int, Field(strict=True, ge=1, le=MOST_FAILURES)] | None = Field(
        None, validation_alias=_either("failure_threshold", "failureThreshold")
    )

    def policy(self, intent_id: str) -> FailurePolicy:
        """Raises :class:`InvalidRequest` for values that contradict each other, or another intent."""
        if self.intent_id not in {None, intent_id}:
            raise InvalidRequest("intent_id is another intent's.", path="intent_id")
        given = self.model_dump(exclude_none=True, exclude={"id", "intent_id"})
        policy = FailurePolicy(**given)
        if policy.base_delay_ms > policy.max_delay_ms:
            raise InvalidRequest("base_delay_ms must not be greater than max_delay_ms.", path="base_delay_ms")
        return policy


class FailureBody(Strict, json_schema_extra=such_as(_FAILURE)):
    """RFC-0010, "Failure Record Model". ``error_type`` is ``error_code``; ``recoverable: false`` says that no retry
    helps. Without ``agent_id`` it is the caller's, without ``attempt_number`` its next in a row."""

    agent_id: Name | None = Field(None, validation_alias=_either("agent_id", "agentId"))
    task_id: Name | None = Field(None, validation_alias=_either("task_id", "taskId"))
    attempt_number: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = Field(
        None, validation_alias=_either("attempt_number", "attemptNumber")
    )
    error_code: _Code | None = Field(None, validation_alias=_either("error_code", "errorCode"))
    error_type: _Code | None = Field(None, validation_alias=_either("error_type", "errorType"))
    error_message: Annotated[str, Field(max_length=10_000)] | None = Field(
        None, validation_alias=_either("error_message", "errorMessage")
    )
    retry_scheduled_at: Instant | None = Field(None, validation_alias=_either("retry_scheduled_at", "retryScheduledAt"))
    metadata: JsonObject | None = None
    recoverable: Annotated[bool, Field(strict=True)] | None = None

    def failed(self, agent_id: str) -> Failed:
        """``agent_id`` is the caller's. Raises :class:`InvalidRequest` for two codes."""
        if self.error_code is not None and self.error_type not in {None, self.error_code}:
            raise InvalidRequest("error_code and error_type are one code.", path="error_type")
        return Failed(
            agent_id=self.agent_id or agent_id,
            attempt_number=self.attempt_number,
            error_code=self.error_code or self.error_type,
            error_message=self.error_message,
            retry_at=self.retry_scheduled_at,
            metadata=self.metadata or {},
            task_id=self.task_id,
            recoverable=self.recoverable is not False,
        )


class AgentCallbackBody(Strict, json_schema_extra=such_as({"url": "https://agent.example/takeovers"})):
    """Where the agent is told what is for it alone; ``null`` clears it."""

    url: Url | None = None
