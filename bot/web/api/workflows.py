"""Workflows: create, list, show. Each phase is an intent and a task of it, which are moved by themselves.

Source: RFC-0024; RFC-0026 §2 rule 4; API.md §7. The published client has no call for them: it makes intents instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import ConfigDict, Field

from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.paging import Cursor, IdempotencyKey, Limit, cursor_after, once, place
from bot.web.api.replies import BODY, refusals, reply, write
from bot.web.api.requests import IntentId, JsonObject, Name, Strict, such_as
from bot.web.api.suspensions import Id, replayed
from bot.web.errors import VISIBLE
from core.containers.workflows import NewWorkflow, ShownWorkflow
from core.domain.intent import IntentStatus
from core.domain.task import TaskStatus
from core.domain.wire import Instant, Open, instant
from core.domain.workflow import NewPhase, PhaseOutput, StartValues
from core.idempotency import Replayed
from core.store.workflows import PhaseStanding

routes = APIRouter(route_class=KeyedRoute, tags=["workflows"])

PHASE_NAME = r"^[^\s.$][^.\x00]*$"
REFERENCE = r"^([^\s.$][^.\x00]*|\$trigger|\$initial_state)\.[^\x00]+$"

PhaseName = Annotated[str, Field(min_length=1, max_length=255, pattern=PHASE_NAME)]
Key = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Reference = Annotated[str, Field(min_length=3, max_length=600, pattern=REFERENCE)]
OutputType = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]


class OutputBody(Strict):
    type: OutputType = "any"
    required: Annotated[bool, Field(strict=True)] = True


class PhaseBody(Strict):
    """``inputs`` are ``phase.key``, ``$trigger.key`` or ``$initial_state.key`` by a name of the phase's own; an output
    is a type, such as ``string``, or an object with ``type`` and ``required``."""

    name: PhaseName
    title: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)] | None = None
    description: Annotated[str, Field(max_length=40_000)] | None = None
    depends_on: Annotated[list[PhaseName], Field(max_length=100)] | None = None
    inputs: Annotated[dict[Key, Reference], Field(max_length=100)] | None = None
    outputs: Annotated[dict[Key, OutputType | OutputBody], Field(max_length=100)] | None = None
    assigned_agent: Name | None = None
    constraints: JsonObject | None = None
    state: JsonObject | None = None

    def phase(self) -> NewPhase:
        return NewPhase(
            name=self.name,
            title=self.title or self.name,
            description=self.description or "",
            depends_on=tuple(dict.fromkeys(self.depends_on or ())),
            inputs=self.inputs or {},
            outputs={key: _output(declared) for key, declared in (self.outputs or {}).items()},
            assigned_agent=self.assigned_agent,
            constraints=self.constraints or {},
            state=self.state or {},
        )


def _output(declared: str | OutputBody) -> PhaseOutput:
    return PhaseOutput(declared) if isinstance(declared, str) else PhaseOutput(declared.type, declared.required)


_EXAMPLE: JsonObject = {
    "name": "Compliance",
    "phases": [
        {"name": "fetch", "outputs": {"rows": "array"}},
        {"name": "review", "depends_on": ["fetch"], "inputs": {"rows": "fetch.rows"}, "outputs": {"verdict": "string"}},
    ],
}


class WorkflowBody(Strict):
    """RFC-0024. ``trigger`` and ``initial_state`` are what the ``$`` references of inputs point to."""

    model_config = ConfigDict(json_schema_extra=such_as(_EXAMPLE))

    name: Name
    description: Annotated[str, Field(max_length=40_000)] | None = None
    phases: Annotated[list[PhaseBody], Field(min_length=1, max_length=1000)]
    parent_intent_id: IntentId | None = None
    initial_state: JsonObject | None = None
    trigger: JsonObject | None = None
    metadata: JsonObject | None = None

    def wanted(self) -> NewWorkflow:
        return NewWorkflow(
            name=self.name,
            phases=[phase.phase() for phase in self.phases],
            description=self.description,
            parent_intent_id=self.parent_intent_id,
            start=StartValues(self.trigger or {}, self.initial_state or {}),
            metadata=self.metadata or {},
        )


class OutputReply(Open):
    type: str
    required: bool


class PhaseReply(Open):
    name: str
    title: str
    intent_id: str
    task_id: str
    status: IntentStatus
    task_status: TaskStatus
    depends_on: list[str]
    inputs: dict[str, str]
    outputs: dict[str, OutputReply]
    assigned_agent: str | None


class SuspendedPhase(Open):
    """``expires_at`` is null if the wait has no end, or the question has not been put."""

    phase_name: str
    intent_id: str
    suspended_since: Instant
    expires_at: Instant | None


class WorkflowProgress(Open):
    """Worked out when it is read. ``by_status`` counts the phases' intents."""

    total: int
    by_status: dict[IntentStatus, int]
    completion_percentage: float
    suspended_phases: list[SuspendedPhase]


