"""Intents: create, get, list, status, state patches, events.

The published OpenIntent client (0.17) breaks on event types that it does not know, so the list of those it knows is
here too. Source: RFC-0001; API.md §7.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from bot.web.api import intent_replies
from bot.web.api.auth import Agent, Caller, KeyedRoute, Served, Services
from bot.web.api.paging import TEXT, IdempotencyKey, IfMatch, Instant, Limit, Offset, once, replied, version
from bot.web.api.replies import BODY, ETAG, refusals, reply
from bot.web.api.suspensions import Id
from bot.web.openintent import intent_bodies
from bot.web.openintent.client_records import parse_record, take_record
from core.domain.intent import IntentStatus
from core.domain.people import Actor
from core.domain.vocabulary import Event
from core.openintent.intents.intents import NewIntent, Shown

_KNOWN = """
access_expired access_granted access_request_approved access_request_denied access_requested access_revoked
added_to_portfolio agent.dead agent.identity.challenge_issued agent.identity.registered agent.identity.revoked
agent.identity.rotated agent.identity.verified agent.lifecycle agent.registered agent.status_changed
agent_assigned agent_unassigned arbitration_requested attachment_added channel.closed channel.created
channel.message comment constraint_added constraint_removed coordinator.decision coordinator.escalation_resolved
coordinator.failed_over coordinator.guardrails_updated coordinator.handoff coordinator.heartbeat
coordinator.paused coordinator.plan_overridden coordinator.replaced coordinator.resumed coordinator.stalled
coordinator.unresponsive credential.created credential.expired credential.revoked credential.rotated
decision_recorded dependency_added dependency_removed engagement.decision failure_recorded
federation.budget_warning federation.callback federation.completed federation.dispatched federation.failed
federation.received governance.approval_denied governance.approval_enforced governance.approval_granted
governance.policy_removed governance.policy_set governance.violation grant.created grant.delegated grant.expired
grant.resumed grant.revoked grant.suspended intent.resumed intent.suspended intent.suspension_escalated
intent.suspension_expired intent.suspension_renotified intent_created lease_acquired lease_released
llm_request_completed llm_request_failed llm_request_started log.checkpoint.anchored log.checkpoint.created
memory.archived memory.created memory.deleted memory.evicted memory.expired memory.updated plan.activated
plan.checkpoint_approved plan.checkpoint_reached plan.checkpoint_rejected plan.completed plan.created
plan.failed plan.paused plan.resumed portfolio.member_resumed portfolio.member_suspended portfolio_created
removed_from_portfolio state_patched status_changed stream_cancelled stream_chunk stream_completed
stream_started task.blocked task.cancelled task.claimed task.completed task.created task.delegated
task.escalated task.failed task.progress task.ready task.retrying task.skipped task.started task.unblocked
tool.denied tool.invoked tool_call_completed tool_call_failed tool_call_started trigger.cascade_limit
trigger.fired trigger.namespace_blocked trigger.skipped
"""
EVENT_TYPES = frozenset(_KNOWN.split())
"""Those of the published client."""

routes = APIRouter(route_class=KeyedRoute, tags=["intents"])


@routes.post(
    "/intents",
    status_code=201,
    summary="Create an intent",
    responses={201: {"model": intent_replies.IntentReply, "headers": ETAG}, **refusals(*BODY, 403, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: intent_bodies.IntentBody, key: IdempotencyKey = None
) -> Response:
    """Made as `draft` unless `status` says `active`. The caller's key owns it (RFC-0001)."""
    made = await services.openintent.intents.create(new_intent(body), actor, await once(request, actor, key, created))
    return replied(made, created)


