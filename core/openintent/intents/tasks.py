"""Tasks of an intent: its agents make and move them.

Source: RFC-0012; RFC-0010 ("task-level retry policies override"); API.md §7, "plans, tasks".
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentLink, IntentStatus
from core.domain.people import Actor
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject
from core.errors import IntentNotActive, InvalidRequest, NotFound
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.task import (
    Task,
    TaskChange,
    TaskStatus,
    changed,
    check_task_version,
    event_of,
    is_taken_up,
    named_in,
)
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.phase_inputs import claim_inputs, with_inputs
from core.openintent.intents.writing import IntentLog
from core.openintent.propagation.tasks import check_given
from core.openintent.store import intent_edges, tasks
from core.ports import Clock
from core.store import intents


@dataclass(frozen=True, slots=True)
class Tasks:
    database: Database
    log: IntentLog
    clock: Clock

    async def create(
        self, intent_id: str, name: str, wanted: TaskChange, by: Actor, once: IdempotentRequest | None = None
    ) -> Task | Replayed:
        """A pending task. Raises :class:`NotFound` if ``by`` may not read the intent, :class:`IntentNotActive` if it
        has ended."""
        now = self.clock.now()

        def insert(tx: Tx) -> Task:
            intent = access.lock(tx, intent_id, by, _right(wanted))
            if intent.status in {IntentStatus.COMPLETED, IntentStatus.ABANDONED}:
                raise IntentNotActive(f"The intent has ended; it is {intent.status}.")
            made = Task(str(uuid.uuid4()), intent.id, name, TaskStatus.PENDING, 0, by.key or by.identity, now, now)
            made = changed(made, replace(wanted, status=None), now)
            tasks.insert(tx, made)
            intents.link(tx, [intent.id], IntentLink.TASKS)
            self.log.write(tx, intent, now, _event(made, None, by))
            return made

        return await self.database.write(lambda tx: perform_once(tx, once, now, lambda: insert(tx)))

    async def get(self, task_id: str, by: Actor) -> Task:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""
        return await self.database.read(lambda conn: _readable(conn, task_id, by))

    async def of_intent(
        self, intent_id: str, by: Actor, *, status: TaskStatus | None, limit: int, offset: int
    ) -> Sequence[Task]:
        """The oldest first."""

        def job(conn: sa.Connection) -> Sequence[Task]:
            intent = access.read(conn, intent_id, by)
            wanted = None if status is None else status.value
            return tasks.of_intent(conn, intent.id, status=wanted, limit=limit, offset=offset)

        return await self.database.read(job)

    async def change(self, task_id: str, wanted: TaskChange, by: Actor, version: int) -> Task:
        """A task that is to run while its intent waits is blocked with it.

        Raises :class:`VersionConflict` or :class:`InvalidTransition`; for a phase's task :class:`MissingOutput` or
        :class:`OutputTypeMismatch` unless it has given the declared outputs; the errors of a claim if an agent begins
        with it too early; :class:`InvalidRequest` if it would wait for itself.
        """

        def job(tx: Tx) -> Task:
            now = self.clock.now()
            if named_in(wanted.details):
                _readable(tx.conn, task_id, by)  # before the lock: a caller without the right makes nobody wait
                intent_edges.hold_graph(tx)
            intent, before = lock(tx, task_id, by, _right(wanted))
            check_task_version(before, version)
            after = changed(before, wanted, now, waits=intent.status is IntentStatus.SUSPENDED)
            if after.depends_on != before.depends_on:
                _check_acyclic(tx.conn, after, by)
            if is_taken_up(before, wanted):
                after = with_inputs(after, claim_inputs(tx, intent, before, now))
            if after.status is TaskStatus.COMPLETED and intent.links & IntentLink.PHASE:
                check_given(tx.conn, intent.id, after.output)
            keep(tx, self.log, intent, before, after, by, now)
            return after

        return await self.database.write(job)


MOST_AHEAD = 10_000
"""Tasks that are looked at for a cycle."""
MOST_IN_A_ROW = 1_000


def _check_acyclic(conn: sa.Connection, task: Task, by: Actor) -> None:
    """Raises :class:`InvalidRequest` if ``task`` would wait for itself, directly or not. A task that ``by`` may not
    read counts as missing. A new task can't: no task can name its id yet."""
    ahead = {name: number for number, name in enumerate(task.depends_on)}
    seen = dict(ahead)
    for _ in range(MOST_IN_A_ROW):
        if task.id in ahead:
            raise InvalidRequest("A task can't depend on itself.", path=f"depends_on.{ahead[task.id]}")
        if not ahead:
            return
        found = tasks.dependencies(conn, list(ahead), None if by.reads_all else by.key)
        further = ((name, ahead[task_id]) for task_id, names in found.items() for name in names)
        ahead = {name: number for name, number in further if name not in seen}
        seen |= ahead
        if len(seen) > MOST_AHEAD:
            break
    raise InvalidRequest("Too many tasks would come before this one.", path="depends_on")


def keep(tx: Tx, log: IntentLog, intent: Intent, before: Task, after: Task, by: Actor, now: datetime) -> None:
    """Keep a task that ``by`` has moved or written to; its intent is locked. The log has every move."""
    tasks.update(tx, after)
    if (after.status, after.suspended_intent_id) != (before.status, before.suspended_intent_id):
        log.write(tx, intent, now, _event(after, before.status, by))


def _event(task: Task, before: TaskStatus | None, by: Actor) -> Event:
    said: JsonObject = {"task_id": task.id, "name": task.name, "status": task.status.value}
    if before is not None:
        said["from"] = before.value
    if task.blocked_reason is not None:
        said["reason"] = task.blocked_reason
    if task.suspended_intent_id is not None:
        said["suspended_intent_id"] = task.suspended_intent_id
    return Event(event_of(task.status, before), said, by.identity)


def lock(tx: Tx, task_id: str, by: Actor, right: Right = Right.WORK) -> tuple[Intent, Task]:
    """The task and its intent, which is locked. Raises as :func:`core.openintent.intents.access.lock`."""
    intent = access.lock(tx, _readable(tx.conn, task_id, by).intent_id, by, right)
    return intent, _readable(tx.conn, task_id, by)  # once more: held still from here on


def _right(wanted: TaskChange) -> Right:
    """A fallback agent becomes a member of the intent: only the intent's owner may decide who."""
    names_agent = wanted.retry_policy is not None and wanted.retry_policy.get("fallback_agent_id") is not None
    return Right.GOVERN if names_agent else Right.WORK


def _readable(conn: sa.Connection, task_id: str, by: Actor) -> Task:
    """The task, if ``by`` may read its intent."""
    task = tasks.get(conn, task_id)
    if task is None:
        raise NotFound("There is no such task.")
    try:
        access.read(conn, task.intent_id, by)
    except NotFound:
        raise NotFound("There is no such task.") from None
    return task
