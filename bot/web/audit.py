"""The audit trail: export it, check it, check an export. For admins. Source: docs/audit.md."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from bot.web.audit_shapes import CheckedReply, FileBody, FileReply, broken_json
from bot.web.auth import Admin, KeyedRoute
from bot.web.paging import TEXT, Instant
from bot.web.replies import reply
from bot.web.services import Served
from bot.web.shapes import BODY, refusals
from core.exporting import Wanted
from core.trail_check import Progress

VERIFY_PATH = "/audit/verify"
LARGEST_PART = 5 * 1024 * 1024
"""Of a file to check: one line of it holds an event, which may be as large as a request and is quoted once more."""

JSON_LINES = "application/x-ndjson"
_LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {JSON_LINES: {}}, "description": "JSON Lines; the last says that it is the last."}
}
IntentId = Annotated[str | None, Query(min_length=1, max_length=255, pattern=TEXT)]


routes = APIRouter(route_class=KeyedRoute, tags=["audit"])


@routes.get(
    "/audit/export",
    summary="Every event with its MAC, as JSON Lines",
    response_class=StreamingResponse,
    responses={**_LINES, **refusals(403, 404, 422)},
)
async def export(
    services: Served,
    _actor: Admin,
    intent_id: IntentId = None,
    since: Instant | None = None,
    until: Instant | None = None,
) -> StreamingResponse:
    lines = await services.audit.export(Wanted(intent_id, since, until))
    return StreamingResponse(lines, media_type=JSON_LINES, headers={"Cache-Control": "no-store"})


@routes.get(
    VERIFY_PATH,
    summary="Check the next logs of the database, up to the first broken link",
    responses={200: {"model": CheckedReply}, **refusals(403, 422)},
)
async def verify(
    services: Served,
    _actor: Admin,
    cursor: Annotated[
        str | None, Query(min_length=1, max_length=255, pattern=TEXT, description="The `next_cursor` before.")
    ] = None,
) -> Response:
    checked = await services.audit.check(cursor)
    return reply(
        {
            "intents": checked.intents,
            "events": checked.events,
            "first_broken": broken_json(checked.broken),
            "next_cursor": checked.following,
        }
    )


@routes.post(
    VERIFY_PATH,
    summary="Check the next lines of an export, up to the first broken link",
    responses={200: {"model": FileReply}, **refusals(*BODY, 403)},
)
async def verify_file(services: Served, _actor: Admin, body: FileBody) -> Response:
    before = Progress() if body.progress is None else body.progress.progress()
    progress, broken = await asyncio.to_thread(services.audit.check_file, before, body.lines, body.sha256)
    return reply({"first_broken": broken_json(broken), "progress": asdict(progress)})
