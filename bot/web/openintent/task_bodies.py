"""Request bodies of tasks. Source: RFC-0012; API.md §7, "plans, tasks"."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bot.web.api.requests import JsonObject, Name, Strict, Word, such_as
from bot.web.errors import VISIBLE
from core.domain.policy import Seconds
from core.openintent.domain.retry import FailurePolicyFields, failure_policy_values
from core.openintent.domain.task import TaskChange, TaskStatus


class TaskFields(Strict):
    """What an agent writes into a task (RFC-0012). ``input``, ``depends_on`` and the like are kept as they are."""

    description: Annotated[str, Field(max_length=40_000)] | None = None
    """What is to be done, at length."""
    priority: Word | None = None
    """How urgent it is, by a word of yours; `normal` if you leave it out."""
    input: JsonObject | None = None
    """What the task starts from."""
    output: JsonObject | None = None
    """What came of it."""
    artifacts: Annotated[list[Word], Field(max_length=1000)] | None = None
    """Names of what it made."""
    assigned_agent: Name | None = None
    """The agent that works on it."""
    capabilities_required: Annotated[list[Word], Field(max_length=100)] | None = None
    """What an agent has to be able to do. Stored and shown."""
    depends_on: Annotated[list[Word], Field(max_length=1000)] | None = None
    """Ids of tasks that come first. It can't depend on itself, at however many removes."""
    parent_task_id: Word | None = None
    """The task that this one is a part of. Stored and shown."""
    retry_policy: FailurePolicyFields | None = None
    """What is done if it fails (RFC-0010); the intent's if you leave it out."""
    timeout_seconds: Seconds | None = None
    """How long one attempt may take, in seconds. Stored and shown."""
    max_attempts: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    """How often it may be attempted. Stored and shown."""
    metadata: JsonObject | None = None
    """Anything of yours."""
    error: Annotated[str, Field(max_length=10_000)] | None = None
    """What went wrong."""
    blocked_reason: Word | None = None
    """Why it is blocked, by a word of yours."""

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
    """A task to add to an intent."""

    intent_id: Annotated[str, Field(min_length=1, max_length=255)]
    """The intent that it belongs to."""
    name: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    """What is to be done, in a line."""


class TaskBody(TaskFields, json_schema_extra=such_as({"status": "running"})):
    """What changes; what is left out stays."""

    status: TaskStatus | None = None
    """The new status (RFC-0012)."""
