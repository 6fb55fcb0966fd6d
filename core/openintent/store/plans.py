"""Plans with their progress, and reached checkpoints, to and from their rows (RFC-0012; RFC-0026 §2 rule 4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.suspension import Status
from core.openintent.domain.checkpoint import Checkpoint
from core.openintent.domain.plan import PlanProgress, PlanState, SuspendedTask, TaskPlan
from core.openintent.domain.task import TaskStatus
from core.openintent.store.tables import checkpoints, plans, tasks
from core.store.tables import intents, suspensions


def insert(tx: Tx, plan: TaskPlan) -> None:
    tx.conn.execute(plans.insert().values(**_columns(plan)))


def update(tx: Tx, plan: TaskPlan) -> None:
    """Replace the record. Lock its intent first, then read it."""
    values = _columns(plan)
    tx.conn.execute(plans.update().where(plans.c.id == values.pop("id")).values(**values))


def get(conn: sa.Connection, plan_id: str) -> TaskPlan | None:
    row = conn.execute(sa.select(plans).where(plans.c.id == plan_id)).first()
    return None if row is None else _record(row)


def of_intent(conn: sa.Connection, intent_id: str, *, limit: int, offset: int) -> Sequence[TaskPlan]:
    """The oldest first."""
    statement = sa.select(plans).where(plans.c.intent_id == intent_id).order_by(plans.c.created_at, plans.c.id)
    return [_record(row) for row in conn.execute(statement.limit(limit).offset(offset))]


def take_tasks(tx: Tx, plan_id: str, task_ids: Sequence[str]) -> None:
    """Put the tasks into the plan; their intents must be locked. The tasks' versions stay."""
    if task_ids:
        tx.conn.execute(tasks.update().where(tasks.c.id.in_(task_ids)).values(plan_id=plan_id))


def progress(conn: sa.Connection, plan_ids: Sequence[str]) -> Mapping[str, PlanProgress]:
    """The progress of each plan. One row for each status, and one for each task that waits for a person."""
    if not plan_ids:
        return {}
    waits = (tasks.c.status == TaskStatus.BLOCKED.value) & tasks.c.suspended_intent_id.is_not(None)
    waiting = sa.case((waits, tasks.c.id)).label("task_id")
    intent_id = sa.case((waits, tasks.c.suspended_intent_id)).label("intent_id")
    since = sa.case((waits, tasks.c.updated_at)).label("since")
    each = (
        sa.select(tasks.c.plan_id, tasks.c.status, waiting, intent_id, since, sa.func.count().label("number"))
        .where(tasks.c.plan_id.in_(plan_ids))
        .group_by(tasks.c.plan_id, tasks.c.status, waiting, intent_id, since)
        .subquery()
    )
    rows = conn.execute(
        sa.select(each, suspensions.c.suspended_at, suspensions.c.expires_at)
        .select_from(each)
        .outerjoin(intents, intents.c.id == each.c.intent_id)
        .outerjoin(
            suspensions,
            (suspensions.c.id == intents.c.suspension_id) & (suspensions.c.status == Status.AWAITING.value),
        )
        .order_by(each.c.task_id)
    )
    counts: dict[str, dict[TaskStatus, int]] = defaultdict(lambda: defaultdict(int))
    held: dict[str, list[SuspendedTask]] = defaultdict(list)
    for row in rows:
        counts[row.plan_id][TaskStatus(row.status)] += row.number
        if row.task_id is not None:
            asked_at = row.suspended_at or row.since
            held[row.plan_id].append(SuspendedTask(row.task_id, row.intent_id, asked_at, row.expires_at))
    return {plan_id: PlanProgress(dict(by_status), held[plan_id]) for plan_id, by_status in counts.items()}


def _columns(plan: TaskPlan) -> dict[str, Any]:
    return {**asdict(plan), "state": plan.state.value, "tasks": list(plan.tasks), "details": dict(plan.details)}


def _record(row: Any) -> TaskPlan:
    return TaskPlan(**{**row._asdict(), "state": PlanState(row.state), "tasks": tuple(row.tasks)})


def insert_checkpoint(tx: Tx, checkpoint: Checkpoint) -> None:
    tx.conn.execute(checkpoints.insert().values({**asdict(checkpoint), "details": dict(checkpoint.details)}))


def get_checkpoint(conn: sa.Connection, checkpoint_id: str) -> Checkpoint | None:
    return _first_checkpoint(conn, checkpoints.c.id == checkpoint_id)


def checkpoint_of_suspension(conn: sa.Connection, suspension_id: str) -> Checkpoint | None:
    """The checkpoint with this question."""
    return _first_checkpoint(conn, checkpoints.c.suspension_id == suspension_id)


def checkpoints_of(conn: sa.Connection, plan_ids: Sequence[str]) -> Sequence[Checkpoint]:
    """Each plan's checkpoints, in the order in which they were reached."""
    if not plan_ids:
        return []
    statement = sa.select(checkpoints).where(checkpoints.c.plan_id.in_(plan_ids))
    return [_checkpoint(row) for row in conn.execute(statement.order_by(checkpoints.c.created_at, checkpoints.c.id))]


def _first_checkpoint(conn: sa.Connection, which: sa.ColumnElement[bool]) -> Checkpoint | None:
    row = conn.execute(sa.select(checkpoints).where(which)).first()
    return None if row is None else _checkpoint(row)


def _checkpoint(row: Any) -> Checkpoint:
    return Checkpoint(**row._asdict())
