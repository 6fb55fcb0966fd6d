"""Events as they happen, over SSE. Source: API.md §5; the WHATWG's server-sent events.

``id:`` is a cursor into the log: whoever reconnects with ``Last-Event-ID`` goes on right behind it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from starlette.responses import StreamingResponse

from bot.web.api import replies
from bot.web.api.auth import Caller, KeyedRoute, Served, Services, while_valid
from bot.web.api.responses import refusals
from bot.web.api.suspensions import Id, first_of
from core.domain.people import Actor
from core.errors import InvalidRequest
from core.hub import EVERYTHING
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
    Header(alias="Last-Event-ID", max_length=60, json_schema_extra={"pattern": r"^\s*\d{1,18}-\d{1,18}\s*$"}),
]
SSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}
}


routes = APIRouter(route_class=KeyedRoute, tags=["streams"])


@routes.get(
    "/events/stream",
    summary="Every event that the caller may read",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(422)},
)
async def everything(
    services: Served, request: Request, actor: Caller, last_event_id: LastEventId = None
) -> StreamingResponse:
    return await _stream(services, request, actor, None, last_event_id)


@routes.get(
    "/intents/{intent_id}/subscribe",
    summary="The events of one intent",
    response_class=StreamingResponse,
    responses={**SSE, **refusals(404, 422)},
)
async def one_intent(
    services: Served, request: Request, intent_id: Id, actor: Caller, last_event_id: LastEventId = None
) -> StreamingResponse:
    await services.intents.check(intent_id, actor)
    return await _stream(services, request, actor, intent_id, last_event_id)


async def _stream(
    services: Services, request: Request, actor: Actor, intent_id: str | None, last: str | None
) -> StreamingResponse:
    async def look(cursor: Cursor) -> Following:
        return await services.books.following(cursor, actor, intent_id=intent_id, limit=AT_ONCE)

    start = await first_cursor(services, last)
    return stream(frames(services, while_valid(request), intent_id or EVERYTHING, look, _written, start))


def stream(of: AsyncIterator[str]) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(of, media_type="text/event-stream", headers=headers)


async def first_cursor(services: Services, last: str | None) -> Cursor:
    """Behind the event with the id ``last``; from now on without one."""
    return await services.books.newest_cursor() if last is None else parse_cursor(last)


async def frames(
    services: Services,
    validity: AbstractContextManager[asyncio.Event],
    topic: str,
    look: Callable[[Cursor], Awaitable[Following]],
    written: Callable[[Logged], Awaitable[str]],
    cursor: Cursor,
) -> AsyncIterator[str]:
    """Until the server stops, or the caller's key is not valid any more. ``written`` is one event as SSE, empty for one
    that this stream leaves out."""
    yield ": connected\n\n"
    catch_up = _CATCH_UP_SECONDS
    with validity as gone, services.hub.subscribe(topic) as news:
        while not (services.closing.is_set() or gone.is_set()):
            news.clear()
            found = await look(cursor)
            for line in found.lines:
                cursor = line.cursor
                if text := await written(line):
                    yield text
            if len(found.lines) == AT_ONCE:
                continue
            catch_up = min(catch_up * 2, _LONGEST_CATCH_UP_SECONDS) if found.held_back else _CATCH_UP_SECONDS
            patience = catch_up if found.held_back else HEARTBEAT_SECONDS
            if not await _something(patience, news, services.closing, gone):
                yield STILL_HERE


async def silent_frames(services: Services, validity: AbstractContextManager[asyncio.Event]) -> AsyncIterator[str]:
    """Of what has no events: open as long as :func:`frames` would be."""
    yield ": connected\n\n"
    with validity as gone:
        while not (services.closing.is_set() or gone.is_set()):
            if not await _something(HEARTBEAT_SECONDS, services.closing, gone):
                yield STILL_HERE


async def _something(patience: float, *events: asyncio.Event) -> bool:
    """Wait for one of ``events``, for ``patience`` seconds; whether it came."""
    try:
        async with asyncio.timeout(patience):
            await first_of(*events)
    except TimeoutError:
        return False
    return True


async def _written(line: Logged) -> str:
    return frame(line, line.type, replies.event_json(line))


def frame(line: Logged, name: str, data: Mapping[str, object]) -> str:
    """One event as SSE."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"id: {line.cursor[0]}-{line.cursor[1]}\nevent: {name}\ndata: {body}\n\n"


def parse_cursor(text: str) -> Cursor:
    """Raises :class:`InvalidRequest` for an id that we did not send."""
    transaction, dash, seq = text.strip().partition("-")
    if not (dash and _is_number(transaction) and _is_number(seq)):
        raise InvalidRequest("Last-Event-ID is not an id of this stream.", path="Last-Event-ID")
    return int(transaction), int(seq)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
