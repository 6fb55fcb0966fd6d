"""Answering: respond, signals, engagement. Source: RFC-0025 §7, §8; API.md §4, §5."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from bot.web import replies, schemas
from bot.web.auth import Agent, KeyedRoute, Operator
from bot.web.paging import IdempotencyKey, once
from bot.web.replies import BODY, refusals, reply
from bot.web.services import Services
from bot.web.suspensions import Id, replayed
from core.domain.answering import GivenAnswer
from core.domain.people import Actor, Role, canonical
from core.domain.suspension import Suspension
from core.errors import IdentityMismatch, InvalidRequest, SuspensionIdRequired
from core.idempotency import Replayed
from core.ports import Responders

LONGEST_REASON = 3000


def router(services: Services) -> APIRouter:
    routes = APIRouter(route_class=KeyedRoute, tags=["answers"])
    engine, intents = services.engine, services.intents

    @routes.post(
        "/intents/{intent_id}/suspend/respond",
        summary="Answer the open question of an intent",
        responses={200: {"model": replies.AnswerReply}, **refusals(*BODY, 403, 404, 409)},
    )
    async def respond(
        request: Request, intent_id: Id, actor: Operator, body: schemas.RespondBody, key: IdempotencyKey = None
    ) -> Response:
        if not body.suspension_id:
            await intents.get(intent_id, actor)
            raise SuspensionIdRequired("suspension_id is required.")
        answer = GivenAnswer(
            suspension_id=body.suspension_id,
            by=_responder(actor, body.responded_by, engine.responders),
            channel="api",
            value=body.value,
            reason=_reason(body.metadata),
            metadata=body.metadata or {},
            intent_id=intent_id,
        )
        repeatable = await once(request, actor, key, _answered)
        done = await engine.respond_once(answer, repeatable)
        return replayed(done) if isinstance(done, Replayed) else reply(replies.answer_json(done))

    @routes.post(
        "/signals/{signal_id}",
        summary="Answer the open suspension that registered this signal",
        responses={200: {"model": replies.AnswerReply}, **refusals(*BODY, 403, 404, 409)},
    )
    async def signal(
        request: Request,
        signal_id: Annotated[str, Path(min_length=1, max_length=255)],
        actor: Operator,
        body: schemas.SignalBody,
        key: IdempotencyKey = None,
    ) -> Response:
        answer = GivenAnswer("", actor, "signal", body.value, None, _reason(body.metadata), body.metadata or {})
        done = await engine.signal(answer, signal_id, await once(request, actor, key, _answered))
        return replayed(done) if isinstance(done, Replayed) else reply(replies.answer_json(done))

    @routes.post(
        "/intents/{intent_id}/engagement",
        summary="Decide whether a person should be asked",
        responses={200: {"model": replies.EngagementReply}, **refusals(*BODY, 403, 404)},
    )
    async def engagement(intent_id: Id, actor: Agent, body: schemas.EngagementBody) -> Response:
        decision, logged = await intents.engage(intent_id, body.signals(), actor)
        return reply(
            {
                "mode": decision.mode.value,
                "should_ask": decision.should_ask,
                "action": decision.action.value,
                "rationale": decision.rationale,
                "event_id": logged.id,
            }
        )

    return routes


def _responder(actor: Actor, named: str | None, responders: Responders) -> Actor:
    """The authenticated caller; an admin is a trusted gateway and may speak for somebody else (API.md §4)."""
    if named is None or canonical(named) == actor.identity:
        return actor
    if not actor.has(Role.ADMIN):
        raise IdentityMismatch("responded_by names somebody else than the key's owner.")
    return responders.actor(canonical(named))


def _reason(metadata: schemas.JsonObject | None) -> str | None:
    reason = (metadata or {}).get("reason")
    if reason is not None and (not isinstance(reason, str) or len(reason) > LONGEST_REASON):
        raise InvalidRequest(f"A reason is a text of at most {LONGEST_REASON} characters.", path="metadata.reason")
    return reason or None


def _answered(suspension: Suspension) -> tuple[int, str]:
    return 200, replies.write(replies.answer_json(suspension))
