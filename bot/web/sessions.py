"""Sessions, agents' default policies, callbacks, and the configuration that clients may read.

Source: API.md §3, §5; RFC-0026 §5.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response

from bot.web import replies, schemas, shapes
from bot.web.auth import Agent, Caller, KeyedRoute
from bot.web.paging import Cursor, Limit, cursor_after, place
from bot.web.replies import reply
from bot.web.services import Served
from bot.web.shapes import BODY, refusals
from bot.web.suspensions import Id
from core.policies import RetryPolicyFields

PROTOCOL_VERSION = "0.1"
AgentName = Annotated[str, Path(min_length=1, max_length=255)]


routes = APIRouter(route_class=KeyedRoute, tags=["sessions and callbacks"])


@routes.put(
    "/sessions/{session_id}",
    summary="Register a session and where it is called back",
    responses={200: {"model": shapes.SessionReply}, **refusals(*BODY, 403)},
)
async def put_session(services: Served, session_id: Id, actor: Agent, body: schemas.SessionBody) -> Response:
    session = await services.books.put_session(
        session_id, actor, callback_url=body.callback_url, metadata=body.metadata or {}
    )
    return reply(replies.session_json(session))


@routes.get(
    "/sessions/{session_id}",
    summary="Show a session",
    responses={200: {"model": shapes.SessionReply}, **refusals(404, 422)},
)
async def get_session(services: Served, session_id: Id, actor: Caller) -> Response:
    return reply(replies.session_json(await services.books.session(session_id, actor)))


@routes.put(
    "/agents/{agent_id}/default-retry-policy",
    summary="Replace an agent's default policy; {} clears it",
    responses={200: {"model": shapes.AgentPolicyReply}, **refusals(*BODY, 403)},
)
async def put_policy(services: Served, agent_id: AgentName, actor: Agent, body: RetryPolicyFields) -> Response:
    policy = body.model_dump(mode="json", exclude_none=True)
    await services.books.put_agent_policy(agent_id, policy, actor)
    return reply({"agent_id": agent_id, "default_retry_policy": policy})


@routes.get(
    "/agents/{agent_id}/default-retry-policy",
    summary="Show an agent's default policy",
    responses={200: {"model": shapes.AgentPolicyReply}, **refusals(404, 422)},
)
async def get_policy(services: Served, agent_id: AgentName, actor: Caller) -> Response:
    policy = dict(await services.books.agent_policy(agent_id, actor))
    return reply({"agent_id": agent_id, "default_retry_policy": policy})


@routes.get(
    "/callbacks",
    summary="List callbacks to agents, newest first",
    responses={200: {"model": shapes.CallbackPage}, **refusals(422)},
)
async def callbacks(
    services: Served,
    actor: Caller,
    status: Literal["pending", "delivered", "refused", "dead"] | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    found = await services.books.callbacks(actor, status=status, before=place(cursor), limit=limit + 1)
    more = cursor_after(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    return reply({"items": [replies.callback_json(row) for row in found[:limit]], "next_cursor": more})


@routes.post(
    "/callbacks/{callback_id}/redrive",
    summary="Send a dead or refused callback again, under the same id",
    responses={200: {"model": shapes.CallbackReply}, **refusals(404, 409, 422)},
)
async def redrive(services: Served, callback_id: Id, actor: Caller) -> Response:
    return reply(replies.callback_json(await services.books.redrive(callback_id, actor)))


open_routes = APIRouter(tags=["configuration"])
"""What needs no key."""


@open_routes.get(
    "/server/config",
    summary="The platform's default policy, for clients (RFC-0026 §5)",
    responses={200: {"model": shapes.ConfigReply}},
)
async def config(services: Served) -> Response:
    suspension = {"default_retry_policy": services.platform_policy or None}
    return reply({"protocol_version": PROTOCOL_VERSION, "suspension": suspension})
