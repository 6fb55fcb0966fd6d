"""Tasks of a moving intent: they wait and go on with it, and get ready in a workflow's phases.

Running and claimed tasks wait while their intent waits, and run when it goes on. One UPDATE moves them all, and one
line of the log names them, whatever the size of their plan.

Source: RFC-0024; RFC-0026 §2, §9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Tx
from core.database.prepared import Prepared
from core.domain.intent import Intent, IntentStatus
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject
from core.openintent.domain.task import INTENT_SUSPENDED, TaskStatus, event_of
from core.openintent.domain.workflow import check_outputs
from core.openintent.store import workflows
from core.openintent.store.tables import tasks


def mirrored(tx: Tx, before: IntentStatus, intent: Intent, now: datetime) -> list[Event]:
    """Move the tasks of an intent that was suspended, goes on, or was given up; the intent must be locked."""
    if intent.status is IntentStatus.SUSPENDED:
        begun = (TaskStatus.RUNNING, TaskStatus.CLAIMED)  # an agent may ask before it says that it has begun
        return [event for status in begun for event in _move(tx, intent, status, TaskStatus.BLOCKED, now)]
    if before is not IntentStatus.SUSPENDED:
        return []
    if intent.status is IntentStatus.ABANDONED:
        return _move(tx, intent, TaskStatus.BLOCKED, TaskStatus.FAILED, now)
    return _move(tx, intent, TaskStatus.BLOCKED, TaskStatus.RUNNING, now)


def _move(tx: Tx, intent: Intent, before: TaskStatus, after: TaskStatus, now: datetime) -> list[Event]:
    """Of the blocked tasks, only those that their intent keeps blocked."""
    those = {"of": intent.id, "before": before.value, "holder": intent.id if before is TaskStatus.BLOCKED else ""}
    ids = [one for (one,) in _THOSE.all(tx.conn, those)]
    if not ids:
        return []
    values = {**those, "status": after.value, "updated_at": now, "blocked_reason": None, "suspended_intent_id": None}
    said: JsonObject = {"task_ids": [*ids], "from": before.value, "status": after.value}
    if len(ids) == 1:
        said["task_id"] = ids[0]
    if after is TaskStatus.BLOCKED:
        values |= {"blocked_reason": INTENT_SUSPENDED, "suspended_intent_id": intent.id}
        said |= {"reason": INTENT_SUSPENDED, "suspended_intent_id": intent.id}
    if after is TaskStatus.RUNNING:
        _RUN.run(tx.conn, {**values, "started_at": now})
    elif after is TaskStatus.FAILED:
        _FAIL.run(tx.conn, {**values, "error": intent.abandonment_reason, "completed_at": now})
    else:
        _MOVE.run(tx.conn, values)
    return [Event(event_of(after, before), said)]


_HELD = (
    (tasks.c.intent_id == sa.bindparam("of"))
    & (tasks.c.status == sa.bindparam("before"))
    & (sa.func.coalesce(tasks.c.suspended_intent_id, "") == sa.bindparam("holder"))
)
_THOSE = Prepared(sa.select(tasks.c.id).where(_HELD).order_by(tasks.c.id))
"""Read before they are moved: on SQLite an UPDATE that returns them takes twice as long."""


def _moving(*names: str) -> Prepared:
    values: dict[str, sa.ColumnElement[Any]] = {name: sa.bindparam(name) for name in names}
    return Prepared(tasks.update().where(_HELD).values(version=tasks.c.version + 1, **values))


_MOVED = ("status", "updated_at", "blocked_reason", "suspended_intent_id")
_MOVE, _FAIL = _moving(*_MOVED), _moving(*_MOVED, "error", "completed_at")
_RUN = Prepared(
    tasks.update()
    .where(_HELD)
    .values(
        version=tasks.c.version + 1,
        started_at=sa.func.coalesce(tasks.c.started_at, sa.bindparam("started_at", type_=tasks.c.started_at.type)),
        **{name: sa.bindparam(name) for name in _MOVED},
    )
)
"""One that had only been claimed starts when its intent goes on."""


def tasks_ready(tx: Tx, intent_ids: Sequence[str], now: datetime) -> Mapping[str, Event]:
    """Pending tasks of phases without open upstreams become ready: by intent, the event. The intents must be locked."""
    if not intent_ids:
        return {}
    before, after = TaskStatus.PENDING.value, TaskStatus.READY.value
    return {
        intent_id: Event(
            event_of(TaskStatus.READY), {"task_id": task_id, "name": name, "status": after, "from": before}
        )
        for intent_id, (task_id, name) in workflows.make_ready(tx, intent_ids, now).items()
    }


def check_given(conn: sa.Connection, intent_id: str, output: Mapping[str, JsonValue] | None = None) -> None:
    """Check that a phase has given its declared outputs; ``output`` is about to be its task's (RFC-0024).

    Raises :class:`MissingOutput` or :class:`OutputTypeMismatch`.
    """
    phase = workflows.phase_of_intent(conn, intent_id)
    if phase is not None and phase.outputs:
        check_outputs(phase.outputs, {**workflows.outputs_given(conn, intent_id), **(output or {})})
