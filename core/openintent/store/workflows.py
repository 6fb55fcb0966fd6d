"""Workflows and their phases, to and from their rows (RFC-0024). Progress is computed when it is read: a phase's
move writes nothing to its workflow (RFC-0026 §2 rule 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Tx
from core.domain.intent import IntentStatus
from core.domain.suspension import Status
from core.openintent.domain.task import TaskStatus
from core.openintent.domain.workflow import PhaseOutput, StartValues
from core.openintent.store.tables import tasks, workflow_phases, workflows
from core.store import intent_agents
from core.store.tables import PageCursor, intents, newest_first, suspensions

_ASKED = (suspensions.c.id == intents.c.suspension_id) & (suspensions.c.status == Status.AWAITING.value)


@dataclass(frozen=True, slots=True)
class Workflow:
    """``details`` are its start values and its metadata."""

    id: str
    name: str
    description: str | None
    created_by: str
    parent_intent_id: str | None
    portfolio_id: str | None
    details: Mapping[str, JsonValue]
    version: int
    created_at: datetime
    updated_at: datetime

    @property
    def start(self) -> StartValues:
        return StartValues(self._object("trigger"), self._object("initial_state"))

    @property
    def metadata(self) -> Mapping[str, JsonValue]:
        return self._object("metadata")

    def _object(self, name: str) -> Mapping[str, JsonValue]:
        value = self.details.get(name)
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """A phase of a workflow, with its intent and task."""

    workflow_id: str
    name: str
    position: int
    intent_id: str
    task_id: str
    depends_on: tuple[str, ...]
    inputs: Mapping[str, str]
    outputs: Mapping[str, PhaseOutput]


@dataclass(frozen=True, slots=True)
class PhaseStanding:
    """A phase's current state. ``suspended_since`` and ``expires_at`` are those of the open question, if there is
    one."""

    phase: PhaseRecord
    title: str
    status: IntentStatus
    task_status: TaskStatus
    assigned_agent: str | None
    moved_at: datetime
    suspended_since: datetime | None
    expires_at: datetime | None


def insert(tx: Tx, workflow: Workflow, phases: Sequence[PhaseRecord]) -> None:
    tx.conn.execute(workflows.insert(), asdict(workflow))
    tx.conn.execute(workflow_phases.insert(), [_columns(phase) for phase in phases])


def get(conn: sa.Connection, workflow_id: str) -> Workflow | None:
    row = conn.execute(sa.select(workflows).where(workflows.c.id == workflow_id)).first()
    return None if row is None else Workflow(**row._asdict())


def page(conn: sa.Connection, *, agent: str | None, before: PageCursor | None, limit: int) -> Sequence[Workflow]:
    """Newest first; with ``agent`` those that it has made, or whose parent it owns or is a member of."""
    own = workflows.c
    statement = sa.select(workflows)
    if agent is not None:
        statement = statement.where(
            sa.or_(own.created_by == agent, own.parent_intent_id.in_(intent_agents.intents_of(agent)))
        )
    rows = conn.execute(newest_first(statement, own.created_at, own.id, before, limit))
    return [Workflow(**row._asdict()) for row in rows]


def standing(conn: sa.Connection, workflow_ids: Sequence[str]) -> Mapping[str, Sequence[PhaseStanding]]:
    """The current phases of each of these workflows, in their order."""
    statement = sa.select(
        workflow_phases,
        intents.c.title,
        intents.c.status,
        intents.c.updated_at.label("moved_at"),
        tasks.c.status.label("task_status"),
        tasks.c.assigned_agent,
        suspensions.c.suspended_at.label("suspended_since"),
        suspensions.c.expires_at,
    )
    statement = (
        statement.join(intents, intents.c.id == workflow_phases.c.intent_id)
        .join(tasks, tasks.c.id == workflow_phases.c.task_id)
        .outerjoin(suspensions, _ASKED)
        .where(workflow_phases.c.workflow_id.in_(workflow_ids))
        .order_by(workflow_phases.c.workflow_id, workflow_phases.c.position)
    )
    found: dict[str, list[PhaseStanding]] = defaultdict(list)
    for row in conn.execute(statement):
        found[row.workflow_id].append(
            PhaseStanding(
                _phase(row),
                row.title,
                IntentStatus(row.status),
                TaskStatus(row.task_status),
                row.assigned_agent,
                row.moved_at,
                row.suspended_since,
                row.expires_at,
            )
        )
    return found


# --- One phase ------------------------------------------------------------------------------------------------------


def phase_of_intent(conn: sa.Connection, intent_id: str) -> PhaseRecord | None:
    row = conn.execute(sa.select(workflow_phases).where(workflow_phases.c.intent_id == intent_id)).first()
    return None if row is None else _phase(row)


@dataclass(frozen=True, slots=True)
class PhaseUpstream:
    """A phase whose outputs another takes: ``outputs`` are its task's, over its intent's state. ``expires_at`` is
    when its open question ends, if it has one."""

    name: str
    intent_id: str
    status: IntentStatus
    outputs: Mapping[str, JsonValue]
    expires_at: datetime | None


def phases_named(conn: sa.Connection, workflow_id: str, names: Sequence[str]) -> Sequence[PhaseUpstream]:
    """Those phases of a workflow, in its order."""
    statement = _upstreams(workflow_phases.c.name, tasks.c.output).select_from(
        workflow_phases.join(intents, intents.c.id == workflow_phases.c.intent_id)
        .join(tasks, tasks.c.id == workflow_phases.c.task_id)
        .outerjoin(suspensions, _ASKED)
    )
    statement = statement.where(workflow_phases.c.workflow_id == workflow_id, workflow_phases.c.name.in_(names))
    return [_upstream(row) for row in conn.execute(statement.order_by(workflow_phases.c.position))]


def titled(conn: sa.Connection, intent_ids: Sequence[str]) -> Sequence[PhaseUpstream]:
    """Intents by their titles, as the published client tells phases apart."""
    statement = _upstreams(intents.c.title.label("name"), sa.null().label("output")).select_from(
        intents.outerjoin(suspensions, _ASKED)
    )
    statement = statement.where(intents.c.id.in_(intent_ids)).order_by(intents.c.id)
    return [_upstream(row) for row in conn.execute(statement)]


def _upstreams(name: sa.ColumnElement[str], output: sa.ColumnElement[Any]) -> sa.Select[Any]:
    return sa.select(
        name, intents.c.id.label("intent_id"), intents.c.status, intents.c.state, output, suspensions.c.expires_at
    )


def _upstream(row: Any) -> PhaseUpstream:
    outputs = {**row.state, **(row.output or {})}
    return PhaseUpstream(row.name, row.intent_id, IntentStatus(row.status), outputs, row.expires_at)


def outputs_given(conn: sa.Connection, intent_id: str) -> Mapping[str, JsonValue]:
    """A phase's outputs so far: its task's, over its intent's state."""
    row = conn.execute(
        sa.select(intents.c.state, tasks.c.output)
        .select_from(workflow_phases)
        .join(intents, intents.c.id == workflow_phases.c.intent_id)
        .join(tasks, tasks.c.id == workflow_phases.c.task_id)
        .where(workflow_phases.c.intent_id == intent_id)
    ).one()
    return {**row.state, **(row.output or {})}


def make_ready(tx: Tx, intent_ids: Sequence[str], now: datetime) -> Mapping[str, tuple[str, str]]:
    """The pending tasks of these phases become ready: by intent, each task's id and name. The intents must be
    locked."""
    mine = sa.select(workflow_phases.c.task_id).where(workflow_phases.c.intent_id.in_(intent_ids))
    statement = (
        tasks.update()
        .where(tasks.c.id.in_(mine), tasks.c.status == TaskStatus.PENDING.value)
        .values(status=TaskStatus.READY.value, version=tasks.c.version + 1, updated_at=now)
        .returning(tasks.c.intent_id, tasks.c.id, tasks.c.name)
    )
    return {row.intent_id: (row.id, row.name) for row in tx.conn.execute(statement)}


def _columns(phase: PhaseRecord) -> dict[str, Any]:
    return {**asdict(phase), "depends_on": list(phase.depends_on)}


def _phase(row: Any) -> PhaseRecord:
    own = {column.name: getattr(row, column.name) for column in workflow_phases.c}
    outputs = {key: PhaseOutput(**one) for key, one in row.outputs.items()}
    return PhaseRecord(**{**own, "depends_on": tuple(row.depends_on), "outputs": outputs})
