"""The streams that the published OpenIntent client (0.17) subscribes to by itself, in its dialect.

It connects again without a pause after anything but 200, so that a stream stays open even where there is nothing to
say, and a refusal takes its time. Source: API.md §7; facts on OpenIntent §2, §3; docs/decisions/0038.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response, StreamingResponse

from bot.web.api import replies
from bot.web.api.auth import AgentName, Caller, KeyedRoute, Served, Services, while_valid
from bot.web.api.responses import refusals
from bot.web.api.streams import (
    AT_ONCE,
    SSE,
    Cursor,
    LastEventId,
    first_cursor,
    frame,
    frames,
    silent_frames,
    stream,
)
from bot.web.api.suspensions import Id
from core.domain import vocabulary
from core.domain.people import Actor, Role, canonical
from core.errors import NotFound, envelope
from core.hub import EVERYTHING
from core.intents import STATE_PATCHED, STATUS_CHANGED
from core.store.event_log import Following, Logged

REFUSED_AFTER_SECONDS = 1.0
"""How long a client that may not read a stream waits for that; it would ask 44 times a second."""
_COME_AGAIN = "30"

_STATUS: Final = frozenset(
    {STATUS_CHANGED, vocabulary.SUSPENDED, vocabulary.RESUMED, vocabulary.EXPIRED, vocabulary.CANCELLED}
)
"""After which an intent's status may be another one."""

routes = APIRouter(route_class=KeyedRoute, tags=["streams"])


@routes.get(
    "/agents/{agent_id}/subscribe",
    summary="What happens to an agent's intents, for the OpenIntent client",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(403, 422)},
)
async def one_agent(
    services: Served, request: Request, agent_id: AgentName, actor: Caller, last_event_id: LastEventId = None
) -> Response:
    own = agent_id == actor.key or canonical(agent_id) == actor.identity
    if not (own or actor.has(Role.ADMIN)):
        await asyncio.sleep(REFUSED_AFTER_SECONDS)
        refusal = envelope("forbidden", "Only this agent itself and admins may read its stream.")
        return JSONResponse(refusal, 403, headers={"Retry-After": _COME_AGAIN})

    creator = actor.key if own and actor.key is not None else agent_id

    async def look(cursor: Cursor) -> Following:
        return await services.books.following_creator(cursor, creator, AT_ONCE)

    async def written(line: Logged) -> str:
        return await _written(services, actor, line)

    start = await first_cursor(services, last_event_id)
    return stream(frames(services, while_valid(request), EVERYTHING, look, written, start))


@routes.get(
    "/portfolios/{portfolio_id}/subscribe",
    summary="What happens in a portfolio: nothing yet",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(422)},
)
async def one_portfolio(services: Served, request: Request, portfolio_id: Id, _actor: Caller) -> StreamingResponse:
    return stream(silent_frames(services, while_valid(request)))


async def _written(services: Services, actor: Actor, line: Logged) -> str:
    """The client drops whatever else there is, each with a traceback in its log."""
    if line.type not in {*_STATUS, STATE_PATCHED}:
        return ""
    try:
        intent = (await services.intents.get(line.intent_id, actor)).intent
    except NotFound:  # it has left the database since
        return ""
    event: Mapping[str, object] = replies.event_json(line)
    if line.type == STATE_PATCHED:
        return frame(line, "STATE_CHANGED", {**event, "old_state": {}, "new_state": _at_paths(intent.state, line)})
    now = intent.status.value  # which is what an event of a suspension has led to
    changed = {"old_status": line.payload.get("from"), "new_status": line.payload.get("to", now)}
    return frame(line, "STATUS_CHANGED", {**event, **changed})


def _at_paths(state: Mapping[str, JsonValue], line: Logged) -> dict[str, JsonValue]:
    """What stands now at the keys that were changed, ``null`` where nothing does. The client looks at the keys."""
    paths = line.payload.get("paths")
    changed = [str(path).strip("/").partition("/")[0] for path in paths] if isinstance(paths, list) else []
    return {key: state.get(key) for key in changed}
