"""What requests and responses hold of plans and checkpoints.

Source: RFC-0012; RFC-0026 §2 rule 4; API.md §7, "plans, tasks". The published client reads a plan's metadata under
either name.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, RootModel

from bot.web.api.requests import IntentId, JsonObject, Name, Reason, Recipient, ResumeBody, Strict, Word, such_as
from bot.web.errors import VISIBLE
from core.domain.suspension import Resume, Status
from core.domain.wire import Instant, Open, plain, reply_of
from core.openintent.containers.plans import ShownCheckpoint, ShownPlan
from core.openintent.domain.checkpoint import CheckpointStatus, NewCheckpoint, OnTimeout, status_of_checkpoint
from core.openintent.domain.plan import PlanChange, PlanFailureAction, PlanProgress, PlanState
from core.openintent.domain.task import TaskStatus

TaskIds = Annotated[list[IntentId], Field(max_length=1000)]
Responders = Annotated[list[Recipient], Field(max_length=100)]
Hours = Annotated[float, Field(strict=True, gt=0, le=24 * 365)]


class CheckpointFields(Strict):
    """What an agent says of a checkpoint (RFC-0012). ``approvers`` are more ``responders``."""

    name: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    """What the checkpoint is called, within its plan."""
    after_task: Word | None = None
    """The task after which it comes."""
    responders: Responders | None = None
    """Who may approve."""
    approvers: Responders | None = None
    """More of them, in the published client's spelling."""
    channel_hint: Name | None = None
    """Where to ask: `slack`, `email`, `pagerduty` or `inbox`."""
    timeout_hours: Hours | None = None
    """How many hours an attempt waits for its answer."""
    on_timeout: OnTimeout | None = None
    """What silence does; `escalate` if you leave it out."""
    question: Annotated[str, Field(min_length=1, max_length=10_000, pattern=VISIBLE)] | None = None
    """What people are asked; a sentence of ours if you leave it out."""
    context: JsonObject | None = None
    """What people should know to decide."""


class PlannedCheckpointBody(CheckpointFields):
    """One that the plan will come to. It is kept as it is; nobody is asked before it is reached. ``id``, ``status`` and
    what follows are there for the published client: no checkpoint is approved by writing so."""

    requires_approval: Annotated[bool, Field(strict=True)] | None = None
    """Whether somebody will have to approve."""
    id: Word | None = None
    """An id of your own."""
    status: Literal["pending"] | None = None
    """`pending` or nothing: writing it approves nothing."""
    approved_by: None = None
    """`null` or nothing: writing it approves nothing."""
    approved_at: None = None
    """`null` or nothing: writing it approves nothing."""


class CheckpointBody(
    CheckpointFields, json_schema_extra=such_as({"name": "Before the mail", "requires_approval": True})
):
    """One that was reached. ``resume`` says how the agent goes on, as in a suspension."""

    requires_approval: Annotated[bool, Field(strict=True)]
    """Whether somebody has to approve. If so, the plan's intent is suspended now."""
    resume: ResumeBody | None = None
    """How you go on, as in a suspension."""

    def wanted(self) -> NewCheckpoint:
        kept = {"after_task", "responders", "approvers", "channel_hint", "timeout_hours", "on_timeout"}
        return NewCheckpoint(
            name=self.name,
            requires_approval=self.requires_approval,
            after_task=self.after_task or None,
            question=self.question,
            context=self.context or {},
            responders=tuple(dict.fromkeys((*(self.responders or ()), *(self.approvers or ())))),
            channel_hint=self.channel_hint,
            timeout=None if self.timeout_hours is None else _seconds(self.timeout_hours),
            on_timeout=self.on_timeout or OnTimeout.ESCALATE,
            resume=Resume() if self.resume is None else self.resume.resume(),
            details=self.model_dump(mode="json", include=kept, exclude_none=True),
        )


class PlanFields(Strict):
    """``conditions``, ``on_failure`` and ``on_complete`` are kept and shown; nothing goes by them. ``on_failure`` has
    the RFC's words: the published client reads no others."""

    tasks: TaskIds | None = None
    """Ids of the plan's tasks, in order."""
    checkpoints: Annotated[list[PlannedCheckpointBody], Field(max_length=100)] | None = None
    """Where the plan will stop, as it is written down."""
    conditions: Annotated[list[JsonObject], Field(max_length=100)] | None = None
    """Conditions of your own. Stored and shown."""
    on_failure: PlanFailureAction | None = None
    """What you want done about a failure. Stored and shown."""
    on_complete: Word | None = None
    """What you want done at the end. Stored and shown."""
    metadata: JsonObject | None = None
    """Anything of yours."""

    def change(self, state: PlanState | None = None) -> PlanChange:
        said = self.model_dump(mode="json", exclude_unset=True, exclude={"tasks", "state", "intent_id"})
        details = {name: value for name, value in said.items() if value is not None}
        return PlanChange(state, tuple(dict.fromkeys(self.tasks or ())), details)


class NewPlanBody(PlanFields, json_schema_extra=such_as({"intent_id": "…", "tasks": ["…"]})):
    """A plan to make."""

    intent_id: IntentId
    """The intent that it belongs to."""


class PlanBody(PlanFields, json_schema_extra=such_as({"state": "active"})):
    """What changes; what is left out stays. ``tasks`` are added, and none is removed."""

    state: PlanState | None = None
    """The new state (RFC-0012)."""


