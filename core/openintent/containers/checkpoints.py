"""Checkpoints of a plan: an agent reaches one, and a person approves or rejects it if that is required.

The transaction that makes the checkpoint also opens its question, just as ``POST …/suspend`` does. The question is
answered like any other. The answer writes nothing to the checkpoint.

Source: RFC-0012 (checkpoints); RFC-0026 §2 rule 3; API.md §7, "plans, tasks".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.answers import GivenAnswer
from core.domain.intent import IntentLink
from core.domain.people import Actor
from core.domain.reception import Reception
from core.domain.suspension import Via
from core.domain.vocabulary import Event
from core.engine.engine import Engine, OpenQuestion
from core.engine.queries import may_read
from core.errors import IntentNotActive, InvalidRequest, NotFound, NotSuspended
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.containers.plans import ShownCheckpoint, readable_plan
from core.openintent.domain.checkpoint import (
    CHECKPOINT_REACHED,
    Checkpoint,
    CheckpointAnswer,
    NewCheckpoint,
    checkpoint_said,
    question_of,
)
from core.openintent.domain.plan import TaskPlan, check_goes_on
from core.openintent.domain.propagation import ENDED
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.writing import IntentLog
from core.openintent.store import plans
from core.ports import Clock
from core.store import intents, suspensions


@dataclass(frozen=True, slots=True)
class Checkpoints:
    engine: Engine
    log: IntentLog
    clock: Clock

    async def make(
        self,
        plan_id: str,
        wanted: NewCheckpoint,
        by: Actor,
        traceparent: str | None = None,
        once: IdempotentRequest | None = None,
    ) -> ShownCheckpoint | Replayed:
        """Make a reached checkpoint; if it needs approval, its question is open.

        Raises :class:`NotFound`, :class:`PlanEnded`, :class:`IntentNotActive`, :class:`InvalidRequest` for a task that
        is not the plan's, and all refusals of the question. Nothing is stored then.
        """
        now = self.clock.now()
        if not wanted.requires_approval:
            job = _repeatable(once, now, lambda tx: self._make(tx, plan_id, wanted, by, None))
            return await self.engine.database.write(job)
        request = replace(question_of(wanted), traceparent=traceparent)

        def asking(tx: Tx, opens: OpenQuestion) -> ShownCheckpoint | Replayed:
            return perform_once(tx, once, now, lambda: self._make(tx, plan_id, wanted, by, opens))

        return await self.engine.open_within(request, by, asking)

    def _make(
        self, tx: Tx, plan_id: str, wanted: NewCheckpoint, by: Actor, opens: OpenQuestion | None
    ) -> ShownCheckpoint:
        now = self.clock.now()
        intent = access.lock(tx, readable_plan(tx.conn, plan_id, by).intent_id, by, Right.WORK)
        plan = readable_plan(tx.conn, plan_id, by)  # once more: held still from here on
        _check(plan, wanted)
        if intent.status in ENDED:
            raise IntentNotActive(f"The intent has ended; it is {intent.status}.")
        asked = None
        if opens is not None:
            intents.link(tx, [intent.id], IntentLink.CHECKPOINTS)
            asked = opens(tx, intent.id)
        made = Checkpoint(
            str(uuid.uuid4()),
            plan.id,
            plan.intent_id,
            wanted.name,
            wanted.requires_approval,
            by.key or by.identity,
            now,
            None if asked is None else asked.id,
            wanted.details,
        )
        plans.insert_checkpoint(tx, made)
        self._log(tx, made, by, now)
        return ShownCheckpoint(made, asked)

    def _log(self, tx: Tx, made: Checkpoint, by: Actor, now: datetime) -> None:
        intent = intents.lock(tx, made.intent_id)  # as its question has left it
        if intent is not None:
            said = {**checkpoint_said(made), "requires_approval": made.requires_approval}
            self.log.write(tx, intent, now, Event(CHECKPOINT_REACHED, said, by.identity))

    async def get(self, checkpoint_id: str, by: Actor) -> Checkpoint:
        """For a key that may answer any question, or this one. Raises :class:`NotFound`, and :class:`NotSuspended`
        if it needs no approval."""

        def look_up(conn: sa.Connection) -> Checkpoint | None:
            found = plans.get_checkpoint(conn, checkpoint_id)
            if found is None or not by.is_narrowed:
                return found
            asked = suspensions.get(conn, found.suspension_id or "")
            is_read = asked is not None and may_read(conn, asked, by, self.engine.permissions)
            return found if is_read else None

        found = await self.engine.database.read(look_up)
        if found is None:
            raise NotFound("There is no such checkpoint.")
        if found.suspension_id is None:
            raise NotSuspended("The checkpoint needs no approval.")
        return found

    async def answer(
        self,
        checkpoint: Checkpoint,
        verdict: CheckpointAnswer,
        by: Actor,
        reason: str | None = None,
        named: str | None = None,
        once: IdempotentRequest | None = None,
    ) -> Reception | Replayed:
        """:meth:`Engine.respond_once`, with the same permissions and refusals."""
        metadata = {} if reason is None else {"reason": reason}
        return await self.engine.respond_once(
            GivenAnswer(
                suspension_id=checkpoint.suspension_id or "",
                by=by,
                channel="api",
                value=verdict.value,
                reason=reason,
                metadata=metadata,
                intent_id=checkpoint.intent_id,
                named=named,
                via=Via("api", by.key),
            ),
            once,
        )


def _check(plan: TaskPlan, wanted: NewCheckpoint) -> None:
    check_goes_on(plan)
    if wanted.after_task is not None and wanted.after_task not in plan.tasks:
        raise InvalidRequest("The plan has no such task.", path="after_task")


def _repeatable(
    once: IdempotentRequest | None, now: datetime, job: Callable[[Tx], ShownCheckpoint]
) -> Callable[[Tx], ShownCheckpoint | Replayed]:
    return lambda tx: perform_once(tx, once, now, lambda: job(tx))
