"""Events as they happen, over SSE. Source: API.md §5; the WHATWG's server-sent events.

``id:`` is a cursor into the log: whoever reconnects with ``Last-Event-ID`` goes on right behind it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.responses import StreamingResponse

from bot.web import replies
from bot.web.auth import Caller, KeyedRoute
from bot.web.services import Served, Services
from bot.web.shapes import refusals
from bot.web.suspensions import Id, first_of
from core.domain.people import Actor
from core.errors import InvalidRequest
from core.hub import EVERYTHING
from core.store.log import Logged

HEARTBEAT_SECONDS = 15
_CATCH_UP_SECONDS = 0.2
"""How soon to look again for lines that an unfinished transaction still holds back (PostgreSQL); doubling, up to
:data:`_LONGEST_CATCH_UP_SECONDS`, as long as it does."""

_LONGEST_CATCH_UP_SECONDS = 3.0

_AT_ONCE = 200
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=60)]
_SSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}
}


routes = APIRouter(route_class=KeyedRoute, tags=["streams"])


@routes.get(
    "/events/stream",
    summary="Every event that the caller may read",
    response_class=StreamingResponse,
    responses={**_SSE, **refusals(422)},
)
async def everything(services: Served, actor: Caller, last_event_id: LastEventId = None) -> StreamingResponse:
    return await _stream(services, actor, None, last_event_id)


@routes.get(
    "/intents/{intent_id}/subscribe",
    summary="The events of one intent",
    response_class=StreamingResponse,
    responses={**_SSE, **refusals(404, 422)},
)
async def one_intent(
    services: Served, intent_id: Id, actor: Caller, last_event_id: LastEventId = None
) -> StreamingResponse:
    await services.intents.check(intent_id, actor)
    return await _stream(services, actor, intent_id, last_event_id)


async def _stream(services: Services, actor: Actor, intent_id: str | None, last: str | None) -> StreamingResponse:
    start = await services.books.newest_cursor() if last is None else parse_cursor(last)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    frames = _frames(services, actor, intent_id, start)
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


async def _frames(
    services: Services, actor: Actor, intent_id: str | None, cursor: tuple[int, int]
) -> AsyncIterator[str]:
    yield ": connected\n\n"
    catch_up = _CATCH_UP_SECONDS
    with services.hub.subscribe(intent_id or EVERYTHING) as news:
        while not services.closing.is_set():
            news.clear()
            found = await services.books.following(cursor, actor, intent_id=intent_id, limit=_AT_ONCE)
            for line in found.lines:
                cursor = line.cursor
                yield frame(line)
            if len(found.lines) == _AT_ONCE:
                continue
            catch_up = min(catch_up * 2, _LONGEST_CATCH_UP_SECONDS) if found.held_back else _CATCH_UP_SECONDS
            if not await _something(services, news, catch_up if found.held_back else HEARTBEAT_SECONDS):
                yield ": still here\n\n"


async def _something(services: Services, news: asyncio.Event, patience: float) -> bool:
    """Wait for news, for ``patience`` seconds; whether there were any."""
    try:
        async with asyncio.timeout(patience):
            await first_of(news, services.closing)
    except TimeoutError:
        return False
    return True


def frame(line: Logged) -> str:
    """One event as SSE."""
    body = json.dumps(replies.event_json(line), ensure_ascii=False, separators=(",", ":"))
    return f"id: {line.cursor[0]}-{line.cursor[1]}\nevent: {line.type}\ndata: {body}\n\n"


def parse_cursor(text: str) -> tuple[int, int]:
    """Raises :class:`InvalidRequest` for an id that we did not send."""
    transaction, dash, seq = text.strip().partition("-")
    if not (dash and _is_number(transaction) and _is_number(seq)):
        raise InvalidRequest("Last-Event-ID is not an id of this stream.", path="Last-Event-ID")
    return int(transaction), int(seq)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