class ApprovalBody(Strict, json_schema_extra=such_as({"reason": "The amounts are right."})):
    """``responded_by``: as in an answer, whom a trusted gateway answers for."""

    reason: Reason | None = None
    """Why. It is passed on to the agent."""
    responded_by: Annotated[str, Field(max_length=320)] | None = None
    """Whom you answer for. Only an admin's key may name somebody else."""


def _seconds(hours: float) -> timedelta:
    return timedelta(seconds=max(1, round(hours * 3600)))


class SuspendedTaskReply(Open):
    """A task that waits for a person."""

    task_id: str
    """The task."""
    intent_id: str
    """The intent that waits."""
    suspended_since: Instant
    """Since when."""
    expires_at: Instant | None
    """When the wait ends by itself; `null` for never."""


class PlanProgressReply(Open):
    """Worked out when it is read (RFC-0026 §2 rule 4)."""

    total: int
    """How many tasks the plan has."""
    by_status: dict[TaskStatus, int]
    """How many of them have each status."""
    completion_percentage: float
    """How many of 100 are completed."""
    suspended_tasks: list[SuspendedTaskReply]
    """Those that wait for a person."""


class PlanReply(Open):
    """``checkpoints`` are those that it will come to, as they were written, and those that it has reached."""

    id: str
    """The plan's id."""
    intent_id: str
    """The intent that it belongs to."""
    version: int
    """Goes up with each change. Send it in `If-Match`."""
    state: PlanState
    """Where the plan stands (RFC-0012)."""
    tasks: list[str]
    """Ids of its tasks, in order."""
    checkpoints: list[JsonObject]
    """Those that it will come to, as they were written, and those that it has reached."""
    conditions: list[JsonObject]
    """Conditions of the agent's. Nothing goes by them."""
    on_failure: PlanFailureAction
    """What the agent wants done about a failure. Nothing goes by it."""
    on_complete: str
    """What the agent wants done at the end. Nothing goes by it."""
    metadata: JsonObject
    """What the agent attached."""
    plan_metadata: JsonObject
    """The same as `metadata`, in the published client's spelling."""
    progress: PlanProgressReply
    """How far its tasks are."""
    created_by: str
    """The key that made it."""
    created_at: Instant
    """When it was made."""
    updated_at: Instant
    """When it last changed."""


class PlanList(RootModel[list[PlanReply]]):
    """The plans of an intent, as a bare array."""


class CheckpointReply(Open):
    """``suspension_id`` is the question; who answered it, when and why, once somebody has."""

    id: str
    """The checkpoint's id."""
    plan_id: str
    """The plan that reached it."""
    intent_id: str
    """The plan's intent."""
    name: str
    """What it is called, within its plan."""
    requires_approval: bool
    """Whether somebody has to approve."""
    status: CheckpointStatus
    """What has become of it, read from its question."""
    suspension_id: str | None
    """Its question; `null` if it needs no approval."""
    responded_by: str | None
    """Who answered; `null` until somebody has."""
    responded_at: Instant | None
    """When."""
    reason: str | None
    """Why, in their words."""
    approved_by: str | None
    """Who approved; `null` unless somebody has."""
    approved_at: Instant | None
    """When it was approved."""
    expires_at: Instant | None
    """When its question ends by itself; `null` for never."""
    created_by: str
    """The key that reached it."""
    created_at: Instant
    """When it was reached."""


def plan_json(shown: ShownPlan) -> PlanReply:
    plan = shown.plan
    details = dict(plan.details)
    metadata = details.get("metadata") or {}
    return reply_of(
        PlanReply,
        plan,
        checkpoints=_checkpoints(details.get("checkpoints"), shown.checkpoints),
        conditions=details.get("conditions") or [],
        on_failure=details.get("on_failure") or PlanFailureAction.PAUSE_AND_ESCALATE,
        on_complete=details.get("on_complete") or "notify",
        metadata=metadata,
        plan_metadata=metadata,
        progress=_progress_json(shown.progress),
    )


def _progress_json(progress: PlanProgress) -> PlanProgressReply:
    counts = {status: progress.by_status.get(status, 0) for status in TaskStatus}
    return reply_of(PlanProgressReply, progress, by_status=counts, suspended_tasks=progress.suspended)


def _checkpoints(planned: object, reached: Sequence[ShownCheckpoint]) -> list[object]:
    """Those that were reached take the places of those that were planned under the same name."""
    left = list(reached)
    rows: list[object] = []
    for one in planned if isinstance(planned, list) else ():
        found = next((each for each in left if each.checkpoint.name == one["name"]), None)
        rows.append(one if found is None else {**one, **checkpoint_json(found)})
        if found is not None:
            left.remove(found)
    return [*rows, *map(checkpoint_json, left)]


def checkpoint_json(shown: ShownCheckpoint) -> JsonObject:
    """With what was written of it when it was planned or reached."""
    made, asked = shown.checkpoint, shown.asked
    ended = None if asked is None or asked.status is not Status.RESPONDED else asked.ended
    status = status_of_checkpoint(made, asked)
    approved = ended if status is CheckpointStatus.APPROVED else None
    said = reply_of(
        CheckpointReply,
        made,
        status=status,
        responded_by=ended and ended.by,
        responded_at=ended and ended.at,
        approved_by=approved and approved.by,
        approved_at=approved and approved.at,
        reason=ended and ended.reason,
        expires_at=asked and asked.expires_at,
    )
    return {**made.details, **plain(said)}
