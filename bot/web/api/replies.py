"""What every response has: the errors and their envelope, the headers, and how a body is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from starlette.responses import Response

from core.domain.wire import JsonObject, Open, json_text


class FieldProblem(Open):
    """One field of the request, and what is wrong with it."""

    path: str
    """Where the field stands, such as `choices.0.value`."""
    message: str
    """One sentence, without the value that was sent."""


class Problem(Open):
    """``error`` is a stable code; ``fields`` say which parts of the request it is about."""

    error: str
    """The stable code, such as `invalid_request`. Programs go by this."""
    message: str
    """One sentence for a person. Its wording may change."""
    fields: NotRequired[Annotated[list[FieldProblem], Field(json_schema_extra={"default": []})]]
    """Which fields of the request are wrong; only where the error is about fields."""


class Envelope(Open):
    """Every error looks like this."""

    detail: Problem
    """What went wrong. Some codes add fields of their own here."""


class Accepted(Open):
    """The request is verified and stored."""

    accepted: Literal[True]
    """Always `true`."""


class HealthReply(Open):
    """The process is alive."""

    status: Literal["alive"]
    """Always `alive`."""


class ReadyReply(Open):
    """``paused``: new notices wait for ``handraise unpause``. ``slack``, in Socket Mode: whether Slack reaches this
    process (``standby``: other processes have all the sockets); it is no reason to send agents elsewhere.
    ``mail_listener`` and ``mail_poller``, where they are set up: how mail gets in (``standby``: another process looks
    into the mailbox)."""

    status: Literal["ready"]
    """Always `ready`."""
    paused: bool
    """Whether new notices wait until somebody lifts the pause."""
    slack: NotRequired[Literal["connected", "connecting", "standby"] | None]
    """In Socket Mode, whether Slack reaches this process. `standby`: other processes hold all the sockets."""
    mail_listener: NotRequired[Literal["listening", "closed"] | None]
    """Whether the LMTP or SMTP listener takes mail. Only where one is set up."""
    mail_poller: NotRequired[Literal["connected", "connecting", "standby"] | None]
    """Whether the mailbox is being read. `standby`: another process reads it. Only where one is set up."""


ETAG: JsonObject = {
    "ETag": {
        "description": "The intent's version, for If-Match.",
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
    }
}
_DESCRIPTIONS = {
    400: "Not JSON, or not an object.",
    401: "No valid X-API-Key.",
    403: "The key's roles do not cover this, or this person may not do it.",
    404: "There is no such thing for this caller.",
    405: "This path does not take that method.",
    409: "What is stored now does not allow it.",
    413: "The body is too large.",
    422: "A field holds what it may not.",
    428: "If-Match is needed.",
    429: "The key has used up its quota; ``Retry-After`` says when to try again, where time alone mends it.",
    503: "The database is away; try again.",
}

_HEADERS: dict[int, dict[str, Any]] = {
    429: {"headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}}}
}

_ALWAYS = (401, 503)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for OpenAPI; 401 and 503 are everywhere."""
    return {
        status: {"model": Envelope, "description": _DESCRIPTIONS[status], **_HEADERS.get(status, {})}
        for status in sorted({*_ALWAYS, *statuses})
    }


BODY = (400, 413, 422)
"""What can be wrong with any body."""


Body = Mapping[str, object] | Sequence[object]


def reply(body: Body, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``body`` as compact JSON."""
    return Response(json_text(body), status, headers, media_type="application/json")
