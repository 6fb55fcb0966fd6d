"""How PagerDuty's REST API says things: errors, pages of a list, instants in a query.

Source: https://developer.pagerduty.com/docs/errors, …/docs/pagination.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse

from bot.sandbox.pagerduty_world import JsonObject

PAGE = 25
LARGEST_PAGE = 100
"""Source: https://developer.pagerduty.com/docs/pagination."""

_NOT_FOUND = 2100


def error(status: int, code: int, message: str, *errors: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "code": code, "errors": list(errors)}}, status)


def not_found() -> JSONResponse:
    return error(404, _NOT_FOUND, "Not Found")


def page(request: Request, name: str, things: Sequence[JsonObject]) -> JSONResponse:
    """The part of ``things`` that ``limit`` and ``offset`` ask for."""
    limit = min(int(request.query_params.get("limit", PAGE)), LARGEST_PAGE)
    offset = int(request.query_params.get("offset", 0))
    more = offset + limit < len(things)
    part = list(things[offset : offset + limit])
    return JSONResponse({name: part, "limit": limit, "offset": offset, "more": more, "total": None})


def instant(request: Request, name: str, otherwise: datetime) -> datetime:
    """A query parameter in ISO 8601. Raises ``ValueError`` where it is none."""
    value = request.query_params.get(name)
    if value is None:
        return otherwise
    given = datetime.fromisoformat(value)
    return given if given.tzinfo else given.replace(tzinfo=UTC)
