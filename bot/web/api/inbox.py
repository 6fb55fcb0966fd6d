"""``GET /inbox``: the questions that wait for the caller, as on the page of that name. Source: API.md §6."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bot.web.api.auth import KeyedRoute, Operator, Served
from bot.web.api.paging import Limit
from bot.web.api.replies import refusals, reply
from bot.web.api.suspension_replies import suspension_json
from core.domain.record import SuspensionReply
from core.domain.wire import Open
from core.engine.inbox import PLACE, Inbox, position, written

routes = APIRouter(route_class=KeyedRoute, tags=["suspensions"])


class InboxReply(Open):
    """Open questions that the caller may answer and has not."""

    items: list[SuspensionReply]
    """The questions, the soonest deadline first."""
    next_cursor: str | None
    """What to send as `cursor` for the next page; `null` on the last one."""
    total: int
    """How many there are on all pages."""


@routes.get(
    "/inbox",
    summary="List what waits for your answer, the soonest deadline first",
    responses={200: {"model": InboxReply}, **refusals(403, 422)},
)
async def inbox(
    services: Served,
    actor: Operator,
    limit: Limit = 50,
    cursor: Annotated[
        str | None, Query(pattern=f"^{PLACE}$", description="Where the page before ended: its `next_cursor`.")
    ] = None,
) -> Response:
    """What is answered meanwhile moves no page. Where a quorum is asked for, your own answer takes it off your list."""
    engine = services.asking.engine
    after = None if cursor is None else position(cursor)
    found = await Inbox(engine.database, engine.permissions).page(actor, limit, after)
    more = None if found.after is None else written(found.after)
    items = [suspension_json(one) for one in found.questions]
    return reply(InboxReply(items=items, next_cursor=more, total=found.total))
