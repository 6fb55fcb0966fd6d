"""Sessions, agents' default policies, callbacks, and the configuration that clients may read.

Source: API.md §3, §5; RFC-0026 §5.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, overload
from urllib.parse import urlsplit, urlunsplit

from fastapi import APIRouter, Query, Response

from bot.web.api import requests
from bot.web.api.auth import Agent, AgentName, Caller, KeyedRoute, Served
from bot.web.api.openapi import DescribedRoute
from bot.web.api.paging import Cursor, Limit, cursor_after, place
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.suspensions import Id
from bot.web.api.timeline import callback_status
from core.domain.people import Actor
from core.domain.policy import RetryPolicyFields
from core.domain.wire import Instant, JsonObject, Open, reply_of
from core.store.outbox import Row
from core.store.sessions import Session

PROTOCOL_VERSION = "0.1"


CallbackStatus = Literal["pending", "delivered", "refused", "dead"]

routes = APIRouter(route_class=KeyedRoute, tags=["sessions and callbacks"])


class SessionReply(Open):
    """A session, and where it is called back."""

    session_id: str
    """The session's id, as the agent named it."""
    owner: str
    """The key that registered it."""
    callback_url: str | None
    """Where it is called back; `null` for nowhere. Others than the owner see it without its query."""
    metadata: JsonObject
    """What the agent attached."""
    created_at: Instant
    """When it was first registered."""
    updated_at: Instant
    """When it last changed."""


def session_json(session: Session, by: Actor) -> SessionReply:
    url = seen_by(by, session.owner, session.callback_url)
    return reply_of(SessionReply, session, session_id=session.id, callback_url=url)


@overload
def seen_by(by: Actor, owner: str, url: str) -> str: ...
@overload
def seen_by(by: Actor, owner: str, url: str | None) -> str | None: ...
def seen_by(by: Actor, owner: str, url: str | None) -> str | None:
    """A callback's URL may hold a secret of the agent's: whoever else may read it sees no query."""
    if url is None or by.key == owner:
        return url
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


class CallbackReply(Open):
    """``suspension_id`` is null for what is for an agent alone: that it has taken over (RFC-0010)."""

    id: str
    """The callback's id, which is also its `webhook-id`."""
    suspension_id: str | None
    """The question that it tells of; `null` if it tells an agent that it has taken over."""
    status: CallbackStatus
    """`refused`: the agent answered 410. `dead`: it never answered 2xx, and nobody tries any more."""
    tries: int
    """How often it was sent."""
    url: str | None
    """Where it goes. Others than the agent see it without its query."""
    type: str | None
    """The type in its body, such as `intent.resumed`."""
    reason: str | None
    """Why the last try failed, as a code such as `http_500`; `null` if none has."""
    created_at: Instant
    """When it was written down."""
    next_try_at: Instant | None
    """When it is sent next; `null` once it is settled."""
    settled_at: Instant | None
    """When it was delivered, refused or given up; `null` until then."""


def callback_json(row: Row, by: Actor) -> CallbackReply:
    """``status`` in the contract's words: a callback that is being sent is still pending."""
    body: Any = row.body or {}
    return reply_of(
        CallbackReply,
        row,
        status=callback_status(row),
        url=seen_by(by, body.get("key", ""), body.get("url")),
        type=body.get("body", {}).get("type"),
        next_try_at=row.due_at if row.settled_at is None else None,
    )


class CallbackPage(Open):
    """One page of callbacks."""

    items: list[CallbackReply]
    """The callbacks, newest first."""
    next_cursor: str | None
    """What to send as `cursor` for the next page; `null` on the last one."""


class AgentPolicyReply(Open):
    """An agent's default retry policy."""

    agent_id: str
    """The agent."""
    default_retry_policy: JsonObject
    """The fields that it has set; `{}` for none (RFC-0026 §5)."""


class SuspensionConfig(Open):
    """How this platform asks."""

    default_retry_policy: JsonObject | None
    """The platform's own policy, below the call's and the agent's; `null` for none."""


class EngagementConfig(Open):
    """Where the modes of RFC-0025 §7.2 begin and end here, each from 0 to 1."""

    autonomous_min_confidence: float
    """An agent this sure or surer may act by itself."""
    autonomous_max_risk: float
    """At this risk or less it may act by itself."""
    autonomous_min_reversibility: float
    """What can be undone this well may be done without asking."""
    require_input_below_confidence: float
    """Below this confidence a person has to decide."""
    require_input_above_risk: float
    """Above this risk a person has to decide."""
    defer_min_risk: float
    """From this risk on nothing is done at all."""
    defer_max_reversibility: float
    """What can be undone no better than this is not done at all."""


