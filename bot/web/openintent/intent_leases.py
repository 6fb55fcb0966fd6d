"""Leases on an intent: an agent takes a scope for itself, renews it and gives it back.

The published OpenIntent client (0.17) compares a lease's times with its own naive clock, so that they carry no zone
under ``/api/v1``; they are UTC all the same. Source: RFC-0003; RFC-0025 §2; API.md §7; decision 0055.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.paging import Limit, Offset
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.suspensions import Id
from bot.web.openintent import intent_bodies
from core.domain.wire import Open, instant, reply_of
from core.openintent.domain.intent_lease import IntentLease

routes = APIRouter(route_class=KeyedRoute, tags=["leases on an intent"])

LeaseInstant = Annotated[
    str,
    Field(
        description="An instant in UTC, with Z under /v1 and without it under /api/v1.",
        json_schema_extra={"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?$"},
    ),
]


class LeaseReply(Open):
    """``expires_at`` of an active lease may be over: it stands as long as its intent waits for a person."""

    id: str
    """The lease's id."""
    intent_id: str
    """The intent that it is on."""
    agent_id: str
    """Who holds it."""
    scope: str
    """Which part of the intent, by the agent's own name."""
    status: Literal["active", "released", "expired", "revoked"]
    """Where the lease stands."""
    acquired_at: LeaseInstant
    """When it was taken."""
    expires_at: LeaseInstant
    """When it ends by itself."""
    released_at: LeaseInstant | None
    """When it was given back or taken away; `null` until then."""


class LeasePage(Open):
    """The leases on an intent."""

    leases: list[LeaseReply]
    """The leases: those that are held first, then the newest."""


def lease_json(lease: IntentLease, path: str) -> LeaseReply:
    """``path`` is the request's."""

    def at(moment: datetime | None) -> str | None:
        return None if moment is None else instant(moment).removesuffix("Z" if path.startswith("/api/") else "")

    return reply_of(
        LeaseReply,
        lease,
        acquired_at=at(lease.acquired_at),
        expires_at=at(lease.expires_at),
        released_at=at(lease.released_at),
    )


@routes.get(
    "/intents/{intent_id}/leases",
    summary="The leases on an intent: those that are held first, then the newest",
    responses={200: {"model": LeasePage}, **refusals(404, 422)},
)
async def page(
    services: Served,
    request: Request,
    intent_id: Id,
    actor: Caller,
    limit: Limit = 200,
    offset: Offset = 0,
) -> Response:
    """Leases that were given back or ran out are listed too."""
    found = await services.openintent.leases.page(intent_id, actor, limit=limit, offset=offset)
    return reply(LeasePage(leases=[lease_json(one, request.url.path) for one in found]))


@routes.post(
    "/intents/{intent_id}/leases",
    summary="Take a scope of an intent for yourself",
    responses={200: {"model": LeaseReply}, **refusals(*BODY, 403, 404, 409)},
)
async def acquire(
    services: Served, request: Request, intent_id: Id, actor: Agent, body: intent_bodies.LeaseBody
) -> Response:
    """A scope that somebody holds is 409. While the intent waits for a person its leases do not run out (RFC-0003,
    RFC-0025 §2)."""
    duration = timedelta(seconds=body.duration_seconds)
    lease = await services.openintent.leases.acquire(intent_id, body.scope, duration, actor)
    return reply(lease_json(lease, request.url.path))


@routes.patch(
    "/intents/{intent_id}/leases/{lease_id}",
    summary="Renew a lease: it ends so long from now on",
    responses={200: {"model": LeaseReply}, **refusals(*BODY, 403, 404, 409)},
)
async def renew(
    services: Served, request: Request, intent_id: Id, lease_id: Id, actor: Agent, body: intent_bodies.RenewalBody
) -> Response:
    """By its holder."""
    duration = timedelta(seconds=body.duration_seconds)
    lease = await services.openintent.leases.renew(intent_id, lease_id, duration, actor)
    return reply(lease_json(lease, request.url.path))


@routes.delete(
    "/intents/{intent_id}/leases/{lease_id}",
    summary="Give a lease back, or take it away as the intent's owner",
    responses={200: {"model": LeaseReply}, **refusals(403, 404, 409, 422)},
)
async def release(services: Served, request: Request, intent_id: Id, lease_id: Id, actor: Agent) -> Response:
    """A lease that is over is 409."""
    return reply(lease_json(await services.openintent.leases.release(intent_id, lease_id, actor), request.url.path))
