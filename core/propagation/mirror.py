"""The mirror: an intent's running tasks wait while it does, and run on when it goes on (RFC-0026 §2 rule 3).

One UPDATE moves them all, and one line of the log names them, whatever the size of their plan.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.domain.intent import Intent, IntentStatus
from core.domain.task import INTENT_SUSPENDED, TaskStatus, event_of
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject
from core.store.database import Tx
from core.store.tables import tasks


def mirrored(tx: Tx, before: IntentStatus, intent: Intent, now: datetime) -> list[Event]:
    """Move the tasks of an intent that was suspended, goes on, or was given up; the intent must be locked."""
    waiting = (tasks.c.status == TaskStatus.BLOCKED.value) & (tasks.c.suspended_intent_id == intent.id)
    free = {"blocked_reason": None, "suspended_intent_id": None}
    if intent.status is IntentStatus.SUSPENDED:
        held = {"blocked_reason": INTENT_SUSPENDED, "suspended_intent_id": intent.id}
        running = tasks.c.status == TaskStatus.RUNNING.value
        return _move(tx, intent, running, TaskStatus.RUNNING, TaskStatus.BLOCKED, held, now)
    if before is not IntentStatus.SUSPENDED:
        return []
    if intent.status is IntentStatus.ABANDONED:
        failed = {**free, "error": intent.abandonment_reason, "completed_at": now}
        return _move(tx, intent, waiting, TaskStatus.BLOCKED, TaskStatus.FAILED, failed, now)
    return _move(tx, intent, waiting, TaskStatus.BLOCKED, TaskStatus.RUNNING, free, now)


def _move(
    tx: Tx,
    intent: Intent,
    those: sa.ColumnElement[bool],
    before: TaskStatus,
    after: TaskStatus,
    values: dict[str, Any],
    now: datetime,
) -> list[Event]:
    moved = (
        tasks.update()
        .where(tasks.c.intent_id == intent.id, those)
        .values(status=after.value, version=tasks.c.version + 1, updated_at=now, **values)
        .returning(tasks.c.id)
    )
    ids = sorted(tx.conn.scalars(moved).all())
    if not ids:
        return []
    said: JsonObject = {"task_ids": [*ids], "from": before.value, "status": after.value}
    if len(ids) == 1:
        said["task_id"] = ids[0]
    if after is TaskStatus.BLOCKED:
        said |= {"reason": INTENT_SUSPENDED, "suspended_intent_id": intent.id}
    return [Event(event_of(after, before), said)]
