"""Tasks of an intent: create, show, list, change.

Source: RFC-0012; API.md §7, "plans, tasks". The published client reads a list of tasks as a bare array.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import RootModel

from bot.web.api import task_bodies
from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.paging import IdempotencyKey, IfMatch, Limit, once, version
from bot.web.api.replies import BODY, ETAG, refusals, reply, write
from bot.web.api.suspensions import Id, replayed
from core.domain.task import Task, TaskStatus
from core.domain.wire import Instant, JsonObject, Open, instant
from core.idempotency import Replayed

routes = APIRouter(route_class=KeyedRoute, tags=["tasks"])


class TaskReply(Open):
    """``depends_on``, ``blocks`` and the fields after ``metadata`` are there for the published client."""

    id: str
    intent_id: str
    name: str
    status: TaskStatus
    version: int
    description: str | None
    priority: str
    input: JsonObject
    output: JsonObject | None
    artifacts: list[str]
    assigned_agent: str | None
    capabilities_required: list[str]
    depends_on: list[str]
    parent_task_id: str | None
    retry_policy: JsonObject | None
    timeout_seconds: int | None
    attempt: int
    max_attempts: int
    blocked_reason: str | None
    suspended_intent_id: str | None
    error: str | None
    metadata: JsonObject
    created_by: str
    created_at: Instant
    updated_at: Instant
    started_at: Instant | None
    completed_at: Instant | None
    plan_id: str | None
    lease_id: str | None
    blocks: list[str]
    permissions: str


class TaskList(RootModel[list[TaskReply]]):
    pass


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


def task_json(task: Task) -> JsonObject:
    return {
        **_UNSAID,
        **(task.details or {}),
        "id": task.id,
        "intent_id": task.intent_id,
        "name": task.name,
        "status": task.status.value,
        "version": task.version,
        "output": None if task.output is None else dict(task.output),
        "assigned_agent": task.assigned_agent,
        "retry_policy": None if task.retry_policy is None else dict(task.retry_policy),
        "attempt": task.attempt,
        "blocked_reason": task.blocked_reason,
        "suspended_intent_id": task.suspended_intent_id,
        "error": task.error,
        "created_by": task.created_by,
        "created_at": instant(task.created_at),
        "updated_at": instant(task.updated_at),
        "started_at": instant(task.started_at),
        "completed_at": instant(task.completed_at),
        "plan_id": task.plan_id,
        "lease_id": None,
        "blocks": [],
        "permissions": "inherit",
    }


@routes.post(
    "/tasks",
    summary="Add a task to an intent",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: task_bodies.NewTaskBody, key: IdempotencyKey = None
) -> Response:
    again = await once(request, actor, key, _created)
    made = await services.tasks.create(body.intent_id, body.name, body.change(), actor, again)
    return replayed(made) if isinstance(made, Replayed) else _with_etag(made)


@routes.get(
    "/tasks/{task_id}",
    summary="Show a task",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(404, 422)},
)
async def show(services: Served, task_id: Id, actor: Caller) -> Response:
    return _with_etag(await services.tasks.get(task_id, actor))


@routes.post(
    "/tasks/{task_id}/claim",
    summary="Take a task for the caller",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(400, 403, 404, 409, 413, 422)},
)
async def claim(services: Served, request: Request, task_id: Id, actor: Agent, key: IdempotencyKey = None) -> Response:
    taken = await services.claims.claim(task_id, actor, await once(request, actor, key, _created))
    return replayed(taken) if isinstance(taken, Replayed) else _with_etag(taken)


@routes.patch(
    "/tasks/{task_id}",
    summary="Move a task, or change what it says",
    responses={200: {"model": TaskReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428)},
)
async def change(
    services: Served, task_id: Id, actor: Agent, body: task_bodies.TaskBody, if_match: IfMatch
) -> Response:
    return _with_etag(await services.tasks.change(task_id, body.change(body.status), actor, version(if_match)))


@routes.get(
    "/intents/{intent_id}/tasks",
    summary="The tasks of an intent, oldest first",
    responses={200: {"model": TaskList}, **refusals(404, 422)},
)
async def page(
    services: Served,
    intent_id: Id,
    actor: Caller,
    status: TaskStatus | None = None,
    limit: Limit = 50,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    found = await services.tasks.of_intent(intent_id, actor, status=status, limit=limit, offset=offset)
    return reply([task_json(one) for one in found])


def _created(task: Task) -> tuple[int, str]:
    return 200, write(task_json(task))


def _with_etag(task: Task) -> Response:
    return reply(task_json(task), 200, {"ETag": f'"{task.version}"'})
