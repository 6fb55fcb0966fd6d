"""Cursors and instants, idempotency and ``If-Match``: what several routes read from a request."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

from fastapi import Header, Query, Request, Response
from pydantic import AfterValidator, BeforeValidator

from core.domain.people import Actor
from core.domain.wire import as_utc
from core.idempotency import IdempotentRequest, Replayed
from core.store.tables import PageCursor

T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]
Cursor = Annotated[
    str | None,
    Query(pattern=r"^[0-9]{1,16}-[0-9A-Za-z-]{1,64}$", description="Where the page before ended: its `next_cursor`."),
]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="How many items to leave out from the beginning.")]
TEXT = r"^[^\x00]*$"
"""What a text may be: anything that a database can keep."""

_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def _written_out(text: object) -> str:
    """Pydantic would read a number as a Unix time."""
    if not isinstance(text, str) or not _INSTANT.fullmatch(text):
        raise ValueError("an instant is written like 2026-03-24T11:00:00Z")
    return text


def _within_the_calendar(at: datetime) -> datetime:
    """In UTC; the first and the last hours of the calendar have no other day to go to."""
    try:
        return as_utc(at)
    except OverflowError:
        return _FIRST if at.year == 1 else _LAST


Instant = Annotated[datetime, BeforeValidator(_written_out), AfterValidator(_within_the_calendar)]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="Repeating a request under the same key repeats its first reply.",
    ),
]
_VERSION = Header(
    alias="If-Match",
    pattern=r'^(W/)?([0-9]{1,9}|"[0-9]{1,9}")$',
    description='The version the change was made for: 3 or "3".',
)
IfMatch = Annotated[str, _VERSION]
"""Needed: without it the reply is 428 (``errors.py``)."""

OptionalIfMatch = Annotated[str | None, _VERSION]


def place(cursor: str | None) -> PageCursor | None:
    if cursor is None:
        return None
    micros, _, last = cursor.partition("-")
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(micros)), last


def cursor_after(at: datetime, last: str) -> str:
    micros = (at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)
    return f"{micros}-{last}"


def version(if_match: str) -> int:
    """The version in ``If-Match``, quoted or not."""
    return int(if_match.removeprefix("W/").strip('"'))


async def once(
    request: Request, actor: Actor, key: str | None, respond: Callable[[Any], Response]
) -> IdempotentRequest | None:
    """What makes this request idempotent, ``None`` without a key. ``respond`` makes the reply that is kept."""
    if key is None:
        return None
    path = request.url.path.removeprefix("/api")
    content = hashlib.sha256(f"{request.method} {path}\n".encode() + await request.body()).hexdigest()
    return IdempotentRequest(actor.key or actor.identity, key, content, lambda done: _kept(respond(done)))


def _kept(response: Response) -> tuple[int, str]:
    return response.status_code, bytes(response.body).decode()


def replied(done: T | Replayed, respond: Callable[[T], Response]) -> Response:
    """The reply of ``respond`` to what was done, or the first reply again."""
    return replayed(done) if isinstance(done, Replayed) else respond(done)


def replayed(done: Replayed) -> Response:
    """The first reply again, and that it is one."""
    return Response(done.body, done.status, {"Idempotency-Replayed": "true"}, media_type="application/json")
