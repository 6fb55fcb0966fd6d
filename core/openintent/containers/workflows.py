"""Workflows: create one in one transaction, with an intent and a task for each phase; and read its progress.

Source: RFC-0024; RFC-0026 §2 rules 1 and 4; API.md §7; decision 0062.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.intent import EdgeKind, Intent, IntentLink, IntentStatus, replace_state
from core.domain.people import Actor
from core.domain.vocabulary import Event
from core.errors import NotFound
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.propagation import Upstreams, settled
from core.openintent.domain.task import Task, TaskStatus, event_of
from core.openintent.domain.workflow import NewPhase, StartValues, check_wiring, state_of
from core.openintent.intents.intents import CREATED, lock_named
from core.openintent.intents.members import AGENT_ASSIGNED, WORKER, agent_named, membership_json
from core.openintent.intents.writing import IntentLog
from core.openintent.store import intent_edges, tasks, workflows
from core.openintent.store.workflows import PhaseRecord, PhaseStanding, Workflow
from core.ports import Clock
from core.store import event_log, intent_agents, intents
from core.store.intent_agents import IntentAgent
from core.store.tables import PageCursor


@dataclass(frozen=True, slots=True)
class NewWorkflow:
    """A requested workflow."""

    name: str
    phases: Sequence[NewPhase]
    description: str | None = None
    parent_intent_id: str | None = None
    start: StartValues = field(default_factory=StartValues)
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShownWorkflow:
    """A workflow, and its phases as they stand."""

    workflow: Workflow
    phases: Sequence[PhaseStanding]


@dataclass(frozen=True, slots=True)
class _Made:
    """The records of a phase, before they are stored."""

    phase: NewPhase
    intent: Intent
    task: Task
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class Workflows:
    """An agent finds the workflows that it has made, and those under its own intents."""

    database: Database
    log: IntentLog
    clock: Clock

    async def create(
        self, wanted: NewWorkflow, by: Actor, once: IdempotentRequest | None = None
    ) -> ShownWorkflow | Replayed:
        """Raises :class:`InvalidRequest`, which names the field, for wiring that does not fit and a parent that ``by``
        may not read, :class:`DependencyCycle`, and :class:`IntentNotActive` for a parent that has ended."""
        check_wiring(wanted.phases)
        wanted = replace(wanted, phases=[_assigned(phase, place, by) for place, phase in enumerate(wanted.phases)])
        now = self.clock.now()
        workflow = _workflow(wanted, by, now)
        made = _Making(workflow, wanted, by, now).all()
        records = [_record(workflow, place, one) for place, one in enumerate(made)]

        def insert(tx: Tx) -> ShownWorkflow:
            lock_named(tx, wanted.parent_intent_id, (), by)
            self._keep(tx, workflow, made, now)
            workflows.insert(tx, workflow, records)
            return _shown(tx.conn, workflow)

        return await self.database.write(lambda tx: perform_once(tx, once, now, lambda: insert(tx)))

    def _keep(self, tx: Tx, workflow: Workflow, made: Sequence[_Made], now: datetime) -> None:
        """Store the intents with their logs, members, edges and tasks: one statement for each table."""
        grown = event_log.append_all(tx, [(one.intent, one.events) for one in made], now, self.log.key)
        intents.insert_all(tx, grown)
        tasks.insert_all(tx, [one.task for one in made])
        intent_agents.insert_all(tx, [_member(one, now) for one in made if one.task.assigned_agent is not None])
        ids = {one.phase.name: one.intent.id for one in made}
        edges = [edge for one in made for edge in _edges(one, ids)]
        parent = workflow.parent_intent_id
        if parent is not None:
            edges += [(parent, one.intent.id, EdgeKind.CHILD) for one in made]
            intents.link(tx, [parent], IntentLink.CHILDREN)
        intent_edges.put_all(tx, edges)
        self.log.hub.announce_intents(tx, *(one.id for one in grown))

    async def get(self, workflow_id: str, by: Actor) -> ShownWorkflow:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""

        def job(conn: sa.Connection) -> ShownWorkflow:
            workflow = workflows.get(conn, workflow_id)
            if workflow is None or not _may_read(conn, workflow, by):
                raise NotFound("There is no such workflow.")
            return _shown(conn, workflow)

        return await self.database.read(job)

    async def page(self, by: Actor, *, before: PageCursor | None, limit: int) -> Sequence[ShownWorkflow]:
        """Newest first."""
        agent = None if by.reads_all else by.key

        def job(conn: sa.Connection) -> Sequence[ShownWorkflow]:
            found = workflows.page(conn, agent=agent, before=before, limit=limit)
            phases = workflows.standing(conn, [one.id for one in found])
            return [ShownWorkflow(one, phases[one.id]) for one in found]

        return await self.database.read(job)


def _may_read(conn: sa.Connection, workflow: Workflow, by: Actor) -> bool:
    if by.reads_all or workflow.created_by == (by.key or by.identity):
        return True
    parent = workflow.parent_intent_id
    return parent is not None and by.key is not None and intent_agents.belongs(conn, parent, by.key)


def _shown(conn: sa.Connection, workflow: Workflow) -> ShownWorkflow:
    return ShownWorkflow(workflow, workflows.standing(conn, [workflow.id])[workflow.id])


# --- Making one -----------------------------------------------------------------------------------------------------


def _assigned(phase: NewPhase, place: int, by: Actor) -> NewPhase:
    if phase.assigned_agent is None:
        return phase
    return replace(phase, assigned_agent=agent_named(phase.assigned_agent, by, f"phases.{place}.assigned_agent"))


def _workflow(wanted: NewWorkflow, by: Actor, now: datetime) -> Workflow:
    return Workflow(
        id=str(uuid.uuid4()),
        name=wanted.name,
        description=wanted.description,
        created_by=by.key or by.identity,
        parent_intent_id=wanted.parent_intent_id,
        portfolio_id=None,
        details={
            "trigger": dict(wanted.start.trigger),
            "initial_state": dict(wanted.start.initial_state),
            "metadata": dict(wanted.metadata),
        },
        version=1,
        created_at=now,
        updated_at=now,
    )


class _Making:
    """The first state of the phases' intents and tasks: without dependencies the intent is active, its task ready."""

    def __init__(self, workflow: Workflow, wanted: NewWorkflow, by: Actor, now: datetime) -> None:
        self._workflow = workflow
        self._wanted = wanted
        self._by = by
        self._now = now
        self._ids = {phase.name: str(uuid.uuid4()) for phase in wanted.phases}
        self._titles = {phase.name: phase.title for phase in wanted.phases}
        self._sources = {source for phase in wanted.phases for source in (*phase.depends_on, *phase.sources())}

    def all(self) -> list[_Made]:
        return [self._made(phase) for phase in self._wanted.phases]

    def _made(self, phase: NewPhase) -> _Made:
        intent = self._intent(phase)
        events = [Event(CREATED, {"title": intent.title, "status": intent.status.value}, self._by.identity)]
        waits_for = len(intent.depends_on)
        upstreams = Upstreams({(EdgeKind.DEPENDENCY, IntentStatus.ACTIVE): waits_for} if waits_for else {})
        after = settled(IntentStatus.DRAFT, intent, upstreams)
        events += [after.event] if after.event else []
        if phase.assigned_agent is not None:
            events.append(Event(AGENT_ASSIGNED, membership_json(phase.assigned_agent, WORKER), self._by.identity))
        task = self._task(phase, ready=not phase.depends_on and not phase.sources())
        events += self._told_of(task)
        return _Made(phase, after.intent, task, events)

    def _intent(self, phase: NewPhase) -> Intent:
        made = intents.new(
            self._ids[phase.name], phase.title, self._workflow.created_by, self._now, IntentStatus.ACTIVE
        )
        return replace(
            made,
            description=phase.description,
            state=replace_state(state_of(phase, self._titles, self._wanted.start)),
            constraints=phase.constraints,
            parent_id=self._workflow.parent_intent_id,
            depends_on=tuple(self._ids[name] for name in dict.fromkeys(phase.depends_on)),
            links=self._links(phase),
        )

    def _links(self, phase: NewPhase) -> IntentLink:
        links = IntentLink.PHASE | IntentLink.TASKS
        if phase.depends_on or phase.sources():
            links |= IntentLink.DEPENDENCIES
        if phase.name in self._sources:
            links |= IntentLink.DEPENDENTS
        return links if self._workflow.parent_intent_id is None else links | IntentLink.PARENT

    def _task(self, phase: NewPhase, *, ready: bool) -> Task:
        return Task(
            id=str(uuid.uuid4()),
            intent_id=self._ids[phase.name],
            name=phase.name,
            status=TaskStatus.READY if ready else TaskStatus.PENDING,
            version=1,
            created_by=self._workflow.created_by,
            created_at=self._now,
            updated_at=self._now,
            assigned_agent=phase.assigned_agent,
            details={"description": phase.description} if phase.description else None,
        )

    def _told_of(self, task: Task) -> list[Event]:
        steps = (TaskStatus.PENDING, TaskStatus.READY) if task.status is TaskStatus.READY else (TaskStatus.PENDING,)
        return [
            Event(event_of(step), {"task_id": task.id, "name": task.name, "status": step.value}, self._by.identity)
            for step in steps
        ]


def _edges(made: _Made, ids: Mapping[str, str]) -> list[tuple[str, str, str]]:
    own = made.intent.id
    edges = [(own, ids[name], EdgeKind.DEPENDENCY) for name in made.phase.depends_on]
    return edges + [(own, ids[name], EdgeKind.INPUT) for name in made.phase.sources()]


def _member(made: _Made, now: datetime) -> IntentAgent:
    return IntentAgent(str(uuid.uuid4()), made.intent.id, made.task.assigned_agent or "", WORKER, now)


def _record(workflow: Workflow, place: int, made: _Made) -> PhaseRecord:
    phase = made.phase
    return PhaseRecord(
        workflow_id=workflow.id,
        name=phase.name,
        position=place,
        intent_id=made.intent.id,
        task_id=made.task.id,
        depends_on=phase.depends_on,
        inputs=phase.inputs,
        outputs=phase.outputs,
    )
