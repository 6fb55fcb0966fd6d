"""Every error as the one envelope: ``{"detail": {"error", "message", …}}``. Source: API.md §1, §4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Mount

from core.errors import (
    AlreadyAnswered,
    AnswersDisagree,
    CallerError,
    ClaimedByAnother,
    Conflict,
    DatabaseUnavailable,
    Forbidden,
    HandraiseError,
    IdentityMismatch,
    InvalidAnswer,
    InvalidRequest,
    MalformedRequest,
    NotAResponder,
    NotClaimed,
    NotFound,
    NotSuspended,
    QuotaExceeded,
    SelfResponseForbidden,
    SuspensionEnded,
    SuspensionIdRequired,
    SuspensionMismatch,
    Unauthorized,
    VersionRequired,
)

log = structlog.get_logger(__name__)

STATUSES: Mapping[type[HandraiseError], int] = {
    MalformedRequest: 400,
    Unauthorized: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    InvalidRequest: 422,
    VersionRequired: 428,
    QuotaExceeded: 429,
    CallerError: 400,
    SuspensionIdRequired: 422,
    InvalidAnswer: 422,
    NotSuspended: 409,
    SuspensionMismatch: 409,
    AlreadyAnswered: 409,
    AnswersDisagree: 409,
    SuspensionEnded: 409,
    ClaimedByAnother: 409,
    NotClaimed: 409,
    SelfResponseForbidden: 403,
    IdentityMismatch: 403,
    NotAResponder: 403,
    DatabaseUnavailable: 503,
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


def envelope(code: str, message: str, **details: Any) -> dict[str, Any]:
    return {"detail": {"error": code, "message": message, **details}}


def error_body(error: HandraiseError, path: str) -> dict[str, Any]:
    """The envelope of ``error``, with what older clients read at the top level beside it."""
    body = envelope(error.code, error.message, **error.details)
    if isinstance(error, InvalidAnswer) and error.valid_choices:
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
    wait = error.retry_after if isinstance(error, QuotaExceeded) else None
    headers = {"Retry-After": str(wait)} if wait is not None else None
    return JSONResponse(error_body(error, request.url.path), status_of(error), headers=headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (registered for this class)
    code = _CODES.get(error.status_code, "invalid_request")
    messages = {404: "There is nothing at this path.", 405: "This path does not take that method."}
    message = messages.get(error.status_code) or str(error.detail)
    headers = {"Allow": _allowed(request)} if error.status_code == 405 else error.headers
    return JSONResponse(envelope(code, message), error.status_code, headers=headers)


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
        needed = VersionRequired("If-Match with the intent's version is needed.")
        return JSONResponse(error_body(needed, request.url.path), status_of(needed))
    fields = [{"path": _path(problem["loc"]), "message": _message(problem)} for problem in problems]
    first = fields[0]
    more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
    message = f"{first['path']}: {first['message']}{more}"
    return JSONResponse(envelope("invalid_request", message, fields=fields), 422)


async def _bug(request: Request, error: Exception) -> Response:
    """Ours to mend: the log has the trace, the caller gets one sentence."""
    path = getattr(request.scope.get("route"), "path", None)  # as it is declared: without the ids in it
    log.error("web.failed", path=path, error=type(error).__name__, exc_info=error)
    return JSONResponse(envelope("internal", "Something went wrong here; it has been logged."), 500)


def _is_not_an_object(problem: Mapping[str, Any]) -> bool:
    return problem["type"] == "json_invalid" or (problem["loc"] == ("body",) and problem["type"] in _SHAPES)


def _is_missing_version(problem: Mapping[str, Any]) -> bool:
    return bool(problem["type"] == "missing" and problem["loc"] == ("header", "If-Match"))


def _path(location: tuple[Any, ...]) -> str:
    """``body.retry_policy.max_attempts`` without its first word; union branches and the like left out."""
    inner = location[1:] if location and location[0] in {"body", "query", "path", "header"} else location
    return ".".join(str(part) for part in inner) or str(location[0] if location else "")


def _message(problem: Mapping[str, Any]) -> str:
    """Pydantic's sentence, without the value: it may be what must not be repeated."""
    text = str(problem["msg"])
    return "This field is not known here." if problem["type"] == "extra_forbidden" else text
