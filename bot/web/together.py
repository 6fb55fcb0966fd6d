"""Handing a question over, asking the agent back, and its clarification. Source: API.md §2."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from bot.web import replies, schemas, shapes
from bot.web.auth import Agent, KeyedRoute, Operator
from bot.web.paging import IdempotencyKey, once
from bot.web.replies import reply
from bot.web.services import Served
from bot.web.shapes import BODY, refusals
from bot.web.suspensions import Id, replayed, shown
from core.domain.suspension import Suspension
from core.idempotency import Replayed

_REPLIES = {200: {"model": shapes.SuspensionReply}, **refusals(*BODY, 403, 404, 409)}


routes = APIRouter(route_class=KeyedRoute, tags=["suspensions"])


@routes.post("/suspensions/{suspension_id}/assign", summary="Hand the question over to one person", responses=_REPLIES)
async def assign(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Operator,
    body: schemas.AssignBody,
    key: IdempotencyKey = None,
) -> Response:
    return _shown(await services.together.assign(suspension_id, actor, body.to, await once(request, actor, key, shown)))


@routes.post("/suspensions/{suspension_id}/clarify", summary="Ask the agent back: the clock holds", responses=_REPLIES)
async def clarify(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Operator,
    body: schemas.ClarifyBody,
    key: IdempotencyKey = None,
) -> Response:
    repeatable = await once(request, actor, key, shown)
    return _shown(await services.together.clarify(suspension_id, actor, body.question, repeatable))


@routes.post(
    "/suspensions/{suspension_id}/clarification",
    summary="Answer what the agent was asked back: the clock goes on",
    responses=_REPLIES,
)
async def clarification(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Agent,
    body: schemas.ClarificationBody,
    key: IdempotencyKey = None,
) -> Response:
    repeatable = await once(request, actor, key, shown)
    return _shown(await services.together.clarification(suspension_id, actor, body.text, repeatable))


def _shown(done: Suspension | Replayed) -> Response:
    return replayed(done) if isinstance(done, Replayed) else reply(replies.suspension_json(done))
