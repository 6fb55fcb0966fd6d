"""Plans and their checkpoints: create, show, list, change; reach, approve, reject.

Source: RFC-0012; RFC-0026 §2 rule 4; API.md §7, "plans, tasks". The published client reads a list of plans as a bare
array.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from bot.web.api.auth import Agent, Caller, KeyedRoute, Operator, Served, Services
from bot.web.api.paging import IdempotencyKey, IfMatch, Limit, Offset, once, replayed, replied, version
from bot.web.api.replies import BODY, ETAG, refusals, reply
from bot.web.api.suspensions import Id
from bot.web.openintent.plan_bodies import (
    ApprovalBody,
    CheckpointBody,
    CheckpointReply,
    NewPlanBody,
    PlanBody,
    PlanList,
    PlanReply,
    checkpoint_json,
    plan_json,
)
from core.domain.people import Actor
from core.domain.reception import Reception, accepted
from core.idempotency import Replayed
from core.openintent.containers.plans import ShownCheckpoint, ShownPlan
from core.openintent.domain.checkpoint import CheckpointAnswer

routes = APIRouter(route_class=KeyedRoute, tags=["plans"])

# --- Plans ------------------------------------------------------------------------------------------------------------


@routes.post(
    "/plans",
    summary="Make a plan of tasks",
    responses={200: {"model": PlanReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: NewPlanBody, key: IdempotencyKey = None
) -> Response:
    """It begins as `draft` (RFC-0012)."""
    again = await once(request, actor, key, _with_etag)
    made = await services.openintent.plans.create(body.intent_id, body.change(), actor, again)
    return replied(made, _with_etag)


@routes.get(
    "/plans/{plan_id}",
    summary="Show a plan and how far it has come",
    responses={200: {"model": PlanReply, "headers": ETAG}, **refusals(404, 422)},
)
async def show(services: Served, plan_id: Id, actor: Caller) -> Response:
    """`progress` is worked out when it is read, and names the tasks that wait for a person."""
    return _with_etag(await services.openintent.plans.get(plan_id, actor))


@routes.patch(
    "/plans/{plan_id}",
    summary="Move a plan, add tasks, or change what it says",
    responses={200: {"model": PlanReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428)},
)
async def change(services: Served, plan_id: Id, actor: Agent, body: PlanBody, if_match: IfMatch) -> Response:
    """Moves that RFC-0012 does not know are 409."""
    return _with_etag(
        await services.openintent.plans.change(plan_id, body.change(body.state), actor, version(if_match))
    )


@routes.get(
    "/intents/{intent_id}/plans",
    summary="The plans of an intent, oldest first",
    responses={200: {"model": PlanList}, **refusals(404, 422)},
)
async def page(
    services: Served,
    intent_id: Id,
    actor: Caller,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """Each with its progress."""
    found = await services.openintent.plans.of_intent(intent_id, actor, limit=limit, offset=offset)
    return reply([plan_json(one) for one in found])


def _with_etag(shown: ShownPlan) -> Response:
    return reply(plan_json(shown), 200, {"ETag": f'"{shown.plan.version}"'})


# --- Checkpoints ------------------------------------------------------------------------------------------------------


@routes.post(
    "/plans/{plan_id}/checkpoints",
    summary="Come to a checkpoint; ask for approval if it needs that",
    responses={200: {"model": CheckpointReply}, **refusals(*BODY, 403, 404, 409, 429)},
)
async def reach(
    services: Served, request: Request, plan_id: Id, actor: Agent, body: CheckpointBody, key: IdempotencyKey = None
) -> Response:
    """If `requires_approval`, the plan's intent is suspended with a question to approve. If somebody already waits
    there, 409 `already_suspended`."""
    with services.running.tracing.asking(request.headers) as span:
        again = await once(request, actor, key, _reached)
        made = await services.openintent.checkpoints.make(plan_id, body.wanted(), actor, span.traceparent, again)
        if not isinstance(made, Replayed) and made.asked is not None:
            span.asked(made.asked)
    return replied(made, _reached)


@routes.post(
    "/checkpoints/{checkpoint_id}/approve",
    summary="Approve a checkpoint: answer its question",
    responses={200: {"model": CheckpointReply}, **refusals(*BODY, 403, 404, 409)},
)
async def approve(
    services: Served,
    request: Request,
    checkpoint_id: Id,
    actor: Operator,
    body: ApprovalBody,
    key: IdempotencyKey = None,
) -> Response:
    """The same as answering its question with `approve`, with the same checks."""
    return await _judge(services, request, checkpoint_id, CheckpointAnswer.APPROVE, actor, body, key)


@routes.post(
    "/checkpoints/{checkpoint_id}/reject",
    summary="Reject a checkpoint: answer its question",
    responses={200: {"model": CheckpointReply}, **refusals(*BODY, 403, 404, 409)},
)
async def reject(
    services: Served,
    request: Request,
    checkpoint_id: Id,
    actor: Operator,
    body: ApprovalBody,
    key: IdempotencyKey = None,
) -> Response:
    """The same as answering its question with `reject`, with the same checks."""
    return await _judge(services, request, checkpoint_id, CheckpointAnswer.REJECT, actor, body, key)


async def _judge(
    services: Services,
    request: Request,
    checkpoint_id: str,
    verdict: CheckpointAnswer,
    actor: Actor,
    body: ApprovalBody,
    key: str | None,
) -> Response:
    checkpoint = await services.openintent.checkpoints.get(checkpoint_id, actor)

    def judged(done: Reception) -> Response:
        return _reached(ShownCheckpoint(checkpoint, accepted(done)))

    again = await once(request, actor, key, judged)
    reason = body.reason or None
    done = await services.openintent.checkpoints.answer(checkpoint, verdict, actor, reason, body.responded_by, again)
    return replayed(done) if isinstance(done, Replayed) else judged(done)


def _reached(shown: ShownCheckpoint) -> Response:
    return reply(checkpoint_json(shown))
