"""Errors on the wire: every one as the one envelope, ``{"detail": {"error", "message", …}}``.

A field's problem is told in our own words. Pydantic says which kind of problem it is; its own text is for programmers,
and may repeat the value.

Source: API.md §1, §4; docs.pydantic.dev/latest/errors/validation_errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Mount

from bot.front.headers import FIELDS
from bot.web.unknown_fields import suggestions
from core import errors
from core.errors import HandraiseError, envelope

log = structlog.get_logger(__name__)

Context = Mapping[str, Any]

VISIBLE = r"[^\s\x1c-\x1f\x85\ufeff]"
"""At least one character that is no blank; spelled out, since Rust, ECMAScript and Python differ on ``\\s``."""

LINK = (
    r"^[Hh][Tt][Tt][Pp][Ss]?://([0-9A-Za-z]([0-9A-Za-z.-]*[0-9A-Za-z])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
    r"([/?#][0-9A-Za-z\[\]/?#:@!$&'()*+,;=._~%-]*)?$"
)
"""A link that people are shown: RFC 3986 over HTTP or HTTPS, with a host, and nobody's name before it."""

FALLBACK = "This is not a value that this field takes."
_PATTERNS = {
    LINK: "This must be a URL over HTTP or HTTPS, percent-encoded, without a user's name in it.",
    VISIBLE: "This must hold at least one character that can be seen.",
    r"^[^\x00]*$": "This must not hold NUL characters.",
    r"^[0-9]{1,16}-[0-9A-Za-z-]{1,64}$": "This must be the next_cursor of the page before, as it was.",
    r'^(W/)?([0-9]{1,9}|"[0-9]{1,9}")$': 'This must be the version, such as 3 or "3".',
    r"^[^\s.$][^.\x00]*$": "The name of a phase has no dot, and begins with neither a blank nor $.",
    r"^([^\s.$][^.\x00]*|\$trigger|\$initial_state)\.[^\x00]+$": (
        "An input is phase.key, $trigger.key or $initial_state.key."
    ),
    r"^[0-9a-f]{64}$": "This must be 64 hexadecimal digits in lower case.",
}
"""By the pattern that did not match."""


def _number(word: str, bound: str) -> Callable[[Context], str]:
    return lambda context: f"This must be {word} {context[bound]:,}."


def _size(words: str, bound: str, unit: str) -> Callable[[Context], str]:
    def said(context: Context) -> str:
        size = int(context[bound])
        return f"This must have {words} {size:,} {unit if size == 1 else f'{unit}s'}."

    return said


def _one_of(context: Context) -> str:
    return f"This must be {str(context['expected']).replace(chr(39), '')}."


def _pattern(context: Context) -> str:
    return _PATTERNS.get(str(context.get("pattern")), "This is not written as it has to be.")


def _own(context: Context) -> str:
    """What a check of ours has said."""
    text = str(context.get("error", "")).strip().rstrip(".")
    return f"{text[0].upper()}{text[1:]}." if text else FALLBACK


_TEXT, _LIST, _OBJECT = "This must be a text.", "This must be a list.", "This must be an object."
_WHOLE, _NUMBER, _YES_NO = "This must be a whole number.", "This must be a number.", "This must be true or false."
_INSTANT = "This must be an instant, such as 2026-03-24T11:00:00Z."
_NO_SUCH_DAY = "There is no such day or time; an instant is written like 2026-03-24T11:00:00Z."

