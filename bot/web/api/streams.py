"""Events as they happen, over SSE: ours, and those of the published OpenIntent client (0.17) in its dialect.

``id:`` is a cursor into the log: whoever reconnects with ``Last-Event-ID`` goes on right behind it. The first one has
no event: it says where the stream begins. The published client subscribes by itself. It connects again without a pause
after anything but 200, so that a refusal takes its time.

Source: API.md §5, §7; the WHATWG's server-sent events; facts on OpenIntent §2, §3; docs/decisions/0038.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response, StreamingResponse

from bot.web.api import intent_replies
from bot.web.api.auth import AgentName, Caller, Handler, KeyedRoute, Served, Services, while_valid
from bot.web.api.replies import refusals
from bot.web.api.suspensions import Id
from bot.web.errors import error_body, status_of
from core.domain import vocabulary
from core.domain.people import Actor, Role
from core.domain.vocabulary import STATUS_CHANGED
from core.errors import InvalidRequest, NotFound, Unauthorized
from core.hub import EVERYTHING, Wakeup, first_of
from core.openintent.intents.intent_leases import LEASE_ENDS
from core.openintent.intents.intents import STATE_PATCHED
from core.openintent.intents.members import AGENT_ASSIGNED
from core.store.event_log import Following, Logged

HEARTBEAT_SECONDS = 15
_CATCH_UP_SECONDS = 0.2
"""How soon to look again for lines that an unfinished transaction still holds back (PostgreSQL); doubling, up to
:data:`_LONGEST_CATCH_UP_SECONDS`, as long as it does."""

_LONGEST_CATCH_UP_SECONDS = 3.0

AT_ONCE = 200
STILL_HERE = ": still here\n\n"
Cursor = tuple[int, int]
LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=60,
        json_schema_extra={"pattern": r"^\s*\d{1,18}-\d{1,18}\s*$"},
        description="The id of the last event that you have: the stream goes on behind it. From now on without one.",
    ),
]
SSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}
}


REFUSED_AFTER_SECONDS = 1.0
_COME_AGAIN = "30"


class UnhurriedRoute(KeyedRoute):
    """For streams that the published client opens: whom it refuses, it refuses after a second.

    That client connects again at once whatever it is told, 44 times a second. Its key may have been revoked, or what it
    asks for may be nothing that it finds.
    """

    def get_route_handler(self) -> Handler:
        keyed = super().get_route_handler()

        async def unhurried(request: Request) -> Response:
            try:
                return await keyed(request)
            except (NotFound, Unauthorized) as refusal:
                await asyncio.sleep(REFUSED_AFTER_SECONDS)
                body = error_body(refusal, request.url.path)
                return JSONResponse(body, status_of(refusal), headers={"Retry-After": _COME_AGAIN})

        return unhurried


routes = APIRouter(route_class=KeyedRoute, tags=["streams"])
client_routes = APIRouter(route_class=UnhurriedRoute, tags=["streams"])


@routes.get(
    "/events/stream",
    summary="Every event that the caller may read",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(422)},
)
async def everything(
    services: Served, request: Request, actor: Caller, last_event_id: LastEventId = None
) -> StreamingResponse:
    """Server-sent events. Reconnect with `Last-Event-ID`, and no event is skipped or repeated."""
    return await _stream(services, request, actor, None, last_event_id)


@client_routes.get(
    "/intents/{intent_id}/subscribe",
    summary="The events of one intent",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(404, 422)},
)
async def one_intent(
    services: Served, request: Request, intent_id: Id, actor: Caller, last_event_id: LastEventId = None
) -> StreamingResponse:
    """Server-sent events. Reconnect with `Last-Event-ID`, and no event is skipped or repeated."""
    await services.openintent.intents.check(intent_id, actor)
    return await _stream(services, request, actor, intent_id, last_event_id)


async def _stream(
    services: Services, request: Request, actor: Actor, intent_id: str | None, last: str | None
) -> StreamingResponse:
    async def look(cursor: Cursor) -> Following:
        return await services.asking.client_queries.following(cursor, actor, intent_id=intent_id, limit=AT_ONCE)

    start = await first_cursor(services, last)
    return stream(frames(services, while_valid(request), intent_id or EVERYTHING, look, _written, start))


def stream(of: AsyncIterator[str]) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(of, media_type="text/event-stream", headers=headers)


async def first_cursor(services: Services, last: str | None) -> Cursor:
    """Behind the event with the id ``last``; from now on without one."""
    queries = services.asking.client_queries
    return await queries.newest_cursor() if last is None else await queries.known_cursor(parse_cursor(last))


async def frames(
    services: Services,
    validity: AbstractContextManager[Wakeup],
    topic: str,
    look: Callable[[Cursor], Awaitable[Following]],
    written: Callable[[Logged], Awaitable[str]],
    cursor: Cursor,
) -> AsyncIterator[str]:
    """Until the server stops, or the caller's key is not valid any more. ``written`` is one event as SSE, empty for one
    that this stream leaves out."""
    # An id without data is no event, but whoever is cut off before the first event goes on behind it.
    yield f": connected\nid: {_cursor_text(cursor)}\n\n"
    catch_up = _CATCH_UP_SECONDS
    with validity as gone, services.running.hub.subscribe(topic) as news:
        while not (services.running.closing.is_set() or gone.is_set()):
            news.clear()
            found = await look(cursor)
            for line in found.lines:
                if text := await written(line):
                    yield text
            cursor = found.reached
            if found.is_cut:
                continue
            catch_up = min(catch_up * 2, _LONGEST_CATCH_UP_SECONDS) if found.held_back else _CATCH_UP_SECONDS
            patience = catch_up if found.held_back else HEARTBEAT_SECONDS
            if not await first_of(news, services.running.closing, gone, patience=patience):
                yield STILL_HERE


async def _written(line: Logged) -> str:
    return frame(line, line.type, intent_replies.event_json(line))


def frame(line: Logged, name: str, data: Mapping[str, object]) -> str:
    """One event as SSE."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"id: {_cursor_text(line.cursor)}\nevent: {name}\ndata: {body}\n\n"


