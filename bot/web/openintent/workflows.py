"""Workflows: create, list, show. Each phase is an intent and a task of it, which are moved by themselves.

Source: RFC-0024; RFC-0026 §2 rule 4; API.md §7. The published client has no call for them: it makes intents instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import ConfigDict, Field

from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.paging import Cursor, IdempotencyKey, Limit, cursor_after, once, place, replied
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.requests import IntentId, JsonObject, Name, Strict, such_as
from bot.web.api.suspensions import Id
from bot.web.errors import VISIBLE
from core.domain.intent import IntentStatus
from core.domain.wire import Instant, Open, reply_of
from core.openintent.containers.workflows import NewWorkflow, ShownWorkflow
from core.openintent.domain.task import TaskStatus
from core.openintent.domain.workflow import NewPhase, PhaseOutput, StartValues
from core.openintent.store.workflows import PhaseStanding

routes = APIRouter(route_class=KeyedRoute, tags=["workflows"])

PHASE_NAME = r"^[^\s.$][^.\x00]*$"
REFERENCE = r"^([^\s.$][^.\x00]*|\$trigger|\$initial_state)\.[^\x00]+$"

PhaseName = Annotated[str, Field(min_length=1, max_length=255, pattern=PHASE_NAME)]
Key = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Reference = Annotated[str, Field(min_length=3, max_length=600, pattern=REFERENCE)]
OutputType = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]


class OutputBody(Strict):
    """What a phase has to hand over."""

    type: OutputType = "any"
    """What kind of value it is, by a word of yours; `any` if you leave it out."""
    required: Annotated[bool, Field(strict=True)] = True
    """Whether the phase is not done without it; `true` if you leave it out."""


class PhaseBody(Strict):
    """``inputs`` are ``phase.key``, ``$trigger.key`` or ``$initial_state.key`` by a name of the phase's own; an output
    is a type, such as ``string``, or an object with ``type`` and ``required``."""

    name: PhaseName
    """What other phases call it. No dot in it."""
    title: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)] | None = None
    """What is to be done, in a line; the name if you leave it out."""
    description: Annotated[str, Field(max_length=40_000)] | None = None
    """What is to be done, at length."""
    depends_on: Annotated[list[PhaseName], Field(max_length=100)] | None = None
    """Names of the phases that come first."""
    inputs: Annotated[dict[Key, Reference], Field(max_length=100)] | None = None
    """Where each input comes from: `phase.key`, `$trigger.key` or `$initial_state.key`."""
    outputs: Annotated[dict[Key, OutputType | OutputBody], Field(max_length=100)] | None = None
    """What it hands over: a type such as `string`, or an object with `type` and `required`."""
    assigned_agent: Name | None = None
    """The agent that works on it."""
    constraints: JsonObject | None = None
    """What it has to keep to. Stored and shown."""
    state: JsonObject | None = None
    """What its intent's state begins with."""

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
    """What the workflow is called."""
    description: Annotated[str, Field(max_length=40_000)] | None = None
    """What it is for."""
    phases: Annotated[list[PhaseBody], Field(min_length=1, max_length=1000)]
    """The phases, each of which becomes an intent and a task."""
    parent_intent_id: IntentId | None = None
    """The intent that all phases are parts of."""
    initial_state: JsonObject | None = None
    """What `$initial_state` inputs read."""
    trigger: JsonObject | None = None
    """What `$trigger` inputs read."""
    metadata: JsonObject | None = None
    """Anything of yours."""

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
    """What a phase has to hand over."""

    type: str
    """What kind of value it is."""
    required: bool
    """Whether the phase is not done without it."""


class PhaseReply(Open):
    """One phase: its intent and its task."""

    name: str
    """What other phases call it."""
    title: str
    """What is to be done, in a line."""
    intent_id: str
    """The phase's intent."""
    task_id: str
    """The phase's task."""
    status: IntentStatus
    """Where the intent stands."""
    task_status: TaskStatus
    """Where the task stands."""
    depends_on: list[str]
    """Names of the phases that come first."""
    inputs: dict[str, str]
    """Where each input comes from."""
    outputs: dict[str, OutputReply]
    """What it hands over."""
    assigned_agent: str | None
    """The agent that works on it; `null` for nobody."""


class SuspendedPhase(Open):
    """``expires_at`` is null if the wait has no end, or the question has not been put."""

    phase_name: str
    """The phase."""
    intent_id: str
    """Its intent."""
    suspended_since: Instant
    """Since when it waits."""
    expires_at: Instant | None
    """When the wait ends by itself; `null` for never."""


