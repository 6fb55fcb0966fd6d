"""Answering: respond, signals, engagement. Source: RFC-0025 §7, §8; API.md §4, §5."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.exceptions import RequestValidationError

from bot.web.api import intent_replies, requests, suspension_replies
from bot.web.api.auth import Agent, Handler, KeyedRoute, Operator, Served, Services
from bot.web.api.paging import IdempotencyKey, once, replayed
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.suspensions import Id
from core.domain.answers import GivenAnswer
from core.domain.reception import Reception, accepted
from core.domain.suspension import Via
from core.errors import IdempotencyConflict, InvalidRequest, SuspensionIdRequired
from core.idempotency import Replayed

LONGEST_REASON = 3000

_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {"model": suspension_replies.AnswerReply},
    202: {"model": suspension_replies.PartialAnswerReply, "description": "It counts; more answers are needed."},
}


class _AnswerRoute(KeyedRoute):
    """That the intent is not there is told before whatever else is wrong with the request (API.md §4). Where nothing is
    wrong, nobody has to look for it first: the transaction that answers finds it, or says so."""

    def get_route_handler(self) -> Handler:
        keyed = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await keyed(request)
            except (RequestValidationError, InvalidRequest, SuspensionIdRequired, IdempotencyConflict) as wrong:
                if not _is_about_path(wrong):
                    services: Services = request.app.state.services
                    await services.asking.client_queries.check_intent(
                        request.path_params["intent_id"], request.state.actor
                    )
                raise

        return answered


def _is_about_path(wrong: Exception) -> bool:
    return isinstance(wrong, RequestValidationError) and any(one["loc"][0] == "path" for one in wrong.errors())


routes = APIRouter(route_class=KeyedRoute, tags=["answers"])


async def respond(
    services: Served,
    request: Request,
    intent_id: Id,
    actor: Operator,
    body: requests.RespondBody,
    key: IdempotencyKey = None,
) -> Response:
    """The answer goes to the question that is open now, by its `suspension_id`: an answer to an earlier one is refused.

    The first answer wins. Whoever comes later gets 409 `already_answered`. If several answers are needed, 202 says how
    many count so far. Checked in this order: key, body, role, intent, id, person, value (RFC-0025 §8)."""
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
        via=Via("api", actor.key),
    )
    repeatable = await once(request, actor, key, _answered)
    return _told(await services.asking.engine.respond_once(answer, repeatable))


routes.add_api_route(
    "/intents/{intent_id}/suspend/respond",
    respond,
    methods=["POST"],
    route_class_override=_AnswerRoute,
    summary="Answer the open question of an intent",
    responses={**_ANSWERED, **refusals(*BODY, 403, 404, 409)},
)


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
    body: requests.SignalBody,
    key: IdempotencyKey = None,
) -> Response:
    """For systems that know the agent's own name for what it waits for, and no `suspension_id`. Nothing is kept if no
    open question has that name: send it again later (OpenArmature harness §6)."""
    reason, metadata, via = _reason(body.metadata), body.metadata or {}, Via("signal", actor.key)
    answer = GivenAnswer("", actor, "signal", body.value, None, reason, metadata, via=via)
    repeatable = await once(request, actor, key, _answered)
    return _told(await services.asking.engine.signal(answer, signal_id, body.creator, repeatable))


@routes.post(
    "/intents/{intent_id}/engagement",
    summary="Decide whether a person should be asked",
    responses={200: {"model": intent_replies.EngagementReply}, **refusals(*BODY, 403, 404)},
)
async def engagement(services: Served, intent_id: Id, actor: Agent, body: requests.EngagementBody) -> Response:
    """Send how sure the agent is and what is at stake; the reply says whether to ask. The decision is recorded as
    `engagement.decision` in the intent's log (RFC-0025 §7)."""
    decision, logged = await services.openintent.intents.engage(intent_id, body.signals(), actor)
    return reply(
        {
            "mode": decision.mode.value,
            "should_ask": decision.should_ask,
            "action": decision.action.value,
            "rationale": decision.rationale,
            "event_id": logged.id,
        }
    )


def _reason(metadata: requests.JsonObject | None) -> str | None:
    reason = (metadata or {}).get("reason")
    if reason is not None and (not isinstance(reason, str) or len(reason) > LONGEST_REASON):
        raise InvalidRequest(f"A reason is a text of at most {LONGEST_REASON} characters.", path="metadata.reason")
    return reason or None


def _told(done: Reception | Replayed) -> Response:
    return replayed(done) if isinstance(done, Replayed) else _answered(done)


def _answered(done: Reception) -> Response:
    """202 while more answers are needed."""
    suspension = accepted(done)
    if not suspension.is_open:
        return reply(suspension_replies.answer_json(suspension))
    return reply(suspension_replies.partial_answer_json(suspension), 202)
