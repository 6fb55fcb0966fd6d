"""Bodies about failures of agents (RFC-0010), with either spelling of a field, as the published client reads them.

Source: RFC-0010; API.md §7, "failures".
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from bot.web.api.paging import Instant
from bot.web.api.requests import JsonObject, Name, Strict, Url, such_as
from bot.web.errors import VISIBLE
from core.errors import InvalidRequest
from core.openintent.domain.retry import Failed, FailurePolicy, FailurePolicyFields, either

_Code = Annotated[str, Field(min_length=1, max_length=200, pattern=VISIBLE)]


_POLICY: JsonObject = {"strategy": "exponential", "max_retries": 5, "base_delay_ms": 1000, "max_delay_ms": 60_000}
_FAILURE: JsonObject = {"attempt_number": 1, "error_code": "TIMEOUT", "error_message": "Request timed out after 30s"}


class FailurePolicyBody(FailurePolicyFields):
    """RFC-0010, "Retry Policy Model". ``id`` and ``intent_id`` may be sent back as they were read."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=such_as(_POLICY))

    id: Name | None = None
    """May be sent back as it was read. It is not used."""
    intent_id: Name | None = Field(None, validation_alias=either("intent_id", "intentId"))
    """May be sent back as it was read. It has to be the path's."""

    def of(self, intent_id: str) -> FailurePolicy:
        """Raises :class:`InvalidRequest` for values that contradict each other, or another intent."""
        if self.intent_id not in {None, intent_id}:
            raise InvalidRequest("intent_id is another intent's.", path="intent_id")
        return self.policy()


class FailureBody(Strict, json_schema_extra=such_as(_FAILURE)):
    """RFC-0010, "Failure Record Model". ``error_type`` is ``error_code``; ``recoverable: false`` says that no retry
    helps. Without ``agent_id`` it is the caller's, without ``attempt_number`` its next in a row."""

    agent_id: Name | None = Field(None, validation_alias=either("agent_id", "agentId"))
    """Whose failure it is; the caller's if you leave it out."""
    task_id: Name | None = Field(None, validation_alias=either("task_id", "taskId"))
    """Of which task; `null` for the intent as a whole."""
    attempt_number: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = Field(
        None, validation_alias=either("attempt_number", "attemptNumber")
    )
    """Which try failed, from 1; the next in a row if you leave it out."""
    error_code: _Code | None = Field(None, validation_alias=either("error_code", "errorCode"))
    """What failed, as a stable code of yours."""
    error_type: _Code | None = Field(None, validation_alias=either("error_type", "errorType"))
    """The same as `error_code`, in the published client's spelling."""
    error_message: Annotated[str, Field(max_length=10_000)] | None = Field(
        None, validation_alias=either("error_message", "errorMessage")
    )
    """What failed, for people."""
    retry_scheduled_at: Instant | None = Field(None, validation_alias=either("retry_scheduled_at", "retryScheduledAt"))
    """When you will try again; worked out from the policy if you leave it out."""
    metadata: JsonObject | None = None
    """Anything of yours."""
    recoverable: Annotated[bool, Field(strict=True)] | None = None
    """`false` says that no retry helps."""

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

    url: Url | None
    """Where to send it, over HTTP or HTTPS; `null` clears it."""