class WorkflowProgress(Open):
    """Worked out when it is read. ``by_status`` counts the phases' intents."""

    total: int
    """How many phases there are."""
    by_status: dict[IntentStatus, int]
    """How many of their intents have each status."""
    completion_percentage: float
    """How many of 100 are completed."""
    suspended_phases: list[SuspendedPhase]
    """Those that wait for a person."""


class WorkflowReply(Open):
    """A workflow and how far it has come (RFC-0024)."""

    id: str
    """The workflow's id."""
    name: str
    """What it is called."""
    description: str | None
    """What it is for; `null` if nothing was said."""
    created_by: str
    """The key that made it."""
    parent_intent_id: str | None
    """The intent that all phases are parts of; `null` for none."""
    phases: list[PhaseReply]
    """The phases, as they were written down."""
    progress: WorkflowProgress
    """How far it has come."""
    initial_state: JsonObject
    """What `$initial_state` inputs read."""
    trigger: JsonObject
    """What `$trigger` inputs read."""
    metadata: JsonObject
    """What was attached."""
    version: int
    """Goes up with each change."""
    created_at: Instant
    """When it was made."""
    updated_at: Instant
    """When it last changed."""


class WorkflowPage(Open):
    """One page of workflows."""

    items: list[WorkflowReply]
    """The workflows, newest first."""
    next_cursor: str | None
    """What to send as `cursor` for the next page; `null` on the last one."""


def workflow_json(shown: ShownWorkflow) -> WorkflowReply:
    workflow = shown.workflow
    return reply_of(
        WorkflowReply,
        workflow,
        phases=[_phase_json(standing) for standing in shown.phases],
        progress=progress_json(shown.phases),
        initial_state=workflow.start.initial_state,
        trigger=workflow.start.trigger,
    )


def _phase_json(standing: PhaseStanding) -> PhaseReply:
    phase = standing.phase
    outputs = {key: reply_of(OutputReply, one) for key, one in phase.outputs.items()}
    return reply_of(
        PhaseReply,
        phase,
        title=standing.title,
        status=standing.status,
        task_status=standing.task_status,
        outputs=outputs,
        assigned_agent=standing.assigned_agent,
    )


def progress_json(phases: Sequence[PhaseStanding]) -> WorkflowProgress:
    counts = dict.fromkeys(IntentStatus, 0)
    for standing in phases:
        counts[standing.status] += 1
    return {
        "total": len(phases),
        "by_status": counts,
        "completion_percentage": round(100 * counts[IntentStatus.COMPLETED] / len(phases), 2),
        "suspended_phases": [_suspended_json(one) for one in phases if one.status is IntentStatus.SUSPENDED],
    }


def _suspended_json(standing: PhaseStanding) -> SuspendedPhase:
    phase, since = standing.phase, standing.suspended_since or standing.moved_at
    return reply_of(SuspendedPhase, standing, phase_name=phase.name, intent_id=phase.intent_id, suspended_since=since)


@routes.post(
    "/workflows",
    summary="Create a workflow: an intent and a task for each phase",
    responses={200: {"model": WorkflowReply}, **refusals(*BODY, 403, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: WorkflowBody, key: IdempotencyKey = None
) -> Response:
    """Phases depend on each other by name, and read each other's outputs (RFC-0024). The published client has no call
    for this."""
    made = await services.openintent.workflows.create(body.wanted(), actor, await once(request, actor, key, _created))
    return replied(made, _created)


@routes.get(
    "/workflows", summary="List workflows, newest first", responses={200: {"model": WorkflowPage}, **refusals(422)}
)
async def page(services: Served, actor: Caller, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Agents see their own, operators and admins all of them."""
    found = await services.openintent.workflows.page(actor, before=place(cursor), limit=limit + 1)
    last = found[limit - 1].workflow if len(found) > limit else None
    after = None if last is None else cursor_after(last.created_at, last.id)
    return reply(WorkflowPage(items=[workflow_json(one) for one in found[:limit]], next_cursor=after))


@routes.get(
    "/workflows/{workflow_id}",
    summary="Show a workflow, and how far it has come",
    responses={200: {"model": WorkflowReply}, **refusals(404, 422)},
)
async def show(services: Served, workflow_id: Id, actor: Caller) -> Response:
    """`progress` is worked out when it is read, and names the phases that wait for a person."""
    return reply(workflow_json(await services.openintent.workflows.get(workflow_id, actor)))


def _created(shown: ShownWorkflow) -> Response:
    return reply(workflow_json(shown))