SENTENCES: Mapping[str, str | Callable[[Context], str]] = {
    "missing": "This field is needed.",
    "extra_forbidden": "This field is not known here.",
    "string_type": _TEXT,
    "string_unicode": "This must be text in UTF-8.",
    "string_too_short": _size("at least", "min_length", "character"),
    "string_too_long": _size("at most", "max_length", "character"),
    "string_pattern_mismatch": _pattern,
    "literal_error": _one_of,
    "enum": _one_of,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": "This number is too large.",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "greater_than": _number("more than", "gt"),
    "greater_than_equal": _number("at least", "ge"),
    "less_than": _number("less than", "lt"),
    "less_than_equal": _number("at most", "le"),
    "bool_type": _YES_NO,
    "bool_parsing": _YES_NO,
    "list_type": _LIST,
    "too_short": _size("at least", "min_length", "item"),
    "too_long": _size("at most", "max_length", "item"),
    "dict_type": _OBJECT,
    "mapping_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dataclass_type": _OBJECT,
    "json_invalid": "This is not JSON.",
    "union_tag_invalid": "This must be a value of JSON.",
    "union_tag_not_found": "This must be a value of JSON.",
    "invalid-json-value": "This must be a value of JSON.",
    "none_required": "This must be null, or left out.",
    "datetime_type": _INSTANT,
    "datetime_parsing": _NO_SUCH_DAY,
    "datetime_from_date_parsing": _NO_SUCH_DAY,
    "datetime_object_invalid": _NO_SUCH_DAY,
    "timezone_offset": _NO_SUCH_DAY,
    "value_error": _own,
    "assertion_error": _own,
}
"""By pydantic's type of error; what is none of them is :data:`FALLBACK`."""


def sentence(problem: Mapping[str, Any]) -> str:
    """What is wrong, without the value: it may be what must not be repeated."""
    said = SENTENCES.get(str(problem["type"]), FALLBACK)
    return said if isinstance(said, str) else said(problem.get("ctx") or {})


STATUSES: Mapping[type[HandraiseError], int] = {
    errors.MalformedRequest: 400,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.InvalidRequest: 422,
    errors.DependencyCycle: 400,
    errors.VersionRequired: 428,
    errors.QuotaExceeded: 429,
    errors.CallerError: 400,
    errors.SuspensionIdRequired: 422,
    errors.InvalidAnswer: 422,
    errors.NotSuspended: 409,
    errors.NotShownWhole: 409,
    errors.SuspensionMismatch: 409,
    errors.AlreadyAnswered: 409,
    errors.SuspensionEnded: 409,
    errors.ClaimedByAnother: 409,
    errors.NotClaimed: 409,
    errors.NothingToUndo: 409,
    errors.SelfResponseForbidden: 403,
    errors.IdentityMismatch: 403,
    errors.NotAResponder: 403,
    errors.ConfigError: 422,
    errors.DatabaseUnavailable: 503,
}
"""The status of each error; an error without one has its nearest parent's."""

_CODES = {400: "malformed_json", 401: "unauthorized", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}

_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
_OF_FILES = ("GET", "HEAD")
"""What static files take; they are mounted, so that no route of the application knows."""

_SHAPES = {"missing", "model_attributes_type", "model_type", "dict_type"}
"""What pydantic says of a body that is not an object at all."""