class ConfigReply(Open):
    """What clients may know of this server, without a key."""

    protocol_version: str
    """The version of OpenIntent that is spoken here."""
    suspension: SuspensionConfig
    """How this platform asks."""
    engagement: EngagementConfig
    """When it asks."""


@routes.put(
    "/sessions/{session_id}",
    summary="Register a session and where it is called back",
    responses={200: {"model": SessionReply}, **refusals(*BODY, 403)},
)
async def put_session(services: Served, session_id: Id, actor: Agent, body: requests.SessionBody) -> Response:
    """Questions with this `session_id` call back there, unless they name a URL of their own."""
    session = await services.asking.client_queries.put_session(
        session_id, actor, callback_url=body.callback_url, metadata=body.metadata or {}
    )
    return reply(session_json(session, actor))


@routes.get(
    "/sessions/{session_id}", summary="Show a session", responses={200: {"model": SessionReply}, **refusals(404, 422)}
)
async def get_session(services: Served, session_id: Id, actor: Caller) -> Response:
    """For the key that registered it, operators and admins."""
    return reply(session_json(await services.asking.client_queries.session(session_id, actor), actor))


@routes.put(
    "/agents/{agent_id}/default-retry-policy",
    summary="Replace an agent's default policy; {} clears it",
    responses={200: {"model": AgentPolicyReply}, **refusals(*BODY, 403)},
)
async def put_policy(services: Served, agent_id: AgentName, actor: Agent, body: RetryPolicyFields) -> Response:
    """It counts below the call's own policy and above the platform's, field by field (RFC-0026 §5). By the agent itself
    or an admin."""
    policy = body.model_dump(mode="json", exclude_none=True)
    await services.asking.client_queries.put_agent_policy(agent_id, policy, actor)
    return reply(AgentPolicyReply(agent_id=agent_id, default_retry_policy=policy))


@routes.get(
    "/agents/{agent_id}/default-retry-policy",
    summary="Show an agent's default policy",
    responses={200: {"model": AgentPolicyReply}, **refusals(404, 422)},
)
async def get_policy(services: Served, agent_id: AgentName, actor: Caller) -> Response:
    """`{}` if it has set none."""
    policy = dict(await services.asking.client_queries.agent_policy(agent_id, actor))
    return reply(AgentPolicyReply(agent_id=agent_id, default_retry_policy=policy))


@routes.get(
    "/callbacks",
    summary="List callbacks to agents, newest first",
    responses={200: {"model": CallbackPage}, **refusals(422)},
)
async def callbacks(
    services: Served,
    actor: Caller,
    status: Annotated[CallbackStatus | None, Query(description="Only callbacks that stand there.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Agents see their own, operators and admins all of them."""
    found = await services.asking.client_queries.callbacks(actor, status=status, before=place(cursor), limit=limit + 1)
    more = cursor_after(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    return reply(CallbackPage(items=[callback_json(row, actor) for row in found[:limit]], next_cursor=more))


@routes.post(
    "/callbacks/{callback_id}/redrive",
    summary="Send a dead or refused callback again, under the same id",
    responses={200: {"model": CallbackReply}, **refusals(404, 409, 422)},
)
async def redrive(services: Served, callback_id: Id, actor: Caller) -> Response:
    """Do this after the agent's endpoint works again. One that is still being sent is 409."""
    return reply(callback_json(await services.asking.client_queries.redrive(callback_id, actor), actor))


open_routes = APIRouter(route_class=DescribedRoute, tags=["configuration"])
"""What needs no key."""


@open_routes.get(
    "/server/config",
    summary="The platform's default policy and when to ask, for clients (RFC-0026 §5, RFC-0025 §7)",
    responses={200: {"model": ConfigReply}},
)
async def config(services: Served) -> Response:
    """Needs no key. The published client reads it when it starts."""
    suspension = SuspensionConfig(default_retry_policy=services.asking.platform_policy or None)
    engagement = reply_of(EngagementConfig, services.openintent.intents.thresholds)
    return reply(ConfigReply(protocol_version=PROTOCOL_VERSION, suspension=suspension, engagement=engagement))
