"""Checkpoints: places in a plan that an agent reaches, and at which a person may have to approve.

A checkpoint that requires approval is a question of its plan's intent. Its status is read from that question.

Source: RFC-0012 (checkpoints); RFC-0026 §2 rule 3 ("SHOULD be implemented via request_input()"); API.md §7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import JsonValue

from core.domain.request import AskRequest
from core.domain.suspension import Choice, FallbackPolicy, Resume, Status, Style, Suspension
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject

CHECKPOINT_REACHED = "plan.checkpoint_reached"
CHECKPOINT_APPROVED = "plan.checkpoint_approved"
CHECKPOINT_REJECTED = "plan.checkpoint_rejected"


class CheckpointAnswer(StrEnum):
    """The answers to a checkpoint's question."""

    APPROVE = "approve"
    REJECT = "reject"


class OnTimeout(StrEnum):
    """What silence does (RFC-0012)."""

    ESCALATE = "escalate"
    """Whoever comes next on the ladder is asked, if the agent or the platform has one; after the last, it fails."""
    AUTO_APPROVE = "auto_approve"
    """The agent goes on as if it had been approved."""
    FAIL = "fail"
    """The intent is abandoned."""


class CheckpointStatus(StrEnum):
    """What has become of a checkpoint."""

    REACHED = "reached"
    """It needs no approval."""
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"
    """Its question has ended, and has been moved out of the database since."""


_CHOICES = (
    Choice(CheckpointAnswer.APPROVE, "Approve", style=Style.PRIMARY),
    Choice(CheckpointAnswer.REJECT, "Reject", style=Style.DANGER),
)
_ENDINGS = {Status.EXPIRED: CheckpointStatus.EXPIRED, Status.CANCELLED: CheckpointStatus.CANCELLED}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A reached checkpoint. ``suspension_id`` is its question; ``None`` if it needs no approval."""

    id: str
    plan_id: str
    intent_id: str
    name: str
    requires_approval: bool
    created_by: str
    created_at: datetime
    suspension_id: str | None = None
    details: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """A requested checkpoint. ``details`` is the whole request as written, for the plan's readers."""

    name: str
    requires_approval: bool
    after_task: str | None = None
    question: str | None = None
    context: Mapping[str, JsonValue] = field(default_factory=dict)
    responders: tuple[str, ...] = ()
    channel_hint: str | None = None
    timeout: timedelta | None = None
    on_timeout: OnTimeout = OnTimeout.ESCALATE
    resume: Resume = field(default_factory=Resume)
    details: Mapping[str, JsonValue] = field(default_factory=dict)


def question_of(wanted: NewCheckpoint) -> AskRequest:
    """The question that asks for approval. Silence approves only if the agent has said so."""
    continues = wanted.on_timeout is OnTimeout.AUTO_APPROVE
    return AskRequest(
        question=wanted.question or f"The plan has come to its checkpoint “{wanted.name}”. May it go on?",
        choices=_CHOICES,
        context=wanted.context,
        channel_hint=wanted.channel_hint,
        responders=wanted.responders,
        timeout=wanted.timeout,
        fallback_policy=FallbackPolicy.COMPLETE_WITH_FALLBACK if continues else FallbackPolicy.FAIL,
        fallback_value=CheckpointAnswer.APPROVE.value if continues else None,
        resume=wanted.resume,
    )


def status_of_checkpoint(checkpoint: Checkpoint, asked: Suspension | None) -> CheckpointStatus:
    """``asked`` is its question, ``None`` if that is not in the database."""
    if checkpoint.suspension_id is None:
        return CheckpointStatus.REACHED
    if asked is None:
        return CheckpointStatus.ARCHIVED
    if asked.is_open:
        return CheckpointStatus.PENDING
    if asked.status is Status.RESPONDED:
        approved = asked.ended is not None and asked.ended.value == CheckpointAnswer.APPROVE
        return CheckpointStatus.APPROVED if approved else CheckpointStatus.REJECTED
    return _ENDINGS[asked.status]


def verdict_event(checkpoint: Checkpoint, asked: Suspension) -> Event | None:
    """The event of an answer; ``None`` if its question has not been answered."""
    status = status_of_checkpoint(checkpoint, asked)
    if status not in {CheckpointStatus.APPROVED, CheckpointStatus.REJECTED} or asked.ended is None:
        return None
    event = CHECKPOINT_APPROVED if status is CheckpointStatus.APPROVED else CHECKPOINT_REJECTED
    said = checkpoint_said(checkpoint)
    return Event(event, {**said, "channel": asked.ended.channel}, asked.ended.by or "handraise")


def checkpoint_said(checkpoint: Checkpoint) -> JsonObject:
    """The fields of every event of a checkpoint."""
    return {
        "plan_id": checkpoint.plan_id,
        "checkpoint_id": checkpoint.id,
        "name": checkpoint.name,
        "suspension_id": checkpoint.suspension_id,
    }