@routes.get(
    "/intents",
    summary="List intents, newest first",
    responses={200: {"model": intent_replies.IntentPage}, **refusals(422)},
)
async def page(
    services: Served,
    actor: Caller,
    status: Annotated[
        Literal["draft", "active", "blocked", "suspended_awaiting_input", "completed", "abandoned"] | None,
        Query(description="Only those that stand there."),
    ] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """Agents see the intents that they own or are members of, operators and admins all of them."""
    found = await services.openintent.intents.page(actor, status=status, limit=limit, offset=offset)
    return reply(intent_replies.IntentPage(intents=[intent_replies.intent_json(shown) for shown in found]))


@routes.get(
    "/intents/{intent_id}",
    summary="Show an intent, with the record of its latest suspension in state._suspension",
    responses={200: {"model": intent_replies.IntentReply, "headers": ETAG}, **refusals(404, 422)},
)
async def show(services: Served, intent_id: Id, actor: Caller) -> Response:
    """The mirror of the record is what the published client decides by."""
    return with_etag(await services.openintent.intents.get(intent_id, actor))


@routes.post(
    "/intents/{intent_id}/status",
    summary="Change an intent's status",
    responses={200: {"model": intent_replies.IntentReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428)},
)
async def change_status(
    services: Served, intent_id: Id, actor: Agent, body: intent_bodies.StatusBody, if_match: IfMatch
) -> Response:
    """An intent with an unmet dependency becomes `blocked` instead of `active`. While it waits for a person, only an
    admin may abandon it; all else is 409 (RFC-0025 §2)."""
    wanted, expected = IntentStatus(body.status), version(if_match)
    if wanted is IntentStatus.SUSPENDED:
        await services.openintent.client_steps.suspend(intent_id, actor, expected, body.reason)
        return with_etag(await services.openintent.intents.get(intent_id, actor))
    if wanted is IntentStatus.ABANDONED and await _abandoned_while_it_waits(
        services, intent_id, actor, expected, body.reason
    ):
        return with_etag(await services.openintent.intents.get(intent_id, actor))
    shown = await services.openintent.intents.change_status(intent_id, wanted, actor, expected, reason=body.reason)
    return with_etag(shown)


async def _abandoned_while_it_waits(
    services: Services, intent_id: str, by: Actor, expected: int, reason: str | None
) -> bool:
    """An admin may give up what waits: for an answer, or for its record."""
    given_up = await services.asking.engine.abandon(intent_id, by, expected, reason)
    return given_up or await services.openintent.client_steps.abandon(intent_id, by, expected, reason)


@routes.post(
    "/intents/{intent_id}/state",
    summary="Patch an intent's state; the published client's record there opens its suspension",
    responses={200: {"model": intent_replies.IntentReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428, 429)},
)
async def change_state(
    services: Served, intent_id: Id, actor: Agent, body: intent_bodies.StateBody, if_match: IfMatch
) -> Response:
    """Send `patches` or a whole `state`. If the intent waits for its record, the patch that sets `_suspension` opens
    the question, as the published client does it."""
    body.one_of()
    expected = version(if_match)
    if body.patches is not None:
        patches = [patch.patch() for patch in body.patches]
        taken = take_record(patches)
        if taken is not None and await services.openintent.client_steps.awaits_record(intent_id, actor):
            value, others, path = taken
            await services.openintent.client_steps.open(intent_id, parse_record(value, path), others, actor, expected)
            return with_etag(await services.openintent.intents.get(intent_id, actor))
        return with_etag(await services.openintent.intents.patch_state(intent_id, patches, actor, expected))
    return with_etag(await services.openintent.intents.replace_state(intent_id, body.state or {}, actor, expected))


@routes.get(
    "/intents/{intent_id}/events",
    summary="The event log of an intent, oldest first",
    responses={200: {"model": intent_replies.EventPage}, **refusals(404, 422)},
)
async def events(
    services: Served,
    request: Request,
    intent_id: Id,
    actor: Caller,
    event_type: Annotated[
        str | None, Query(max_length=200, pattern=TEXT, description="Only events of this type.")
    ] = None,
    since: Annotated[Instant | None, Query(description="Only events from this instant on.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many events at most.")] = 200,
) -> Response:
    """Under `/api/v1` only types that the published client knows: it breaks on any other."""
    types = _types(event_type, request.url.path)
    found = await services.openintent.intents.events(intent_id, actor, types=types, since=since, limit=limit)
    return reply(intent_replies.EventPage(events=[intent_replies.event_json(line) for line in found]))


@routes.post(
    "/intents/{intent_id}/events",
    summary="Add an event of your own to the log",
    responses={200: {"model": intent_replies.EventReply}, **refusals(*BODY, 403, 404)},
)
async def post_event(services: Served, intent_id: Id, actor: Agent, body: intent_bodies.EventBody) -> Response:
    """For types of your own. The published client's `intent.suspended`, `intent.suspension_renotified` and
    `intent.suspension_escalated` are acknowledged; the server's own events count."""
    event = Event(body.event_type, body.payload or {}, actor.identity)
    return reply(intent_replies.event_json(await services.openintent.intents.post_event(intent_id, event, actor)))


def _types(wanted: str | None, path: str) -> list[str] | None:
    """Under ``/api/v1`` only types that the published client knows: it fails on the whole list otherwise."""
    if not path.startswith("/api/"):
        return None if wanted is None else [wanted]
    return sorted(EVENT_TYPES if wanted is None else EVENT_TYPES & {wanted})


def new_intent(body: intent_bodies.IntentBody) -> NewIntent:
    return NewIntent(
        title=body.title,
        description=body.description or "",
        state=body.state or {},
        constraints=body.constraints or {},
        confidence=body.confidence or 0.0,
        active=body.status == "active",
        parent_id=body.parent_intent_id,
        depends_on=tuple(body.depends_on or ()),
        governance_policy=body.governance_policy,
    )


def created(shown: Shown) -> Response:
    return with_etag(shown, 201)


def with_etag(shown: Shown, status: int = 200) -> Response:
    return reply(intent_replies.intent_json(shown), status, {"ETag": f'"{shown.intent.version}"'})