def _cursor_text(cursor: Cursor) -> str:
    return f"{cursor[0]}-{cursor[1]}"


def parse_cursor(text: str) -> Cursor:
    """Raises :class:`InvalidRequest` for an id that we did not send."""
    transaction, dash, seq = text.strip().partition("-")
    if not (dash and _is_number(transaction) and _is_number(seq)):
        raise InvalidRequest("Last-Event-ID is not an id of this stream.", path="Last-Event-ID")
    return int(transaction), int(seq)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


# --- For the OpenIntent client --------------------------------------------------------------------------------------

_STATUS: Final = frozenset(
    {STATUS_CHANGED, vocabulary.SUSPENDED, vocabulary.RESUMED, vocabulary.EXPIRED, vocabulary.CANCELLED}
)
"""After which an intent's status may be another one."""


@client_routes.get(
    "/agents/{agent_id}/subscribe",
    summary="What happens to an agent's intents, for the OpenIntent client",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(404, 422)},
)
async def one_agent(
    services: Served, request: Request, agent_id: AgentName, actor: Caller, last_event_id: LastEventId = None
) -> Response:
    """Server-sent events in the published client's own dialect. By the agent itself or an admin."""
    own = agent_id == actor.key or services.asking.responders.identity_of(agent_id) == actor.identity
    if not (own or (actor.has(Role.ADMIN) and services.running.keys.holder(agent_id) is not None)):
        raise NotFound("There is no such agent.")

    agent = actor.key if own and actor.key is not None else agent_id

    async def look(cursor: Cursor) -> Following:
        return await services.asking.client_queries.following_agent(cursor, agent, AT_ONCE)

    async def written(line: Logged) -> str:
        if line.type == AGENT_ASSIGNED:
            return _assignment(line, agent)
        return await _in_its_dialect(services, actor, line)

    start = await first_cursor(services, last_event_id)
    return stream(frames(services, while_valid(request), EVERYTHING, look, written, start))


@client_routes.get(
    "/portfolios/{portfolio_id}/subscribe",
    summary="What happens to the intents of a portfolio, for the OpenIntent client",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(404, 422)},
)
async def one_portfolio(
    services: Served, request: Request, portfolio_id: Id, actor: Caller, last_event_id: LastEventId = None
) -> Response:
    """Server-sent events in the published client's own dialect."""
    await services.openintent.portfolios.check(portfolio_id, actor)

    async def look(cursor: Cursor) -> Following:
        return await services.openintent.portfolios.following(cursor, portfolio_id, actor, AT_ONCE)

    async def written(line: Logged) -> str:
        return await _in_its_dialect(services, actor, line)

    start = await first_cursor(services, last_event_id)
    return stream(frames(services, while_valid(request), EVERYTHING, look, written, start))


def _assignment(line: Logged, agent: str) -> str:
    """Of the agent itself, not of others that its intents gain."""
    if line.payload.get("agent_id") != agent:
        return ""
    return frame(line, "AGENT_ASSIGNED", {**intent_replies.event_json(line), **line.payload})


async def _in_its_dialect(services: Services, actor: Actor, line: Logged) -> str:
    """The client drops whatever else there is, each with a traceback in its log."""
    if line.type in LEASE_ENDS:
        return frame(line, "LEASE_RELEASED", {**intent_replies.event_json(line), **line.payload})
    if line.type not in {*_STATUS, STATE_PATCHED}:
        return ""
    try:
        intent = (await services.openintent.intents.get(line.intent_id, actor)).intent
    except NotFound:  # it has left the database since
        return ""
    event: Mapping[str, object] = intent_replies.event_json(line)
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
