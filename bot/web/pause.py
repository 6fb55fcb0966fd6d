"""Pausing all new notices. Source: API.md §9; core/pausing.py says what a pause does and does not do."""

from __future__ import annotations

from fastapi import APIRouter, Response

from bot.web import schemas, shapes
from bot.web.auth import Admin, Caller, KeyedRoute
from bot.web.replies import reply
from bot.web.services import Served
from bot.web.shapes import BODY, refusals
from core.domain.people import Actor, Role
from core.domain.wire import JsonObject, instant
from core.store.pauses import Pause

routes = APIRouter(route_class=KeyedRoute, tags=["pause"])


@routes.get(
    "/pause",
    summary="Whether new notices are paused",
    responses={200: {"model": shapes.PauseReply}, **refusals()},
)
async def show(services: Served, actor: Caller) -> Response:
    return reply(pause_json(*await services.pausing.current(), actor))


@routes.post(
    "/pause",
    summary="Pause all new notices; what would ask people waits",
    responses={200: {"model": shapes.PauseReply}, **refusals(*BODY, 403)},
)
async def pause(services: Served, actor: Admin, body: schemas.PauseBody) -> Response:
    await services.pausing.pause(actor, body.reason)
    return reply(pause_json(*await services.pausing.current(), actor))


@routes.delete(
    "/pause",
    summary="Let notices leave again: each open question asks once",
    responses={200: {"model": shapes.UnpauseReply}, **refusals(403)},
)
async def unpause(services: Served, _actor: Admin) -> Response:
    lifted = await services.pausing.lift()
    return reply(
        {
            "paused": False,
            "released": lifted.released if lifted is not None else 0,
            "dropped": lifted.dropped if lifted is not None else 0,
        }
    )


def pause_json(pause: Pause | None, held: int, reader: Actor) -> JsonObject:
    """An agent is told that nobody is being asked, but neither by whom nor why."""
    knows = pause is not None and reader.has(Role.OPERATOR)
    return {
        "paused": pause is not None,
        "paused_at": instant(pause.at) if pause else None,
        "paused_by": pause.by if pause and knows else None,
        "reason": pause.reason if pause and knows else None,
        "held": held,
    }
