"""Cursors of lists, idempotency and ``If-Match``: what several routes read from a request."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Header, Query, Request

from core.books import Place
from core.domain.people import Actor
from core.errors import InvalidRequest, VersionRequired
from core.idempotency import Once

Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]
Cursor = Annotated[str | None, Query(max_length=200, description="Where the page before ended.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="Repeating a request under the same key repeats its first reply.",
    ),
]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=40, description='The version the change was made for: 3 or "3".')
]


def place(cursor: str | None) -> Place | None:
    """Raises :class:`InvalidRequest` for a cursor that we did not write."""
    if cursor is None:
        return None
    try:
        at, _, last = base64.urlsafe_b64decode(cursor.encode() + b"==").decode().partition(" ")
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(at)), last
    except (ValueError, OverflowError):
        raise InvalidRequest("This is not a cursor of this list.", path="cursor") from None


def cursor_after(at: datetime, last: str) -> str:
    micros = (at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(f"{micros} {last}".encode()).decode().rstrip("=")


def version(if_match: str | None) -> int | None:
    """The version in ``If-Match``, quoted or not; raises :class:`InvalidRequest` for anything else."""
    if if_match is None:
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidRequest("If-Match is the version of the intent, such as 3.", path="If-Match")
    return int(text)


def required_version(if_match: str | None) -> int:
    """Raises :class:`VersionRequired` where there is none."""
    found = version(if_match)
    if found is None:
        raise VersionRequired("If-Match with the intent's version is needed.")
    return found


async def once(request: Request, actor: Actor, key: str | None, write: Callable[[Any], tuple[int, str]]) -> Once | None:
    """What makes this request idempotent, ``None`` where it has no key."""
    if key is None:
        return None
    path = request.url.path.removeprefix("/api")
    content = hashlib.sha256(f"{request.method} {path}\n".encode() + await request.body()).hexdigest()
    return Once(actor.key or actor.identity, key, content, write)
