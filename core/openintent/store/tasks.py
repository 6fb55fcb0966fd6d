"""Tasks, to and from their rows (RFC-0012)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import IntentStatus
from core.openintent.domain.task import Task, TaskStatus, named_in
from core.openintent.store.tables import tasks
from core.store import intent_agents
from core.store.tables import intents


def insert(tx: Tx, task: Task) -> None:
    tx.conn.execute(tasks.insert().values(**_columns(task)))


def insert_all(tx: Tx, made: Sequence[Task]) -> None:
    tx.conn.execute(tasks.insert(), [_columns(task) for task in made])


def update(tx: Tx, task: Task) -> None:
    """Replace the record. Lock its intent first, then read it."""
    values = _columns(task)
    tx.conn.execute(tasks.update().where(tasks.c.id == values.pop("id")).values(**values))


def get(conn: sa.Connection, task_id: str) -> Task | None:
    row = conn.execute(sa.select(tasks).where(tasks.c.id == task_id)).first()
    return None if row is None else _record(row)


def of_intent(conn: sa.Connection, intent_id: str, *, status: str | None, limit: int, offset: int) -> Sequence[Task]:
    """The oldest first."""
    statement = sa.select(tasks).where(tasks.c.intent_id == intent_id).order_by(tasks.c.created_at, tasks.c.id)
    if status is not None:
        statement = statement.where(tasks.c.status == status)
    return [_record(row) for row in conn.execute(statement.limit(limit).offset(offset))]


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """A task's intent, and its plan if it has one."""

    id: str
    status: TaskStatus
    intent_id: str
    intent_status: IntentStatus
    plan_id: str | None


def places(conn: sa.Connection, task_ids: Sequence[str], agent: str | None) -> Sequence[TaskPlace]:
    """Of the ``task_ids`` that exist; with ``agent`` only those of its intents."""
    statement = (
        sa.select(
            tasks.c.id, tasks.c.status, tasks.c.intent_id, tasks.c.plan_id, intents.c.status.label("intent_status")
        )
        .join(intents, intents.c.id == tasks.c.intent_id)
        .where(tasks.c.id.in_(task_ids))
        .order_by(tasks.c.id)
    )
    if agent is not None:
        statement = statement.where(intent_agents.readable_by(agent))
    return [
        TaskPlace(row.id, TaskStatus(row.status), row.intent_id, IntentStatus(row.intent_status), row.plan_id)
        for row in conn.execute(statement)
    ]


def dependencies(conn: sa.Connection, task_ids: Sequence[str], agent: str | None) -> Mapping[str, Sequence[str]]:
    """The dependencies of each of the ``task_ids`` that exist; with ``agent`` only those of its intents."""
    statement = sa.select(tasks.c.id, tasks.c.details).where(tasks.c.id.in_(task_ids))
    if agent is not None:
        statement = statement.join(intents, intents.c.id == tasks.c.intent_id).where(intent_agents.readable_by(agent))
    return {row.id: named_in(row.details) for row in conn.execute(statement)}


def _columns(task: Task) -> dict[str, Any]:
    values = {name: dict(value) if isinstance(value, Mapping) else value for name, value in asdict(task).items()}
    return {**values, "status": task.status.value}


def _record(row: Any) -> Task:
    return Task(**{**row._asdict(), "status": TaskStatus(row.status)})