def status_of(error: HandraiseError) -> int:
    """The HTTP status of ``error``."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def error_body(error: HandraiseError, path: str) -> dict[str, Any]:
    """The envelope of ``error``, with what older clients read at the top level beside it."""
    body = envelope(error.code, error.message, **error.details)
    if isinstance(error, errors.InvalidAnswer) and error.valid_choices:
        body["valid_choices"] = [choice["value"] for choice in error.valid_choices]
    if status_of(error) == 409 and path.startswith(("/v1/", "/api/v1/")):
        body["message"] = error.message
        body["current_version"] = error.details.get("current_version")
    return body


def install(app: FastAPI) -> None:
    """Teach ``app`` to answer every error in the envelope."""
    app.add_exception_handler(HandraiseError, _handraise_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(Exception, _bug)


async def _handraise_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HandraiseError)  # noqa: S101 (registered for this class)
    wait = error.retry_after if isinstance(error, errors.QuotaExceeded | errors.UpstreamIntentSuspended) else None
    headers = {"Retry-After": str(wait)} if wait is not None else None
    return JSONResponse(error_body(error, request.url.path), status_of(error), headers=headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (registered for this class)
    if error.status_code == 404 and (page := _page_for_people(request)) is not None:
        return page
    code = _CODES.get(error.status_code, "invalid_request")
    messages = {404: "There is nothing at this path.", 405: "This path does not take that method."}
    message = messages.get(error.status_code) or str(error.detail)
    headers = {"Allow": _allowed(request)} if error.status_code == 405 else error.headers
    return JSONResponse(envelope(code, message), error.status_code, headers=headers)


def _page_for_people(request: Request) -> Response | None:
    """Where there are pages: what a browser shows of a path that leads nowhere. The API says everything in JSON."""
    unknown: Callable[[], Response] | None = getattr(request.app.state, "unknown_page", None)
    path = f"{request.url.path}/"
    if unknown is None or path.startswith(("/v1/", "/api/v1/")) or not wants_html(request):
        return None
    return unknown()


def wants_html(request: Request) -> bool:
    """Whether a browser asks, for somebody to read it (RFC 9110 §12.5.1)."""
    for one in request.headers.get("accept", "").split(","):
        kind, _, parameters = one.partition(";")
        if kind.strip().lower() == "text/html":
            return re.fullmatch(r"q=0(\.0*)?", parameters.strip()) is None
    return False


def _allowed(request: Request) -> str:
    """Every method that the path takes (RFC 9110 §15.5.6); the router itself names those of one route alone."""
    asked = {"type": "http", "path": request.scope["path"], "root_path": "", "headers": []}
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]
    taken = [
        one for one in _METHODS if any(route.matches(asked | {"method": one})[0] is Match.FULL for route in routes)
    ]
    return ", ".join(taken or _OF_FILES)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 (registered for this class)
    problems = error.errors()
    if any(_is_not_an_object(problem) for problem in problems):
        return JSONResponse(envelope("malformed_json", "The body must be a JSON object."), 400)
    if all(_is_missing_version(problem) for problem in problems):
        needed = errors.VersionRequired("If-Match with the intent's version is needed.")
        return JSONResponse(error_body(needed, request.url.path), status_of(needed))
    meant = suggestions(request, list(problems))
    fields = [{"path": _path(one["loc"]), "message": _said(one, meant.get(one["loc"]))} for one in problems]
    first, near = fields[0], meant.get(problems[0]["loc"])
    more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
    message = f"{first['path']}: {first['message']}{more}"
    if near is not None:
        message = f'unknown field "{first["path"]}": did you mean "{near}"?{more}'
    return JSONResponse(envelope("invalid_request", message, fields=fields), 422)


def _said(problem: Mapping[str, Any], near: str | None) -> str:
    """What is wrong; of an unknown field also the known one that is ``near`` to it."""
    return sentence(problem) if near is None else f'{sentence(problem)} Did you mean "{near}"?'


async def _bug(request: Request, error: Exception) -> Response:
    """Ours to mend: the log has the trace, the caller gets one sentence."""
    path = getattr(request.scope.get("route"), "path", None)  # as it is declared: without the ids in it
    log.error("web.failed", path=path, error=type(error).__name__, exc_info=error)
    body = envelope("internal", "Something went wrong here; it has been logged.")
    return JSONResponse(body, 500, {name.decode(): value.decode() for name, value in FIELDS})  # outside of Headers


def _is_not_an_object(problem: Mapping[str, Any]) -> bool:
    return problem["type"] == "json_invalid" or (problem["loc"] == ("body",) and problem["type"] in _SHAPES)


def _is_missing_version(problem: Mapping[str, Any]) -> bool:
    return bool(problem["type"] == "missing" and problem["loc"] == ("header", "If-Match"))


def _path(location: tuple[Any, ...]) -> str:
    """``body.retry_policy.max_attempts`` without its first word; union branches and the like left out."""
    inner = location[1:] if location and location[0] in {"body", "query", "path", "header"} else location
    return ".".join(str(part) for part in inner) or str(location[0] if location else "")
