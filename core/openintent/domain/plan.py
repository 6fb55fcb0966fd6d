"""Plans: a group of tasks, how a plan moves, and its progress.

Source: RFC-0012 (states); RFC-0026 §2 rule 4 (``suspended_tasks``); API.md §7, "plans, tasks".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from core.errors import InvalidRequest, InvalidTransition, PlanEnded, VersionConflict
from core.openintent.domain.task import TaskStatus

MOST_TASKS = 10_000


class PlanState(StrEnum):
    """Where a plan stands (RFC-0012)."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PlanFailureAction(StrEnum):
    """What the agents of a plan want to do about a failure (RFC-0012)."""

    PAUSE_AND_ESCALATE = "pause_and_escalate"
    NOTIFY = "notify"
    FAIL = "fail"
    RETRY = "retry"


_ENDS = frozenset({PlanState.COMPLETED, PlanState.FAILED, PlanState.CANCELLED})
_MOVES: Mapping[PlanState, frozenset[PlanState]] = {
    PlanState.DRAFT: frozenset({PlanState.ACTIVE, PlanState.CANCELLED}),
    PlanState.ACTIVE: _ENDS | {PlanState.PAUSED},
    PlanState.PAUSED: frozenset({PlanState.ACTIVE, PlanState.FAILED, PlanState.CANCELLED}),
    **{end: frozenset() for end in _ENDS},
}

CREATED = "plan.created"
UPDATED = "plan.updated"
_EVENTS = {
    PlanState.ACTIVE: "plan.activated",
    PlanState.PAUSED: "plan.paused",
    PlanState.COMPLETED: "plan.completed",
    PlanState.FAILED: "plan.failed",
    PlanState.CANCELLED: "plan.cancelled",
}


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """``tasks`` are ids, in their plan's order. ``details`` are fields without a meaning here, as its agent wrote
    them."""

    id: str
    intent_id: str
    state: PlanState
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    tasks: tuple[str, ...] = ()
    details: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        return self.state in _ENDS


@dataclass(frozen=True, slots=True)
class PlanChange:
    """The change; ``None`` leaves a field as it is. ``tasks`` are added, and none is removed."""

    state: PlanState | None = None
    tasks: tuple[str, ...] = ()
    details: Mapping[str, JsonValue] = field(default_factory=dict)


def event_of_plan(before: PlanState, after: PlanState) -> str:
    """The event type of a plan that has moved to ``after``, which is not a draft."""
    return "plan.resumed" if before is PlanState.PAUSED and after is PlanState.ACTIVE else _EVENTS[after]


def check_plan_version(plan: TaskPlan, expected: int) -> None:
    """Raises :class:`VersionConflict` if the change was made for another version."""
    if plan.version != expected:
        raise VersionConflict(f"The plan is at version {plan.version}.", current_version=plan.version)


def check_goes_on(plan: TaskPlan) -> None:
    """Raises :class:`PlanEnded`."""
    if plan.has_ended:
        raise PlanEnded(f"The plan has ended; it is {plan.state}.", state=plan.state.value)


def changed_plan(plan: TaskPlan, change: PlanChange, now: datetime) -> TaskPlan:
    """``plan`` after ``change``. Raises :class:`InvalidTransition` for a move that RFC-0012 does not have, and
    :class:`PlanEnded` for tasks that come too late."""
    state = change.state or plan.state
    if state is not plan.state and state not in _MOVES[plan.state]:
        raise InvalidTransition(f"A plan can't go from {plan.state} to {state}.", state=plan.state.value)
    if change.tasks:
        check_goes_on(plan)
    tasks = tuple(dict.fromkeys((*plan.tasks, *change.tasks)))
    if len(tasks) > MOST_TASKS:
        raise InvalidRequest(f"A plan has {MOST_TASKS:,} tasks at most.", path="tasks")
    details = {**plan.details, **change.details}
    return replace(plan, state=state, tasks=tasks, details=details, version=plan.version + 1, updated_at=now)


@dataclass(frozen=True, slots=True)
class SuspendedTask:
    """A task that waits with its intent (RFC-0026 §2 rule 4). ``expires_at``: ``None`` if the intent waits for ever,
    or its question is not there yet."""

    task_id: str
    intent_id: str
    suspended_since: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """The progress of a plan's tasks: counts by status, and the tasks that wait for a person."""

    by_status: Mapping[TaskStatus, int] = field(default_factory=dict)
    suspended: Sequence[SuspendedTask] = ()

    @property
    def total(self) -> int:
        return sum(self.by_status.values())

    @property
    def completion_percentage(self) -> float:
        """Of all its tasks, with one decimal; 0 if there are none."""
        completed = self.by_status.get(TaskStatus.COMPLETED, 0)
        return round(100 * completed / self.total, 1) if self.total else 0.0
