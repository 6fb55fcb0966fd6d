"""Coordinators: name, list, show, change, and hear that they live.

Source: RFC-0013; RFC-0026 §3; API.md §7. The published client reads lists as bare arrays.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import JsonValue, RootModel

from bot.web.api import paging
from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.paging import IdempotencyKey, IfMatch, Limit, Offset, once, replied, version
from bot.web.api.replies import BODY, ETAG, refusals, reply
from bot.web.api.requests import IntentId, JsonObject, Name, Strict, such_as
from bot.web.api.suspensions import Id
from core.domain.policy import Seconds
from core.domain.wire import Instant, Open, instant, reply_of
from core.openintent.containers.coordinators import NewCoordinator
from core.openintent.domain.coordinator import Coordinator, CoordinatorChange, CoordinatorStatus, SuspensionPolicy

routes = APIRouter(route_class=KeyedRoute, tags=["coordinators"])

CoordinatorType = Literal["llm", "human", "composite", "system"]


class CoordinatorBody(Strict, json_schema_extra=such_as({"agent_id": "coordinator-1", "portfolio_id": "…"})):
    """Of an intent or of a portfolio. ``scope`` goes by that, whatever is written."""

    agent_id: Name
    """The agent that looks after it."""
    intent_id: IntentId | None = None
    """The intent to look after. Not together with `portfolio_id`."""
    portfolio_id: IntentId | None = None
    """The portfolio to look after. Not together with `intent_id`."""
    role: Name | None = None
    """What it is called there; `coordinator` if you leave it out."""
    supervisor_id: Name | None = None
    """Who stands above it. Stored and shown."""
    coordinator_type: CoordinatorType | None = None
    """What kind of coordinator it is; `llm` if you leave it out."""
    scope: Literal["intent", "portfolio"] | None = None
    """Goes by which of the two ids is given, whatever is written."""
    guardrails: JsonObject | None = None
    """What it has to keep to. Stored and shown."""
    heartbeat_interval_seconds: Seconds | None = None
    """How often it says that it lives, in seconds; 60 if you leave it out."""
    expires_at: paging.Instant | None = None
    """When its duty ends by itself. In the future."""
    suspension_policy: SuspensionPolicy | None = None
    """What follows when somebody there waits for a person; `isolate` if you leave it out."""
    metadata: JsonObject | None = None
    """Anything of yours."""

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
    """The new status."""
    suspension_policy: SuspensionPolicy | None = None
    """What follows when somebody there waits for a person (RFC-0026 §3)."""
    guardrails: JsonObject | None = None
    """What it has to keep to. They replace the old ones."""

    def change(self) -> CoordinatorChange:
        status = None if self.status is None else CoordinatorStatus(self.status)
        return CoordinatorChange(status, self.suspension_policy, self.guardrails)


class CoordinatorReply(Open):
    """As the published client reads it. ``status`` is as it stands at this moment."""

    id: str
    """The coordinator's id."""
    intent_id: str | None
    """The intent it looks after; `null` for a portfolio's."""
    portfolio_id: str | None
    """The portfolio it looks after; `null` for an intent's."""
    agent_id: str
    """The agent that does it."""
    role: str
    """What it is called there."""
    supervisor_id: str | None
    """Who stands above it; `null` for nobody."""
    coordinator_type: CoordinatorType
    """What kind of coordinator it is."""
    scope: Literal["intent", "portfolio"]
    """Whether it looks after an intent or a portfolio."""
    status: CoordinatorStatus
    """How it stands at this moment. Two missed heartbeats make it `unresponsive`."""
    suspension_policy: SuspensionPolicy
    """What follows when somebody there waits for a person (RFC-0026 §3)."""
    guardrails: JsonObject | None
    """What it has to keep to; `null` for nothing."""
    heartbeat_interval_seconds: int
    """How often it says that it lives, in seconds."""
    last_heartbeat: Instant | None
    """When it last did; `null` if it never has."""
    granted_at: Instant
    """When it was named."""
    expires_at: Instant | None
    """When its duty ends by itself; `null` for never."""
    version: int
    """Goes up with each change. Send it in `If-Match`."""
    created_by: str
    """The key that named it."""
    lease_metadata: JsonObject
    """The same as `metadata`, in the published client's spelling."""
    metadata: JsonObject
    """What was attached."""


