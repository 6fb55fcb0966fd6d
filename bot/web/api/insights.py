"""``GET /insights``: figures of a period, as on the page of that name. Source: API.md §6; docs/decisions/0123."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import APIRouter, Query, Response

from bot.web.api.auth import KeyedRoute, Operator, Served
from bot.web.api.replies import refusals, reply
from core.domain.insights import read_period
from core.domain.insights_record import InsightsReply, insights_json
from core.errors import InvalidRequest

routes = APIRouter(route_class=KeyedRoute, tags=["insights"])


@routes.get(
    "/insights",
    summary="Figures: what was asked, how it ended, and how long answers took",
    responses={200: {"model": InsightsReply}, **refusals(403, 422)},
)
async def insights(
    services: Served,
    actor: Operator,
    since: Annotated[
        str | None,
        Query(
            max_length=32,
            description="The first day (`2026-03-01`), or how many days (`30d`, the default).",
            examples=["30d"],
            json_schema_extra={"pattern": r"^([1-9][0-9]{0,2}d|[0-9]{4}-[0-9]{2}-[0-9]{2})?$"},
        ),
    ] = None,
    until: Annotated[
        str | None,
        Query(
            max_length=32,
            description="The last day (`2026-03-31`); today if it is left out.",
            examples=["2026-03-31"],
            json_schema_extra={"pattern": r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$"},
        ),
    ] = None,
    time_zone: Annotated[
        str | None,
        Query(
            max_length=64,
            description="The time zone of days and hours, such as `Europe/Berlin`. By default yours.",
            examples=["Europe/Berlin"],
        ),
    ] = None,
) -> Response:
    """A question counts on the day on which it was asked. Single persons are told apart only with `insights.persons`;
    without it, a group of fewer than five answers, or of fewer than three people, has no figures."""
    asking = services.asking
    asking.insights.check(actor)
    zone = zone_of(time_zone, asking.responders.time_zone(actor.identity))
    period = read_period(since, until, asking.insights.clock.now(), zone)
    return reply(insights_json(await asking.insights.figures(period), asking.insights.persons))


def zone_of(name: str | None, own: tzinfo | None) -> tzinfo:
    """The zone of that name; without one the reader's ``own``, if it is known. Raises :class:`InvalidRequest`."""
    if name is None:
        return own or UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = "time_zone: there is none of this name; write one such as Europe/Berlin."
        raise InvalidRequest(message, path="time_zone") from None
