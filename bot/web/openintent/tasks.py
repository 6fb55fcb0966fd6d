"""Tasks of an intent: create, show, list, change.

Source: RFC-0012; API.md §7, "plans, tasks". The published client reads a list of tasks as a bare array.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, RootModel

from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.paging import IdempotencyKey, IfMatch, Limit, Offset, once, replied, version
from bot.web.api.replies import BODY, ETAG, refusals, reply
from bot.web.api.requests import Name, Strict, Word, such_as
from bot.web.api.suspensions import Id
from bot.web.errors import VISIBLE
from core.domain.policy import Seconds
from core.domain.wire import Instant, JsonObject, Open, reply_of
from core.openintent.domain.retry import FailurePolicyFields, failure_policy_values
from core.openintent.domain.task import Task, TaskChange, TaskStatus


class TaskFields(Strict):
    """What an agent writes into a task (RFC-0012). ``input``, ``depends_on`` and the like are kept as they are."""

    description: Annotated[str, Field(max_length=40_000)] | None = None
    """What is to be done, at length."""
    priority: Word | None = None
    """How urgent it is, by a word of yours; `normal` if you leave it out."""
    input: JsonObject | None = None
    """What the task starts from."""
    output: JsonObject | None = None
    """What came of it."""
    artifacts: Annotated[list[Word], Field(max_length=1000)] | None = None
    """Names of what it made."""
    assigned_agent: Name | None = None
    """The agent that works on it."""
    capabilities_required: Annotated[list[Word], Field(max_length=100)] | None = None
    """What an agent has to be able to do. Stored and shown."""
    depends_on: Annotated[list[Word], Field(max_length=1000)] | None = None
    """Ids of tasks that come first. It can't depend on itself, at however many removes."""
    parent_task_id: Word | None = None
    """The task that this one is a part of. Stored and shown."""
    retry_policy: FailurePolicyFields | None = None
    """What is done if it fails (RFC-0010); the intent's if you leave it out."""
    timeout_seconds: Seconds | None = None
    """How long one attempt may take, in seconds. Stored and shown."""
    max_attempts: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    """How often it may be attempted. Stored and shown."""
    metadata: JsonObject | None = None
    """Anything of yours."""
    error: Annotated[str, Field(max_length=10_000)] | None = None
    """What went wrong."""
    blocked_reason: Word | None = None
    """Why it is blocked, by a word of yours."""

    def change(self, status: TaskStatus | None = None) -> TaskChange:
        said = {name: value for name in _DETAILS if (value := getattr(self, name)) is not None}
        return TaskChange(
            status=status,
            assigned_agent=self.assigned_agent,
            retry_policy=None
            if self.retry_policy is None
            else failure_policy_values(self.retry_policy.policy("retry_policy.")),
            blocked_reason=self.blocked_reason,
            error=self.error,
            output=self.output,
            details=said or None,
        )


_DETAILS = (
    "description",
    "priority",
    "input",
    "artifacts",
    "capabilities_required",
    "depends_on",
    "parent_task_id",
    "timeout_seconds",
    "max_attempts",
    "metadata",
)


class NewTaskBody(TaskFields, json_schema_extra=such_as({"intent_id": "…", "name": "Look the order up"})):
    """A task to add to an intent."""

    intent_id: Annotated[str, Field(min_length=1, max_length=255)]
    """The intent that it belongs to."""
    name: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    """What is to be done, in a line."""


class TaskBody(TaskFields, json_schema_extra=such_as({"status": "running"})):
    """What changes; what is left out stays."""

    status: TaskStatus | None = None
    """The new status (RFC-0012)."""


routes = APIRouter(route_class=KeyedRoute, tags=["tasks"])


