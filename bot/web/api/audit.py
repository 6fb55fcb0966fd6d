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
    """How many lines were read."""
    begun: bool
    """Whether the first line, which says what the file is, was read."""
    part: bool
    """Whether the file is a part of the log, by intent or by time."""
    ended: bool
    """Whether the last line was read."""
    logs: Count
    """How many intents' logs were read."""
    events: Count
    """How many events were read."""
    intent_id: Annotated[str, Field(max_length=255)] | None
    """The intent whose log is being read; `null` between two."""
    position: Count
    """The place of the last event in that log, from 1."""
    mac: MacOrNone
    """The MAC of that event, in hexadecimal; empty before the first."""
    length: Count | None
    """How long that log should be; `null` if the file does not say."""
    head_mac: MacOrNone | None
    """The MAC of that log's last event; `null` if the file does not say."""

    def progress(self) -> Progress:
        return Progress(**self.model_dump())


class FileBody(Strict):
    """The next lines of an export. ``sha256`` is the digest of all lines before the last, sent along with that one."""

    model_config = ConfigDict(strict=True)

    lines: Annotated[list[Line], Field(max_length=1000)]
    """The next lines, in order."""
    progress: ProgressBody | None = None
    """What the reply to the lines before said; left out for the first ones."""
    sha256: Mac | None = None
    """The digest of all lines but the last, in hexadecimal. Sent with the last line."""


class BrokenReply(Open):
    """The first broken link. ``id`` is the event's, where there is one; ``line`` the number of a file's line."""

    fault: Fault
    """What does not hold."""
    intent_id: str | None
    """In whose log; `null` if it is about the file."""
    position: int | None
    """The place in that log, from 1."""
    id: str | None
    """The event's id, if there is one."""
    line: int | None
    """The line of the file, from 1; `null` when the database is checked."""


class CheckedReply(Open):
    """How many intents and events were looked at this time, and what is broken, if anything is."""

    intents: int
    """How many logs were checked this time."""
    events: int
    """How many events were checked this time."""
    first_broken: BrokenReply | None
    """The first place that does not hold; `null` if all of it does."""
    next_cursor: str | None
    """What to send as `cursor` to go on; `null` at the end."""


class FileReply(Open):
    """How far the file has been checked, and what is broken."""

    first_broken: BrokenReply | None
    """The first place that does not hold; `null` if all of it does."""
    progress: ProgressBody
    """How far it is. Send it along with the next lines."""


def broken_json(broken: Broken | None) -> dict[str, object] | None:
    return None if broken is None else asdict(broken)


VERIFY_PATH = "/audit/verify"
LARGEST_PART = 5 * 1024 * 1024
"""Of a file to check: one line of it holds an event, which may be as large as a request and is quoted once more."""

JSON_LINES = "application/x-ndjson"
_LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {JSON_LINES: {}}, "description": "JSON Lines; the last says that it is the last."}
}
IntentId = Annotated[
    str | None, Query(min_length=1, max_length=255, pattern=TEXT, description="Only the log of this intent.")
]


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
    since: Annotated[Instant | None, Query(description="Only events from this instant on.")] = None,
    until: Annotated[Instant | None, Query(description="Only events before this instant.")] = None,
) -> StreamingResponse:
    """Check it with `handraise audit verify FILE`, or `POST /audit/verify`. Without filters it is the whole log."""
    lines = await services.running.audit.export(Wanted(intent_id, since, until))
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
    """Begin without `cursor`, and go on with `next_cursor` until it is `null`."""
    checked = await services.running.audit.check(cursor)
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
    """Send an export in parts of at most 1,000 lines and 5 MiB, each with the `progress` of the reply before."""
    before = Progress() if body.progress is None else body.progress.progress()
    progress, broken = await asyncio.to_thread(services.running.audit.check_file, before, body.lines, body.sha256)
    return reply({"first_broken": broken_json(broken), "progress": asdict(progress)})
