"""Plans of an intent: its agents make and move them.

A plan belongs to one intent, and its log is that intent's. Its tasks may belong to several intents: the phases of a
coordinator's plan are intents of their own. Its progress is computed when it is read.

Source: RFC-0012; RFC-0026 §2 rule 4; API.md §7, "plans, tasks".
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.intent import Intent
from core.domain.people import Actor, Role
from core.domain.suspension import Suspension
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject
from core.errors import IntentNotActive, InvalidRequest, NotFound, TaskInPlan
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.checkpoint import Checkpoint
from core.openintent.domain.plan import (
    CREATED,
    UPDATED,
    PlanChange,
    PlanProgress,
    PlanState,
    TaskPlan,
    changed_plan,
    check_plan_version,
    event_of_plan,
)
from core.openintent.domain.propagation import ENDED
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.writing import IntentLog
from core.openintent.store import plans, tasks
from core.ports import Clock
from core.store import intents, suspensions


@dataclass(frozen=True, slots=True)
class ShownCheckpoint:
    """A checkpoint and its question; ``None`` if it has none, or the question is not in the database."""

    checkpoint: Checkpoint
    asked: Suspension | None


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A plan, its progress, and the checkpoints that it has reached."""

    plan: TaskPlan
    progress: PlanProgress
    checkpoints: Sequence[ShownCheckpoint] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Plans:
    database: Database
    log: IntentLog
    clock: Clock

    async def create(
        self, intent_id: str, wanted: PlanChange, by: Actor, once: IdempotentRequest | None = None
    ) -> ShownPlan | Replayed:
        """A draft. Raises :class:`NotFound` if ``by`` may not read the intent, :class:`IntentNotActive` if the
        intent has ended, and the errors of a task's place."""
        now = self.clock.now()

        def insert(tx: Tx) -> ShownPlan:
            intent = _lock(tx, intent_id, wanted.tasks, by)
            if intent.status in ENDED:
                raise IntentNotActive(f"The intent has ended; it is {intent.status}.")
            creator = by.key or by.identity
            made = TaskPlan(str(uuid.uuid4()), intent.id, PlanState.DRAFT, 0, creator, now, now)
            made = changed_plan(made, wanted, now)
            _check_places(tx.conn, made.id, wanted.tasks, by)
            plans.insert(tx, made)
            plans.take_tasks(tx, made.id, made.tasks)
            said: JsonObject = {"plan_id": made.id, "state": made.state.value, "task_ids": [*made.tasks]}
            self.log.write(tx, intent, now, Event(CREATED, said, by.identity))
            return _shown(tx.conn, made)

        return await self.database.write(lambda tx: perform_once(tx, once, now, lambda: insert(tx)))

    async def get(self, plan_id: str, by: Actor) -> ShownPlan:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""
        return await self.database.read(lambda conn: _shown(conn, readable_plan(conn, plan_id, by)))

    async def of_intent(self, intent_id: str, by: Actor, *, limit: int, offset: int) -> Sequence[ShownPlan]:
        """The oldest first."""

        def job(conn: sa.Connection) -> Sequence[ShownPlan]:
            intent = access.read(conn, intent_id, by)
            return _all_shown(conn, plans.of_intent(conn, intent.id, limit=limit, offset=offset))

        return await self.database.read(job)

    async def change(self, plan_id: str, wanted: PlanChange, by: Actor, version: int) -> ShownPlan:
        """Raises :class:`VersionConflict`, :class:`InvalidTransition`, and the errors of a task's place."""

        def job(tx: Tx) -> ShownPlan:
            now = self.clock.now()
            intent = _lock(tx, readable_plan(tx.conn, plan_id, by).intent_id, wanted.tasks, by)
            before = readable_plan(tx.conn, plan_id, by)  # once more: held still from here on
            check_plan_version(before, version)
            after = changed_plan(before, wanted, now)
            _check_places(tx.conn, before.id, wanted.tasks, by)
            added = after.tasks[len(before.tasks) :]
            plans.update(tx, after)
            plans.take_tasks(tx, after.id, added)
            events = _events(before, after, added, wanted, by)
            if events:
                self.log.write(tx, intent, now, *events)
            return _shown(tx.conn, after)

        return await self.database.write(job)


def readable_plan(conn: sa.Connection, plan_id: str, by: Actor) -> TaskPlan:
    """The plan, if ``by`` may read its intent."""
    plan = plans.get(conn, plan_id)
    if plan is None or not access.may_read(conn, plan.intent_id, by):
        raise NotFound("There is no such plan.")
    return plan


def _lock(tx: Tx, intent_id: str, task_ids: Sequence[str], by: Actor) -> Intent:
    """The plan's intent, locked together with the intents of its tasks."""
    others = {place.intent_id for place in tasks.places(tx.conn, task_ids, _whose(by))}
    intents.lock_in_order(tx, {intent_id, *others})
    return access.lock(tx, intent_id, by, Right.WORK)


def _check_places(conn: sa.Connection, plan_id: str, task_ids: Sequence[str], by: Actor) -> None:
    """Raises :class:`InvalidRequest` for a task that ``by`` can't find, and :class:`TaskInPlan` for a task of
    another plan."""
    found = {place.id: place for place in tasks.places(conn, task_ids, _whose(by))}
    for number, task_id in enumerate(task_ids):
        if task_id not in found:
            raise InvalidRequest("There is no such task on which you may work.", path=f"tasks.{number}")
        if found[task_id].plan_id not in {None, plan_id}:
            raise TaskInPlan("The task belongs to another plan.", task_id=task_id)


def _whose(by: Actor) -> str | None:
    return None if by.has(Role.ADMIN) else by.key or by.identity


def _events(before: TaskPlan, after: TaskPlan, added: Sequence[str], wanted: PlanChange, by: Actor) -> Sequence[Event]:
    events = []
    if added or wanted.details:
        said: JsonObject = {"plan_id": after.id, "task_ids": [*added], "fields": [*sorted(wanted.details)]}
        events.append(Event(UPDATED, said, by.identity))
    if after.state is not before.state:
        said = {"plan_id": after.id, "from": before.state.value, "state": after.state.value}
        events.append(Event(event_of_plan(before.state, after.state), said, by.identity))
    return events


def _shown(conn: sa.Connection, plan: TaskPlan) -> ShownPlan:
    return _all_shown(conn, [plan])[0]


def _all_shown(conn: sa.Connection, found: Sequence[TaskPlan]) -> Sequence[ShownPlan]:
    """The same few queries, however many plans there are."""
    ids = [plan.id for plan in found]
    progress, reached = plans.progress(conn, ids), _reached(conn, ids)
    return [ShownPlan(plan, progress.get(plan.id, PlanProgress()), reached.get(plan.id, ())) for plan in found]


def _reached(conn: sa.Connection, plan_ids: Sequence[str]) -> Mapping[str, Sequence[ShownCheckpoint]]:
    found = plans.checkpoints_of(conn, plan_ids)
    asked = suspensions.those(conn, [one.suspension_id for one in found if one.suspension_id is not None])
    reached: dict[str, list[ShownCheckpoint]] = defaultdict(list)
    for one in found:
        reached[one.plan_id].append(ShownCheckpoint(one, asked.get(one.suspension_id or "")))
    return reached