class CoordinatorList(RootModel[list[CoordinatorReply]]):
    """Coordinators, as a bare array."""


class HeartbeatReply(Open):
    """The coordinator lives."""

    status: Literal["ok"]
    """Always `ok`."""
    next_heartbeat_at: Instant
    """By when the next one is expected."""


def coordinator_json(one: Coordinator, now: datetime) -> CoordinatorReply:
    said = one.details
    return reply_of(
        CoordinatorReply,
        one,
        role=said.get("role"),
        supervisor_id=said.get("supervisor_id"),
        coordinator_type=said.get("coordinator_type"),
        scope="portfolio" if one.intent_id is None else "intent",
        status=one.shown_status(now),
        guardrails=said.get("guardrails"),
        lease_metadata=said.get("metadata"),
        metadata=said.get("metadata"),
    )


@routes.post(
    "/coordinators",
    summary="Name the coordinator of an intent or a portfolio",
    responses={200: {"model": CoordinatorReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: CoordinatorBody, key: IdempotencyKey = None
) -> Response:
    """It looks after an intent or a portfolio. `suspension_policy` says what follows when somebody there waits for a
    person (RFC-0026 §3)."""
    made = await services.openintent.coordinators.create(body.wanted(), actor, await once(request, actor, key, _made))
    return replied(made, _made)


@routes.get(
    "/coordinators",
    summary="List coordinators, newest first",
    responses={200: {"model": CoordinatorList}, **refusals(422)},
)
async def page(
    services: Served,
    actor: Caller,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """Those that the caller may read."""
    found = await services.openintent.coordinators.page(actor, limit=limit, offset=offset)
    now = services.openintent.coordinators.clock.now()
    return reply([coordinator_json(one, now) for one in found])


@routes.get(
    "/coordinators/{coordinator_id}",
    summary="Show a coordinator",
    responses={200: {"model": CoordinatorReply, "headers": ETAG}, **refusals(404, 422)},
)
async def show(services: Served, coordinator_id: Id, actor: Caller) -> Response:
    """As it stands at this moment."""
    return _with_etag(
        await services.openintent.coordinators.get(coordinator_id, actor), services.openintent.coordinators.clock.now()
    )


@routes.patch(
    "/coordinators/{coordinator_id}",
    summary="Change a coordinator's policy, status or guardrails",
    responses={200: {"model": CoordinatorReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428)},
)
async def change(
    services: Served, coordinator_id: Id, actor: Agent, body: CoordinatorChangeBody, if_match: IfMatch
) -> Response:
    """By whoever may name one: the owner of the intent or of the portfolio, or an admin."""
    after = await services.openintent.coordinators.change(coordinator_id, body.change(), actor, version(if_match))
    return _with_etag(after, services.openintent.coordinators.clock.now())


@routes.post(
    "/coordinators/{coordinator_id}/heartbeat",
    summary="Say that the coordinator lives",
    responses={200: {"model": HeartbeatReply}, **refusals(403, 404, 409, 422)},
)
async def heartbeat(services: Served, coordinator_id: Id, actor: Agent) -> Response:
    """Two missed ones make it `unresponsive`."""
    due = await services.openintent.coordinators.heartbeat(coordinator_id, actor)
    return reply(HeartbeatReply(status="ok", next_heartbeat_at=instant(due)))


@routes.get(
    "/intents/{intent_id}/coordinators",
    summary="The coordinators of an intent, oldest first",
    responses={200: {"model": CoordinatorList}, **refusals(404, 422)},
)
async def of_intent(services: Served, intent_id: Id, actor: Caller) -> Response:
    """As they stand at this moment."""
    found = await services.openintent.coordinators.of_intent(intent_id, actor)
    now = services.openintent.coordinators.clock.now()
    return reply([coordinator_json(one, now) for one in found])


def _made(one: Coordinator) -> Response:
    return _with_etag(one, one.granted_at)


def _with_etag(one: Coordinator, now: datetime) -> Response:
    return reply(coordinator_json(one, now), 200, {"ETag": f'"{one.version}"'})
