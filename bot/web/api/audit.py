"""The audit trail over HTTP: export it, check the database, check an export. For admins.

Source: docs/reference/audit.md.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field
from starlette.responses import StreamingResponse

from bot.web.api.auth import Admin, KeyedRoute, Served
from bot.web.api.paging import TEXT, Instant
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.requests import Strict
from core.audit.export import Wanted
from core.audit.verify import Count, Mac, MacOrNone, Progress
from core.domain.wire import Open
from core.store.chain import Broken, Fault

Line = Annotated[str, Field(description="One line of an export, as it stands there.")]


class ProgressBody(Strict):
    """How far a file has been checked; what one reply says is sent along with the next lines."""

    model_config = ConfigDict(strict=True)

    lines: Count
    begun: bool
    part: bool
    ended: bool
    logs: Count
    events: Count
    intent_id: Annotated[str, Field(max_length=255)] | None
    position: Count
    mac: MacOrNone
    length: Count | None
    head_mac: MacOrNone | None

    def progress(self) -> Progress:
        return Progress(**self.model_dump())


class FileBody(Strict):
    """The next lines of an export. ``sha256`` is the digest of all lines before the last, sent along with that one."""

    model_config = ConfigDict(strict=True)

    lines: Annotated[list[Line], Field(max_length=1000)]
    progress: ProgressBody | None = None
    sha256: Mac | None = None


class BrokenReply(Open):
    """The first broken link. ``id`` is the event's, where there is one; ``line`` the number of a file's line."""

    fault: Fault
    intent_id: str | None
    position: int | None
    id: str | None
    line: int | None


class CheckedReply(Open):
    """How many intents and events were looked at this time, and what is broken, if anything is."""

    intents: int
    events: int
    first_broken: BrokenReply | None
    next_cursor: str | None


class FileReply(Open):
    first_broken: BrokenReply | None
    progress: ProgressBody


def broken_json(broken: Broken | None) -> dict[str, object] | None:
    return None if broken is None else asdict(broken)


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
