"""Tasks: bounded pieces of an intent's work, and how they move.

A task goes forward: pending, ready, claimed, running, and then to an end. Steps may be left out: a single agent needs
no claim. A running task may be blocked and run again; a failed one is ready again for a retry.

Source: RFC-0012 (states), by way of RFC-0010 ("task-level retry policies") and RFC-0026 §2 rule 3; API.md §7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from core.errors import InvalidTransition, TaskNotClaimable, VersionConflict


class TaskStatus(StrEnum):
    """Where a task stands (RFC-0012)."""

    PENDING = "pending"
    READY = "ready"
    CLAIMED = "claimed"
    RUNNING = "running"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


_FORWARD = (TaskStatus.PENDING, TaskStatus.READY, TaskStatus.CLAIMED, TaskStatus.RUNNING)
_UNDONE = frozenset({TaskStatus.CANCELLED, TaskStatus.SKIPPED})
_MOVES: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    **{status: frozenset(_FORWARD[place + 1 :]) | _UNDONE for place, status in enumerate(_FORWARD)},
    TaskStatus.RUNNING: frozenset({TaskStatus.BLOCKED, TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED}),
    TaskStatus.BLOCKED: frozenset({TaskStatus.RUNNING, TaskStatus.FAILED, TaskStatus.CANCELLED}),
    TaskStatus.FAILED: frozenset({TaskStatus.READY, TaskStatus.CANCELLED}),
    TaskStatus.COMPLETED: frozenset(),
    TaskStatus.CANCELLED: frozenset(),
    TaskStatus.SKIPPED: frozenset(),
}

_EVENTS = {
    TaskStatus.PENDING: "task.created",
    TaskStatus.READY: "task.ready",
    TaskStatus.CLAIMED: "task.claimed",
    TaskStatus.RUNNING: "task.started",
    TaskStatus.BLOCKED: "task.blocked",
    TaskStatus.COMPLETED: "task.completed",
    TaskStatus.FAILED: "task.failed",
    TaskStatus.CANCELLED: "task.cancelled",
    TaskStatus.SKIPPED: "task.skipped",
}
INTENT_SUSPENDED = "intent_suspended"
"""Why a task is blocked whose intent waits for a person (RFC-0026 §2 rule 3)."""
ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.SKIPPED})


@dataclass(frozen=True, slots=True)
class Task:
    """``details`` are fields without a meaning here, as its agent wrote them."""

    id: str
    intent_id: str
    name: str
    status: TaskStatus
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    assigned_agent: str | None = None
    retry_policy: Mapping[str, JsonValue] | None = None
    blocked_reason: str | None = None
    suspended_intent_id: str | None = None
    error: str | None = None
    output: Mapping[str, JsonValue] | None = None
    attempt: int = 1
    details: Mapping[str, JsonValue] | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    plan_id: str | None = None

    @property
    def depends_on(self) -> Sequence[str]:
        """The ids of the tasks that come before it, each once."""
        return named_in(self.details)

    @property
    def is_mirrored(self) -> bool:
        """Whether it is blocked because its intent waits, and not by its agent, whatever ``blocked_reason`` says."""
        return self.status is TaskStatus.BLOCKED and self.suspended_intent_id is not None


@dataclass(frozen=True, slots=True)
class TaskChange:
    """The change; ``None`` leaves a field as it is."""

    status: TaskStatus | None = None
    assigned_agent: str | None = None
    retry_policy: Mapping[str, JsonValue] | None = None
    blocked_reason: str | None = None
    error: str | None = None
    output: Mapping[str, JsonValue] | None = None
    details: Mapping[str, JsonValue] | None = None


def named_in(details: Mapping[str, JsonValue] | None) -> Sequence[str]:
    """The ids that a task with these details depends on."""
    named = (details or {}).get("depends_on")
    return list(dict.fromkeys(str(one) for one in named)) if isinstance(named, list) else []


def event_of(status: TaskStatus, before: TaskStatus | None = None) -> str:
    """The event type of a task that has moved to ``status``."""
    if before is TaskStatus.BLOCKED and status is TaskStatus.RUNNING:
        return "task.unblocked"
    return _EVENTS[status]


def check_task_version(task: Task, expected: int) -> None:
    """Raises :class:`VersionConflict` if the change was made for another version."""
    if task.version != expected:
        raise VersionConflict(f"The task is at version {task.version}.", current_version=task.version)


def changed(task: Task, change: TaskChange, now: datetime, *, waits: bool = False) -> Task:
    """``task`` after ``change``. ``waits``: its intent waits for a person, so none of its tasks runs (RFC-0026 §2 rule
    3).

    Raises :class:`InvalidTransition` for a move that RFC-0012 does not have, and for running a task that waits with its
    intent.
    """
    given = {
        name: value
        for name in ("assigned_agent", "retry_policy", "blocked_reason", "error", "output")
        if (value := getattr(change, name)) is not None
    }
    details = {**(task.details or {}), **(change.details or {})}
    after = replace(task, **given, details=details, version=task.version + 1, updated_at=now)
    if change.status is not None:
        after = _moved(after, change.status, now, waits=waits)
    return _own_block(after, change.blocked_reason) if task.is_mirrored and after.is_mirrored else after


def claimed(task: Task, by: str, now: datetime) -> Task:
    """``task``, claimed by ``by``. Raises :class:`TaskNotClaimable` unless it is free for them."""
    if task.status not in _FREE:
        message = f"Only a task that is pending or ready is claimed; this one is {task.status}."
        raise TaskNotClaimable(message, status=task.status.value, assigned_agent=task.assigned_agent)
    if task.assigned_agent not in {None, by}:
        message = "The task is meant for another agent."
        raise TaskNotClaimable(message, status=task.status.value, assigned_agent=task.assigned_agent)
    return changed(replace(task, assigned_agent=by), TaskChange(TaskStatus.CLAIMED), now)


def is_taken_up(task: Task, change: TaskChange) -> bool:
    """Whether ``change`` lets an agent begin with ``task``: the only kind of claim that the published client has."""
    return task.status in _FREE and change.status in {TaskStatus.CLAIMED, TaskStatus.RUNNING}


_FREE = frozenset({TaskStatus.PENDING, TaskStatus.READY})


def _moved(task: Task, wanted: TaskStatus, now: datetime, *, waits: bool) -> Task:
    if waits and wanted is TaskStatus.RUNNING and task.is_mirrored:
        message = "The task runs on when its intent does; that waits for a person."
        raise InvalidTransition(message, status=task.status.value, suspended_intent_id=task.suspended_intent_id)
    if wanted is task.status:
        return task
    if wanted not in _MOVES[task.status]:
        raise InvalidTransition(f"A task can't go from {task.status} to {wanted}.", status=task.status.value)
    again = task.status is TaskStatus.FAILED and wanted is TaskStatus.READY
    begins = wanted is TaskStatus.RUNNING and task.started_at is None
    moved = replace(
        task,
        status=wanted,
        attempt=task.attempt + 1 if again else task.attempt,
        blocked_reason=task.blocked_reason if wanted is TaskStatus.BLOCKED else None,
        suspended_intent_id=None,
        started_at=now if begins else task.started_at,
        completed_at=now if wanted in ENDED else None,
    )
    return _mirrored(moved) if waits and wanted is TaskStatus.RUNNING else moved


def _mirrored(task: Task) -> Task:
    return replace(task, status=TaskStatus.BLOCKED, blocked_reason=INTENT_SUSPENDED, suspended_intent_id=task.intent_id)


def _own_block(task: Task, reason: str | None) -> Task:
    """Its agent has its own reason to keep it blocked: the end of the wait does not undo that. An agent that writes
    our reason has given none."""
    if reason is None or reason == INTENT_SUSPENDED:
        return replace(task, blocked_reason=INTENT_SUSPENDED)
    return replace(task, suspended_intent_id=None)
