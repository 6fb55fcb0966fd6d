"""Claims: an agent takes a task, once everything that the task needs is there.

Nobody takes it twice. While an intent that it needs waits for a person, the claim is refused and the task stays as it
is; the agent tries again later.

Source: RFC-0012 (claims); RFC-0026 §6; API.md §7, "plans, tasks".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentStatus
from core.domain.people import Actor
from core.errors import DependenciesIncomplete, IntentNotActive
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.propagation import ENDED
from core.openintent.domain.task import Task, TaskStatus, claimed
from core.openintent.intents.phase_inputs import claim_inputs, phase_of, upstream_suspended, with_inputs
from core.openintent.intents.tasks import keep, lock
from core.openintent.intents.writing import IntentLog
from core.openintent.store import tasks
from core.ports import Clock


@dataclass(frozen=True, slots=True)
class TaskClaims:
    """Claims tasks."""

    database: Database
    log: IntentLog
    clock: Clock

    async def claim(self, task_id: str, by: Actor, once: IdempotentRequest | None = None) -> Task | Replayed:
        """Claim the task for ``by``.

        Raises :class:`TaskNotClaimable`, :class:`IntentNotActive` if the task's intent has ended,
        :class:`UpstreamIntentSuspended`, :class:`DependenciesIncomplete` and, for a phase's task,
        :class:`UnresolvableInput`.
        """
        now = self.clock.now()

        def job(tx: Tx) -> Task:
            intent, before = lock(tx, task_id, by)
            if intent.status in ENDED:
                raise IntentNotActive(f"The intent has ended; it is {intent.status}.")
            after = claimed(before, by.key or by.identity, now)
            check_own_intent(tx.conn, before, intent, now)
            check_inputs(tx, before, by, now)
            after = with_inputs(after, claim_inputs(tx, intent, before, now))
            keep(tx, self.log, intent, before, after, by, now)
            return after

        return await self.database.write(lambda tx: perform_once(tx, once, now, lambda: job(tx)))


def check_own_intent(conn: sa.Connection, task: Task, intent: Intent, now: datetime) -> None:
    """Raises :class:`UpstreamIntentSuspended` while the task's own intent waits."""
    if intent.status is IntentStatus.SUSPENDED:
        phase = phase_of(conn, intent, task)
        raise upstream_suspended(conn, task.id, intent.id, now, None if phase is None else phase.name)


def check_inputs(tx: Tx, task: Task, by: Actor, now: datetime) -> None:
    """Check that everything that ``task`` needs is there; its intent is locked.

    Raises :class:`UpstreamIntentSuspended` if an upstream waits for a person, and :class:`DependenciesIncomplete` if
    one is just not done. A task that ``by`` may not read counts as missing, and is never completed.
    """
    wanted = task.depends_on
    if not wanted:
        return
    readable = tasks.places(tx.conn, wanted, None if by.reads_all else by.key)
    done = {one.id for one in readable if one.status is TaskStatus.COMPLETED}
    for one in readable:
        if one.id not in done and one.intent_status is IntentStatus.SUSPENDED:
            raise upstream_suspended(tx.conn, task.id, one.intent_id, now)
    left = [name for name in wanted if name not in done]
    if left:
        raise DependenciesIncomplete(
            "The task can be claimed once those it depends on are completed.", task_ids=[*left]
        )
