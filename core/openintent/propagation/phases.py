"""Phases of workflows: when their tasks become ready, and the outputs that they owe before they are completed.

Source: RFC-0024; RFC-0026 §9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Tx
from core.domain.vocabulary import Event
from core.openintent.domain.task import TaskStatus, event_of
from core.openintent.domain.workflow import check_outputs
from core.openintent.store import workflows


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