class TaskReply(Open):
    """``depends_on``, ``blocks`` and the fields after ``metadata`` are there for the published client."""

    id: str
    """The task's id."""
    intent_id: str
    """The intent that it belongs to."""
    name: str
    """What is to be done, in a line."""
    status: TaskStatus
    """Where it stands (RFC-0012)."""
    version: int
    """Goes up with each change. Send it in `If-Match`."""
    description: str | None
    """What is to be done, at length; `null` if nothing was said."""
    priority: str
    """How urgent it is, by the agent's own word."""
    input: JsonObject
    """What it starts from."""
    output: JsonObject | None
    """What came of it; `null` until something has."""
    artifacts: list[str]
    """Names of what it made."""
    assigned_agent: str | None
    """The agent that works on it; `null` for nobody."""
    capabilities_required: list[str]
    """What an agent has to be able to do."""
    depends_on: list[str]
    """Ids of tasks that come first. It is claimed after them."""
    parent_task_id: str | None
    """The task that it is a part of; `null` for none."""
    retry_policy: JsonObject | None
    """What is done if it fails (RFC-0010); `null` for the intent's."""
    timeout_seconds: int | None
    """How long one attempt may take, in seconds; `null` for no limit."""
    attempt: int
    """Which attempt it is in, from 1."""
    max_attempts: int
    """How often it may be attempted."""
    blocked_reason: str | None
    """Why it is blocked; `intent_suspended` while its intent waits for a person."""
    suspended_intent_id: str | None
    """The intent that it waits for; `null` if it does not."""
    error: str | None
    """What went wrong; `null` if nothing has."""
    metadata: JsonObject
    """What the agent attached."""
    created_by: str
    """The key that made it."""
    created_at: Instant
    """When it was made."""
    updated_at: Instant
    """When it last changed."""
    started_at: Instant | None
    """When it was started; `null` until then."""
    completed_at: Instant | None
    """When it was completed; `null` until then."""
    plan_id: str | None
    """The plan that it belongs to; `null` for none."""
    lease_id: str | None
    """Always `null`; there for the published client."""
    blocks: list[str]
    """Always empty; there for the published client."""
    permissions: str
    """Always `inherit`; there for the published client."""


class TaskList(RootModel[list[TaskReply]]):
    """The tasks of an intent, as a bare array."""


_UNSAID: JsonObject = {
    "description": None,
    "priority": "normal",
    "input": {},
    "artifacts": [],
    "capabilities_required": [],
    "depends_on": [],
    "parent_task_id": None,
    "timeout_seconds": None,
    "max_attempts": 3,
    "metadata": {},
}


def task_json(task: Task) -> TaskReply:
    said = {**_UNSAID, **(task.details or {}), "lease_id": None, "blocks": [], "permissions": "inherit"}
    return reply_of(TaskReply, task, **said)


@routes.post(
    "/tasks",
    summary="Add a task to an intent",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: NewTaskBody, key: IdempotencyKey = None
) -> Response:
    """It begins as `pending` (RFC-0012)."""
    again = await once(request, actor, key, _with_etag)
    made = await services.openintent.tasks.create(body.intent_id, body.name, body.change(), actor, again)
    return replied(made, _with_etag)


@routes.get(
    "/tasks/{task_id}",
    summary="Show a task",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(404, 422)},
)
async def show(services: Served, task_id: Id, actor: Caller) -> Response:
    """With `suspended_intent_id` while its intent waits for a person."""
    return _with_etag(await services.openintent.tasks.get(task_id, actor))


@routes.post(
    "/tasks/{task_id}/claim",
    summary="Take a task for the caller",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(400, 403, 404, 409, 413, 422)},
)
async def claim(services: Served, request: Request, task_id: Id, actor: Agent, key: IdempotencyKey = None) -> Response:
    """Only tasks that are `pending` or `ready`, and not meant for another agent. If an intent that it reads from waits
    for a person, 409 `upstream_intent_suspended` says until when."""
    taken = await services.openintent.claims.claim(task_id, actor, await once(request, actor, key, _with_etag))
    return replied(taken, _with_etag)


@routes.patch(
    "/tasks/{task_id}",
    summary="Move a task, or change what it says",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428)},
)
async def change(services: Served, task_id: Id, actor: Agent, body: TaskBody, if_match: IfMatch) -> Response:
    """Move it forward, or write down what came of it. Moves that RFC-0012 does not know are 409."""
    return _with_etag(
        await services.openintent.tasks.change(task_id, body.change(body.status), actor, version(if_match))
    )


@routes.get(
    "/intents/{intent_id}/tasks",
    summary="The tasks of an intent, oldest first",
    responses={200: {"model": TaskList}, **refusals(404, 422)},
)
async def page(
    services: Served,
    intent_id: Id,
    actor: Caller,
    status: Annotated[TaskStatus | None, Query(description="Only tasks that stand there.")] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """With `status`, only tasks that stand there."""
    found = await services.openintent.tasks.of_intent(intent_id, actor, status=status, limit=limit, offset=offset)
    return reply([task_json(one) for one in found])


def _with_etag(task: Task) -> Response:
    return reply(task_json(task), 200, {"ETag": f'"{task.version}"'})
