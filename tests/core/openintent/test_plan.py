"""Plans and checkpoints alone (RFC-0012; RFC-0026 §2 rule 4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.domain.suspension import FallbackPolicy
from core.errors import InvalidRequest, InvalidTransition, PlanEnded, TaskNotClaimable
from core.openintent.domain.checkpoint import (
    Checkpoint,
    CheckpointStatus,
    NewCheckpoint,
    OnTimeout,
    question_of,
    status_of_checkpoint,
)
from core.openintent.domain.plan import (
    MOST_TASKS,
    PlanChange,
    PlanProgress,
    PlanState,
    TaskPlan,
    changed_plan,
    event_of_plan,
)
from core.openintent.domain.task import Task, TaskChange, TaskStatus, changed, claimed

NOW = datetime(2026, 3, 24, 10, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
PLAN = TaskPlan("p-1", "i-1", PlanState.DRAFT, 1, "agent", NOW, NOW, ("t-1",), {"metadata": {"k": 1}})
TASK = Task("t-1", "i-1", "n", TaskStatus.RUNNING, 1, "agent", NOW, NOW)
MIRRORED = replace(
    TASK, status=TaskStatus.BLOCKED, blocked_reason="intent_suspended", suspended_intent_id="i-1", started_at=NOW
)


def test_a_change_keeps_what_it_leaves_out_and_counts_the_version() -> None:
    after = changed_plan(PLAN, PlanChange(tasks=("t-2", "t-1"), details={"on_failure": "fail"}), LATER)
    assert (after.tasks, after.version, after.updated_at) == (("t-1", "t-2"), 2, LATER)
    assert after.details == {"metadata": {"k": 1}, "on_failure": "fail"}


@pytest.mark.parametrize("end", [PlanState.COMPLETED, PlanState.FAILED, PlanState.CANCELLED])
def test_an_ended_plan_goes_nowhere_and_takes_nothing(end: PlanState) -> None:
    ended = replace(PLAN, state=end)
    with pytest.raises(InvalidTransition):
        changed_plan(ended, PlanChange(PlanState.ACTIVE), LATER)
    with pytest.raises(PlanEnded):
        changed_plan(ended, PlanChange(tasks=("t-2",)), LATER)


def test_a_plan_has_so_many_tasks_at_most() -> None:
    full = replace(PLAN, tasks=tuple(f"t-{number}" for number in range(MOST_TASKS)))
    assert changed_plan(full, PlanChange(tasks=("t-0",)), LATER).tasks == full.tasks
    with pytest.raises(InvalidRequest):
        changed_plan(full, PlanChange(tasks=("one more",)), LATER)


def test_going_on_after_a_pause_is_told_from_the_start() -> None:
    assert event_of_plan(PlanState.DRAFT, PlanState.ACTIVE) == "plan.activated"
    assert event_of_plan(PlanState.PAUSED, PlanState.ACTIVE) == "plan.resumed"


@pytest.mark.parametrize(
    ("by_status", "total", "percentage"),
    [
        ({}, 0, 0.0),
        ({TaskStatus.COMPLETED: 1, TaskStatus.SKIPPED: 2}, 3, 33.3),
        ({TaskStatus.COMPLETED: 3}, 3, 100.0),
    ],
)
def test_progress_is_the_share_of_completed_tasks(
    by_status: dict[TaskStatus, int], total: int, percentage: float
) -> None:
    progress = PlanProgress(by_status)
    assert (progress.total, progress.completion_percentage) == (total, percentage)


def test_a_task_that_starts_while_its_intent_waits_waits_too() -> None:
    ready = replace(TASK, status=TaskStatus.READY)
    assert changed(ready, TaskChange(TaskStatus.RUNNING), LATER, waits=False).status is TaskStatus.RUNNING
    after = changed(ready, TaskChange(TaskStatus.RUNNING), LATER, waits=True)
    assert (after.is_mirrored, after.suspended_intent_id, after.started_at) == (True, "i-1", LATER)


def test_a_task_that_waits_runs_only_once_its_intent_does() -> None:
    with pytest.raises(InvalidTransition):
        changed(MIRRORED, TaskChange(TaskStatus.RUNNING), LATER, waits=True)
    after = changed(MIRRORED, TaskChange(TaskStatus.RUNNING), LATER, waits=False)
    assert (after.status, after.suspended_intent_id) == (TaskStatus.RUNNING, None)


@pytest.mark.parametrize(
    ("reason", "ours"), [(None, True), ("intent_suspended", True), ("the vendor is closed", False)]
)
def test_a_waiting_task_is_its_agents_once_it_gives_a_reason_of_its_own(reason: str | None, ours: bool) -> None:
    after = changed(MIRRORED, TaskChange(TaskStatus.BLOCKED, blocked_reason=reason), LATER, waits=True)
    assert after.is_mirrored is ours


def test_a_free_task_is_claimed_by_whom_it_is_meant_for() -> None:
    free = replace(TASK, status=TaskStatus.PENDING)
    assert claimed(free, "agent", LATER).assigned_agent == "agent"
    with pytest.raises(TaskNotClaimable):
        claimed(replace(free, assigned_agent="other"), "agent", LATER)
    with pytest.raises(TaskNotClaimable):
        claimed(TASK, "agent", LATER)


@pytest.mark.parametrize("on_timeout", OnTimeout)
def test_silence_approves_only_if_the_agent_says_so(on_timeout: OnTimeout) -> None:
    asked = question_of(NewCheckpoint("Go live", True, on_timeout=on_timeout))
    continues = on_timeout is OnTimeout.AUTO_APPROVE
    assert asked.fallback_policy is (FallbackPolicy.COMPLETE_WITH_FALLBACK if continues else FallbackPolicy.FAIL)
    assert asked.fallback_value == ("approve" if continues else None)


def test_a_checkpoint_whose_question_was_moved_out_says_so() -> None:
    made = Checkpoint("c-1", "p-1", "i-1", "n", True, "agent", NOW, "s-1")
    assert status_of_checkpoint(made, None) is CheckpointStatus.ARCHIVED
    assert status_of_checkpoint(replace(made, suspension_id=None), None) is CheckpointStatus.REACHED
