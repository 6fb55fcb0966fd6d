"""Authentication: ``X-API-Key`` becomes an :class:`Actor` with its roles; and :class:`Services`, what routes work with.

``bot/wiring/composition.py`` fills the services. Source: API.md §1.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Protocol

from fastapi import Depends, Path, Request
from fastapi.security import APIKeyHeader
from starlette.responses import Response

from bot.config.changes import Changes
from bot.front.connections import vouch
from bot.front.limits import StrictJsonRequest
from bot.keys import KeyRing
from bot.observability.tracing import NO_TRACING, Tracing
from bot.web.api.openapi import DescribedRoute
from core.audit.check import Audit
from core.delivery.pause import Pausing
from core.domain.people import LONGEST_KEY_NAME, OWN_KEY, Actor, Role
from core.domain.wire import JsonObject
from core.engine.channel_views import ChannelViews
from core.engine.collaboration import Collaboration
from core.engine.engine import Engine
from core.engine.insights import Insights
from core.engine.queries import ClientQueries
from core.engine.quotas import Quotas
from core.engine.receipts import Receipts
from core.errors import Forbidden, Unauthorized
from core.hub import Hub, Wakeup
from core.openintent.containers.checkpoints import Checkpoints
from core.openintent.containers.claims import TaskClaims
from core.openintent.containers.coordinators import Coordinators
from core.openintent.containers.graph import Graphs
from core.openintent.containers.plans import Plans
from core.openintent.containers.portfolios import Portfolios
from core.openintent.containers.workflows import Workflows
from core.openintent.intents.client_steps import ClientSteps
from core.openintent.intents.intent_leases import IntentLeases
from core.openintent.intents.intents import Intents
from core.openintent.intents.members import Members
from core.openintent.intents.retrying import Retrying
from core.openintent.intents.subscriptions import Subscriptions
from core.openintent.intents.tasks import Tasks
from core.ports import Responders

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
"""Replies to a request."""


class KeyedRoute(DescribedRoute):
    """A route that knows who calls before it looks at anything else of the request, and then that the body is one."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def keyed(request: Request) -> Response:
            request.state.actor = await authenticate(request)
            strict = StrictJsonRequest(request.scope, request.receive)
            await strict.body()  # whoever leaves before the end of it has asked for nothing
            if self.body_field is not None:
                await strict.json()
            return await handle(strict)

        return keyed


async def authenticate(request: Request) -> Actor:
    """Raises :class:`Unauthorized` for a missing or unknown key."""
    keys: KeyRing = request.app.state.keys
    given = request.headers.get("x-api-key")
    actor = await keys.actor(given) if given else None
    if not given:
        raise Unauthorized("Send your API key in the header X-API-Key.")
    if actor is None:
        raise Unauthorized("This API key is not known here, or it has been revoked.")
    vouch(request.scope)
    return actor


def while_valid(request: Request) -> AbstractContextManager[Wakeup]:
    """For what stays open long after it was authenticated: an event that is set once the caller's key is revoked or
    has run out."""
    keys: KeyRing = request.app.state.keys
    return keys.watching(request.headers.get("x-api-key", ""))


class _Key(APIKeyHeader):
    """The caller, who must hold one of ``roles`` where there are any (an admin holds them all).

    It is a dependency and what the OpenAPI document says of keys in one: FastAPI takes a while for each of them.
    """

    def __init__(self, *roles: Role) -> None:
        about = "The key of an agent, operator or admin."
        super().__init__(name="X-API-Key", scheme_name="APIKeyHeader", auto_error=False, description=about)
        self._roles = roles

    async def __call__(self, request: Request) -> Actor:  # type: ignore[override]
        actor: Actor = request.state.actor
        if self._roles and not any(actor.has(role) for role in self._roles):
            wanted = " or ".join(self._roles)
            raise Forbidden(f"This needs the role {wanted}.")
        return actor


Caller = Annotated[Actor, Depends(_Key())]
"""Anybody with a key. Dependencies are coroutines: plain functions would each cost a hop to a thread."""


async def _agent_named(agent_id: Annotated[str, Path(min_length=1, max_length=LONGEST_KEY_NAME)], actor: Caller) -> str:
    return actor.key or actor.identity if agent_id == OWN_KEY else agent_id


AgentName = Annotated[str, Depends(_agent_named)]
"""The key that a path with ``{agent_id}`` names; ``me`` is the caller's own."""


Agent = Annotated[Actor, Depends(_Key(Role.AGENT))]
Operator = Annotated[Actor, Depends(_Key(Role.OPERATOR))]
Admin = Annotated[Actor, Depends(_Key(Role.ADMIN))]


class SignInLinkMaker(Protocol):
    """Makes links by which somebody signs in to the pages, once."""

    def issue_until(self, mail: str) -> tuple[str, datetime]:
        """The URL, and the instant from which it is worth nothing."""
        ...


class Reloader(Protocol):
    """Takes in what the configuration says now."""

    async def reload(self, by: str, *, force: bool = False) -> Changes:
        """Raises :class:`ConfigError`, and nothing has changed then. ``force`` takes in also what would leave no
        admin's key or nobody to ask."""
        ...


@dataclass(frozen=True, slots=True)
class AskingServices:
    """What asks people. ``platform_policy`` is ``suspension.default_retry_policy`` as it was configured."""

    engine: Engine
    channel_views: ChannelViews
    responders: Responders
    collaboration: Collaboration
    client_queries: ClientQueries
    receipts: Receipts
    quotas: Quotas
    insights: Insights
    platform_policy: JsonObject


@dataclass(frozen=True, slots=True)
class IntentServices:
    """What stands around a question: intents, what belongs to them, and what they stand in."""

    intents: Intents
    graphs: Graphs
    members: Members
    leases: IntentLeases
    tasks: Tasks
    claims: TaskClaims
    plans: Plans
    checkpoints: Checkpoints
    workflows: Workflows
    coordinators: Coordinators
    portfolios: Portfolios
    retrying: Retrying
    client_steps: ClientSteps
    subscriptions: Subscriptions


@dataclass(frozen=True, slots=True)
class RunningServices:
    """What runs the service itself. ``closing`` is set when the server stops, so that nobody waits past it.
    ``public_url`` is where the pages are."""

    hub: Hub
    pausing: Pausing
    audit: Audit
    keys: KeyRing
    links: SignInLinkMaker
    reloading: Reloader
    closing: Wakeup = field(default_factory=Wakeup)
    tracing: Tracing = NO_TRACING
    public_url: str = ""


@dataclass(frozen=True, slots=True)
class Services:
    """What the routes work with, by subject."""

    asking: AskingServices
    openintent: IntentServices
    running: RunningServices


async def _of_this_app(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Served = Annotated[Services, Depends(_of_this_app)]
"""The services of the application that a request has come to. The routes themselves belong to none: FastAPI takes a
while to make them, so they are made once."""
