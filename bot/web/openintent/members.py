"""The agents of an intent: its owner adds and removes members, which work on it as it does itself.

Source: RFC-0001; API.md §7, "Whose an intent is".
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from bot.web.api.auth import Agent, AgentName, Caller, KeyedRoute, Served
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.suspensions import Id
from bot.web.openintent import intent_bodies
from core.domain.wire import Instant, Open, reply_of

routes = APIRouter(route_class=KeyedRoute, tags=["agents of an intent"])


class IntentAgentReply(Open):
    """One member of an intent."""

    id: str
    """The membership's id."""
    intent_id: str
    """The intent."""
    agent_id: str
    """The name of the member's key."""
    role: str
    """What it does there."""
    assigned_at: Instant
    """When it was added."""


class IntentAgentPage(Open):
    """The members of an intent."""

    agents: list[IntentAgentReply]
    """The members, in the order in which they were added."""


class RemovedReply(Open):
    """The member is no longer one."""

    message: str
    """A sentence for people."""


@routes.get(
    "/intents/{intent_id}/agents",
    summary="The members of an intent, in the order in which they were added; its owner is created_by",
    responses={200: {"model": IntentAgentPage}, **refusals(404, 422)},
)
async def page(services: Served, intent_id: Id, actor: Caller) -> Response:
    """Members work on the intent as its owner does, but may not end it or change its members."""
    found = await services.openintent.members.of_intent(intent_id, actor)
    return reply(IntentAgentPage(agents=[reply_of(IntentAgentReply, one) for one in found]))


@routes.post(
    "/intents/{intent_id}/agents",
    summary="Add a member to an intent, or give one another role",
    responses={200: {"model": IntentAgentReply}, **refusals(*BODY, 403, 404)},
)
async def add(services: Served, intent_id: Id, actor: Agent, body: intent_bodies.IntentAgentBody) -> Response:
    """By the owner or an admin. A member may not answer the intent's questions."""
    member = await services.openintent.members.add(intent_id, body.agent_id, body.role, actor)
    return reply(reply_of(IntentAgentReply, member))


@routes.delete(
    "/intents/{intent_id}/agents/{agent_id}",
    summary="Remove a member from an intent; what it asked and holds elsewhere stays",
    responses={200: {"model": RemovedReply}, **refusals(403, 404, 422)},
)
async def remove(services: Served, intent_id: Id, agent_id: AgentName, actor: Agent) -> Response:
    """By the owner or an admin."""
    await services.openintent.members.remove(intent_id, agent_id, actor)
    return reply(RemovedReply(message="Agent removed from the intent."))