class WorkflowReply(Open):
    id: str
    name: str
    description: str | None
    created_by: str
    parent_intent_id: str | None
    phases: list[PhaseReply]
    progress: WorkflowProgress
    initial_state: JsonObject
    trigger: JsonObject
    metadata: JsonObject
    version: int
    created_at: Instant
    updated_at: Instant


class WorkflowPage(Open):
    items: list[WorkflowReply]
    next_cursor: str | None


def workflow_json(shown: ShownWorkflow) -> WorkflowReply:
    workflow = shown.workflow
    return {
        "id": workflow.id,
        "name": workflow.name,
        "description": workflow.description,
        "created_by": workflow.created_by,
        "parent_intent_id": workflow.parent_intent_id,
        "phases": [_phase_json(standing) for standing in shown.phases],
        "progress": progress_json(shown.phases),
        "initial_state": dict(workflow.start.initial_state),
        "trigger": dict(workflow.start.trigger),
        "metadata": dict(workflow.metadata),
        "version": workflow.version,
        "created_at": instant(workflow.created_at),
        "updated_at": instant(workflow.updated_at),
    }


def _phase_json(standing: PhaseStanding) -> PhaseReply:
    phase = standing.phase
    return {
        "name": phase.name,
        "title": standing.title,
        "intent_id": phase.intent_id,
        "task_id": phase.task_id,
        "status": standing.status,
        "task_status": standing.task_status,
        "depends_on": list(phase.depends_on),
        "inputs": dict(phase.inputs),
        "outputs": {key: {"type": one.type, "required": one.required} for key, one in phase.outputs.items()},
        "assigned_agent": standing.assigned_agent,
    }


def progress_json(phases: Sequence[PhaseStanding]) -> WorkflowProgress:
    counts = dict.fromkeys(IntentStatus, 0)
    for standing in phases:
        counts[standing.status] += 1
    return {
        "total": len(phases),
        "by_status": counts,
        "completion_percentage": round(100 * counts[IntentStatus.COMPLETED] / len(phases), 2),
        "suspended_phases": [
            {
                "phase_name": standing.phase.name,
                "intent_id": standing.phase.intent_id,
                "suspended_since": instant(standing.suspended_since or standing.moved_at),
                "expires_at": instant(standing.expires_at),
            }
            for standing in phases
            if standing.status is IntentStatus.SUSPENDED
        ],
    }


@routes.post(
    "/workflows",
    summary="Create a workflow: an intent and a task for each phase",
    responses={200: {"model": WorkflowReply}, **refusals(*BODY, 403, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: WorkflowBody, key: IdempotencyKey = None
) -> Response:
    made = await services.workflows.create(body.wanted(), actor, await once(request, actor, key, _created))
    return replayed(made) if isinstance(made, Replayed) else reply(workflow_json(made))


@routes.get(
    "/workflows", summary="List workflows, newest first", responses={200: {"model": WorkflowPage}, **refusals(422)}
)
async def page(services: Served, actor: Caller, limit: Limit = 50, cursor: Cursor = None) -> Response:
    found = await services.workflows.page(actor, before=place(cursor), limit=limit + 1)
    last = found[limit - 1].workflow if len(found) > limit else None
    after = None if last is None else cursor_after(last.created_at, last.id)
    return reply(WorkflowPage(items=[workflow_json(one) for one in found[:limit]], next_cursor=after))


@routes.get(
    "/workflows/{workflow_id}",
    summary="Show a workflow, and how far it has come",
    responses={200: {"model": WorkflowReply}, **refusals(404, 422)},
)
async def show(services: Served, workflow_id: Id, actor: Caller) -> Response:
    return reply(workflow_json(await services.workflows.get(workflow_id, actor)))


def _created(shown: ShownWorkflow) -> tuple[int, str]:
    return 200, write(workflow_json(shown))
