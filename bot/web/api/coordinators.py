"""Coordinators: name, list, show, change, and hear that they live.

Source: RFC-0013; RFC-0026 §3; API.md §7. The published client reads lists as bare arrays.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import JsonValue, RootModel

from bot.web.api import paging
from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.paging import IdempotencyKey, IfMatch, Limit, once, version
from bot.web.api.replies import BODY, ETAG, refusals, reply, write
from bot.web.api.requests import IntentId, JsonObject, Name, Strict, such_as
from bot.web.api.suspensions import Id, replayed
from core.containers.coordinators import NewCoordinator
from core.domain.coordinator import Coordinator, CoordinatorChange, CoordinatorStatus, SuspensionPolicy
from core.domain.policy import Seconds
from core.domain.wire import Instant, Open, instant, seconds
from core.idempotency import Replayed

routes = APIRouter(route_class=KeyedRoute, tags=["coordinators"])

CoordinatorType = Literal["llm", "human", "composite", "system"]


class CoordinatorBody(Strict, json_schema_extra=such_as({"agent_id": "coordinator-1", "portfolio_id": "…"})):
    """Of an intent or of a portfolio. ``scope`` goes by that, whatever is written."""

    agent_id: Name
    intent_id: IntentId | None = None
    portfolio_id: IntentId | None = None
    role: Name | None = None
    supervisor_id: Name | None = None
    coordinator_type: CoordinatorType | None = None
    scope: Literal["intent", "portfolio"] | None = None
    guardrails: JsonObject | None = None
    heartbeat_interval_seconds: Seconds | None = None
    expires_at: paging.Instant | None = None
    suspension_policy: SuspensionPolicy | None = None
    metadata: JsonObject | None = None

    def wanted(self) -> NewCoordinator:
        details: dict[str, JsonValue] = {
            "role": self.role or "coordinator",
            "supervisor_id": self.supervisor_id,
            "coordinator_type": self.coordinator_type or "llm",
            "guardrails": self.guardrails,
            "metadata": self.metadata or {},
        }
        return NewCoordinator(
            agent_id=self.agent_id,
            intent_id=self.intent_id,
            portfolio_id=self.portfolio_id,
            suspension_policy=self.suspension_policy or SuspensionPolicy.ISOLATE,
            heartbeat_interval=timedelta(seconds=self.heartbeat_interval_seconds or 60),
            expires_at=self.expires_at,
            details=details,
        )


class CoordinatorChangeBody(Strict, json_schema_extra=such_as({"suspension_policy": "escalate"})):
    """What changes; what is left out stays."""

    status: Literal["active", "paused", "completing", "completed"] | None = None
    suspension_policy: SuspensionPolicy | None = None
    guardrails: JsonObject | None = None

    def change(self) -> CoordinatorChange:
        status = None if self.status is None else CoordinatorStatus(self.status)
        return CoordinatorChange(status, self.suspension_policy, self.guardrails)


class CoordinatorReply(Open):
    """As the published client reads it. ``status`` is as it stands at this moment."""

    id: str
    intent_id: str | None
    portfolio_id: str | None
    agent_id: str
    role: str
    supervisor_id: str | None
    coordinator_type: CoordinatorType
    scope: Literal["intent", "portfolio"]
    status: CoordinatorStatus
    suspension_policy: SuspensionPolicy
    guardrails: JsonObject | None
    heartbeat_interval_seconds: int
    last_heartbeat: Instant | None
    granted_at: Instant
    expires_at: Instant | None
    version: int
    created_by: str
    lease_metadata: JsonObject
    metadata: JsonObject


class CoordinatorList(RootModel[list[CoordinatorReply]]):
    pass


class HeartbeatReply(Open):
    status: Literal["ok"]
    next_heartbeat_at: Instant


def coordinator_json(one: Coordinator, now: datetime) -> JsonObject:
    details = one.details
    return {
        "id": one.id,
        "intent_id": one.intent_id,
        "portfolio_id": one.portfolio_id,
        "agent_id": one.agent_id,
        "role": details.get("role"),
        "supervisor_id": details.get("supervisor_id"),
        "coordinator_type": details.get("coordinator_type"),
        "scope": "portfolio" if one.intent_id is None else "intent",
        "status": one.shown_status(now).value,
        "suspension_policy": one.suspension_policy.value,
        "guardrails": details.get("guardrails"),
        "heartbeat_interval_seconds": seconds(one.heartbeat_interval),
        "last_heartbeat": instant(one.last_heartbeat),
        "granted_at": instant(one.granted_at),
        "expires_at": instant(one.expires_at),
        "version": one.version,
        "created_by": one.created_by,
        "lease_metadata": details.get("metadata"),
        "metadata": details.get("metadata"),
    }


@routes.post(
    "/coordinators",
    summary="Name the coordinator of an intent or a portfolio",
    responses={200: {"model": CoordinatorReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: CoordinatorBody, key: IdempotencyKey = None
) -> Response:
    def written(made: Coordinator) -> tuple[int, str]:
        return 200, write(coordinator_json(made, made.granted_at))

    made = await services.coordinators.create(body.wanted(), actor, await once(request, actor, key, written))
    return replayed(made) if isinstance(made, Replayed) else _with_etag(made, made.granted_at)


@routes.get(
    "/coordinators",
    summary="List coordinators, newest first",
    responses={200: {"model": CoordinatorList}, **refusals(422)},
)
async def page(
    services: Served,
    actor: Caller,
    limit: Limit = 50,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    found = await services.coordinators.page(actor, limit=limit, offset=offset)
    now = services.coordinators.clock.now()
    return reply([coordinator_json(one, now) for one in found])


@routes.get(
    "/coordinators/{coordinator_id}",
    summary="Show a coordinator",
    responses={200: {"model": CoordinatorReply, "headers": ETAG}, **refusals(404, 422)},
)
async def show(services: Served, coordinator_id: Id, actor: Caller) -> Response:
    return _with_etag(await services.coordinators.get(coordinator_id, actor), services.coordinators.clock.now())


@routes.patch(
    "/coordinators/{coordinator_id}",
    summary="Change a coordinator's policy, status or guardrails",
    responses={200: {"model": CoordinatorReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428)},
)
async def change(
    services: Served, coordinator_id: Id, actor: Agent, body: CoordinatorChangeBody, if_match: IfMatch
) -> Response:
    after = await services.coordinators.change(coordinator_id, body.change(), actor, version(if_match))
    return _with_etag(after, services.coordinators.clock.now())


@routes.post(
    "/coordinators/{coordinator_id}/heartbeat",
    summary="Say that the coordinator lives",
    responses={200: {"model": HeartbeatReply}, **refusals(403, 404, 409, 422)},
)
async def heartbeat(services: Served, coordinator_id: Id, actor: Agent) -> Response:
    due = await services.coordinators.heartbeat(coordinator_id, actor)
    return reply(HeartbeatReply(status="ok", next_heartbeat_at=instant(due)))


@routes.get(
    "/intents/{intent_id}/coordinators",
    summary="The coordinators of an intent, oldest first",
    responses={200: {"model": CoordinatorList}, **refusals(404, 422)},
)
async def of_intent(services: Served, intent_id: Id, actor: Caller) -> Response:
    found = await services.coordinators.of_intent(intent_id, actor)
    now = services.coordinators.clock.now()
    return reply([coordinator_json(one, now) for one in found])


def _with_etag(one: Coordinator, now: datetime) -> Response:
    return reply(coordinator_json(one, now), 200, {"ETag": f'"{one.version}"'})
