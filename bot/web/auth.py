"""Who is calling: ``X-API-Key`` → an :class:`Actor` with its roles. Source: API.md §1."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader
from starlette.responses import Response

from bot.web.limits import StrictJsonRequest
from core.domain.people import Actor, Role
from core.errors import Forbidden, Unauthorized

KEY_HEADER = APIKeyHeader(name="X-API-Key", auto_error=False, description="The key of an agent, operator or admin.")


class Keys(Protocol):
    """Finds out whose key it is."""

    async def actor(self, api_key: str) -> Actor | None: ...


class KeyedRoute(APIRoute):
    """A route that knows who calls before it looks at anything else of the request, and then that the body is one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def keyed(request: Request) -> Response:
            request.state.actor = await authenticate(request)
            strict = StrictJsonRequest(request.scope, request.receive)
            if self.body_field is not None:
                await strict.json()
            return await handle(strict)

        return keyed


async def authenticate(request: Request) -> Actor:
    """Raises :class:`Unauthorized` for a missing or unknown key."""
    keys: Keys = request.app.state.keys
    given = request.headers.get("x-api-key")
    actor = await keys.actor(given) if given else None
    if actor is None:
        raise Unauthorized("A valid X-API-Key is needed.")
    return actor


async def _actor(request: Request, _documented: Annotated[str | None, Depends(KEY_HEADER)]) -> Actor:
    actor: Actor = request.state.actor
    return actor


Caller = Annotated[Actor, Depends(_actor)]
"""Anybody with a key. Dependencies are coroutines: plain functions would each cost a hop to a thread."""


def needs(*roles: Role) -> Any:
    """A dependency: the caller, who must hold one of ``roles`` (an admin holds them all)."""

    async def check(actor: Caller) -> Actor:
        if not any(actor.has(role) for role in roles):
            wanted = " or ".join(roles)
            raise Forbidden(f"This needs the role {wanted}.")
        return actor

    return Depends(check)


Agent = Annotated[Actor, needs(Role.AGENT)]
Operator = Annotated[Actor, needs(Role.OPERATOR)]
Admin = Annotated[Actor, needs(Role.ADMIN)]
