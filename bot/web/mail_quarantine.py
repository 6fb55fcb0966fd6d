"""Mail that could not be read, for an admin to look at: a list, and each as it came. Source: docs/decisions/0019.

What is served is somebody else's bytes: as a file to keep, never as a page.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from bot.web.auth import Admin, KeyedRoute
from bot.web.paging import Cursor, Limit, cursor_after, place
from bot.web.replies import reply
from bot.web.services import Served
from bot.web.shapes import Instant, Open, refusals
from core.domain.wire import JsonObject, instant
from core.errors import NotFound
from core.store.quarantine import Quarantined

RAW = "message/rfc822"
_AS_A_FILE = {
    "Cache-Control": "no-store",
    "Content-Disposition": 'attachment; filename="quarantined.eml"',
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {RAW: {"schema": {"type": "string", "format": "binary"}}}, "description": "The mail as it came."}
}

Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="The SHA-256 of the mail's bytes.")]

routes = APIRouter(route_class=KeyedRoute, tags=["mail"])


class QuarantinedReply(Open):
    """``reason`` says why it could not be read, ``size`` how many bytes it has."""

    digest: str
    door: str
    reason: str
    size: int
    received_at: Instant
    kept_until: Instant


class QuarantinePage(Open):
    items: list[QuarantinedReply]
    next_cursor: str | None


@routes.get(
    "/mail/quarantine",
    summary="Mails that could not be read, newest first",
    responses={200: {"model": QuarantinePage}, **refusals(403, 422)},
)
async def quarantine(services: Served, _actor: Admin, limit: Limit = 50, cursor: Cursor = None) -> Response:
    found = await services.engine.correspondence.quarantined(before=place(cursor), limit=limit + 1)
    items, more = found[:limit], len(found) > limit
    following = cursor_after(items[-1].at, items[-1].digest) if more else None
    return reply({"items": [_json(one) for one in items], "next_cursor": following})


@routes.get(
    "/mail/quarantine/{digest}",
    summary="One of them, as it came",
    response_class=Response,
    responses={**_BYTES, **refusals(403, 404, 422)},
)
async def quarantined(services: Served, _actor: Admin, digest: Digest) -> Response:
    found = await services.engine.correspondence.one_quarantined(digest)
    if found is None:
        raise NotFound("There is no such mail in quarantine.")
    if found.raw is None:
        raise NotFound("The mail was noted, but there was no room to keep it.")
    return Response(found.raw, media_type=RAW, headers=_AS_A_FILE)


def _json(one: Quarantined) -> JsonObject:
    return {
        "digest": one.digest,
        "door": one.door,
        "reason": one.reason,
        "size": one.size,
        "received_at": instant(one.at),
        "kept_until": instant(one.kept_until),
    }
