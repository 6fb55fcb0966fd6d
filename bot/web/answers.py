"""Answering: respond, signals, engagement. Source: RFC-0025 §7, §8; API.md §4, §5."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from bot.web import replies, schemas, shapes
from bot.web.auth import Agent, KeyedRoute, Operator
from bot.web.paging import IdempotencyKey, once
from bot.web.replies import reply
from bot.web.services import Served
from bot.web.shapes import BODY, refusals
from bot.web.suspensions import Id, replayed
from core.domain.answering import GivenAnswer
from core.domain.people import Actor
from core.domain.suspension import Suspension
from core.errors import InvalidRequest, SuspensionIdRequired
from core.idempotency import Replayed

LONGEST_REASON = 3000

_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {"model": shapes.AnswerReply},
    202: {"model": shapes.PartialAnswerReply, "description": "It counts; more answers are needed."},
}


routes = APIRouter(route_class=KeyedRoute, tags=["answers"])


async def _responder(services: Served, intent_id: Id, actor: Operator) -> Actor:
    """The caller, once the intent is known to be there: that is told before anything about the body is."""
    await services.intents.check(intent_id, actor)
    return actor


Responder = Annotated[Actor, Depends(_responder)]


@routes.post(
    "/intents/{intent_id}/suspend/respond",
    summary="Answer the open question of an intent",
    responses={**_ANSWERED, **refusals(*BODY, 403, 404, 409)},
)
async def respond(
    services: Served,
    request: Request,
    intent_id: Id,
    actor: Responder,
    body: schemas.RespondBody,
    key: IdempotencyKey = None,
) -> Response:
    if not body.suspension_id:
        raise SuspensionIdRequired("suspension_id is required.")
    answer = GivenAnswer(
        suspension_id=body.suspension_id,
        by=actor,
        channel="api",
        value=body.value,
        reason=_reason(body.metadata),
        metadata=body.metadata or {},
        intent_id=intent_id,
        named=body.responded_by,
    )
    repeatable = await once(request, actor, key, replies.answered)
    done = await services.engine.respond_once(answer, repeatable)
    return _told(done)


@routes.post(
    "/signals/{signal_id}",
    summary="Answer the open suspension that registered this signal",
    responses={**_ANSWERED, **refusals(*BODY, 403, 404, 409)},
)
async def signal(
    services: Served,
    request: Request,
    signal_id: Annotated[str, Path(min_length=1, max_length=255)],
    actor: Operator,
    body: schemas.SignalBody,
    key: IdempotencyKey = None,
) -> Response:
    answer = GivenAnswer("", actor, "signal", body.value, None, _reason(body.metadata), body.metadata or {})
    done = await services.engine.signal(answer, signal_id, await once(request, actor, key, replies.answered))
    return _told(done)


@routes.post(
    "/intents/{intent_id}/engagement",
    summary="Decide whether a person should be asked",
    responses={200: {"model": shapes.EngagementReply}, **refusals(*BODY, 403, 404)},
)
async def engagement(services: Served, intent_id: Id, actor: Agent, body: schemas.EngagementBody) -> Response:
    decision, logged = await services.intents.engage(intent_id, body.signals(), actor)
    return reply(
        {
            "mode": decision.mode.value,
            "should_ask": decision.should_ask,
            "action": decision.action.value,
            "rationale": decision.rationale,
            "event_id": logged.id,
        }
    )


def _reason(metadata: schemas.JsonObject | None) -> str | None:
    reason = (metadata or {}).get("reason")
    if reason is not None and (not isinstance(reason, str) or len(reason) > LONGEST_REASON):
        raise InvalidRequest(f"A reason is a text of at most {LONGEST_REASON} characters.", path="metadata.reason")
    return reason or None


def _told(done: Suspension | Replayed) -> Response:
    if isinstance(done, Replayed):
        return replayed(done)
    status, body = replies.answered(done)
    return Response(body, status, media_type="application/json")
