"""The few calls of PagerDuty's REST API that the service needs, with its errors.

Source: https://developer.pagerduty.com/api-reference and https://developer.pagerduty.com/docs/errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.pagerduty_events import read_event
from bot.sandbox.pagerduty_webhooks import envelope, incident_data, note_data, reference
from bot.sandbox.pagerduty_world import Account, Alert, Incident, JsonObject

PAGE = 25
LARGEST_PAGE = 100
"""Source: https://developer.pagerduty.com/docs/pagination."""

_NOT_FOUND = 2100
_UNAUTHENTICATED = 2006
_INVALID_INPUT = 2001
_NO_REQUESTER = 1008

Endpoint = Callable[[Request], Awaitable[Response]]


class RestApi:
    """``api.pagerduty.com`` for one account. ``annotated`` is called with the webhook of each new note."""

    def __init__(self, account: Account, token: str, annotated: Callable[[JsonObject], None]) -> None:
        self.account = account
        self.token = token
        self._annotated = annotated
        self.down_with: int | None = None
        """A status that every call gets instead of an answer."""

    def routes(self) -> list[Route]:
        table: Mapping[tuple[str, str], Endpoint] = {
            ("/incidents/{id}", "GET"): self._incident,
            ("/incidents/{id}/alerts", "GET"): self._alerts,
            ("/incidents/{id}/notes", "POST"): self._note,
            ("/users/{id}", "GET"): self._user,
        }
        return [Route(path, self._guarded(endpoint), methods=[method]) for (path, method), endpoint in table.items()]

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            if self.down_with is not None:
                return _error(self.down_with, 2000, "An internal error has occurred.")
            if request.headers.get("authorization") != f"Token token={self.token}":
                return _error(401, _UNAUTHENTICATED, "Authentication failed")
            return await endpoint(request)

        return guarded

    async def _incident(self, request: Request) -> Response:
        incident = self.account.incident(request.path_params["id"])
        return JSONResponse({"incident": incident_data(incident)}) if incident else _error(404, _NOT_FOUND, "Not Found")

    async def _alerts(self, request: Request) -> Response:
        incident = self.account.incident(request.path_params["id"])
        if incident is None:
            return _error(404, _NOT_FOUND, "Not Found")
        limit = min(int(request.query_params.get("limit", PAGE)), LARGEST_PAGE)
        offset = int(request.query_params.get("offset", 0))
        page = [_alert(incident, alert) for alert in incident.alerts[offset : offset + limit]]
        more = offset + limit < len(incident.alerts)
        return JSONResponse({"alerts": page, "limit": limit, "offset": offset, "more": more, "total": None})

    async def _note(self, request: Request) -> Response:
        incident = self.account.incident(request.path_params["id"])
        if incident is None:
            return _error(404, _NOT_FOUND, "Not Found")
        author = self.account.user_with_email(request.headers.get("from", ""))
        if author is None:
            return _error(400, _NO_REQUESTER, "Requester User Not Found")
        content = ((read_event(await request.body()) or {}).get("note") or {}).get("content")
        if not isinstance(content, str) or not content.strip():
            return _error(400, _INVALID_INPUT, "Invalid Input Provided", "Content cannot be empty.")
        note = self.account.annotate(incident, author, content)
        self._annotated(envelope("incident.annotated", note_data(incident, note), author, self.account.now()))
        return JSONResponse({"note": {"id": note.id, "content": content, "user": reference(author)}}, 201)

    async def _user(self, request: Request) -> Response:
        user = self.account.users.get(request.path_params["id"])
        if user is None:
            return _error(404, _NOT_FOUND, "Not Found")
        return JSONResponse({"user": {"id": user.id, "type": "user", "name": user.name, "email": user.email}})


def _alert(incident: Incident, alert: Alert) -> JsonObject:
    return {
        "id": alert.id,
        "type": "alert",
        "alert_key": alert.alert_key,
        "status": "triggered" if alert.is_open else "resolved",
        "summary": alert.payload["summary"],
        "severity": alert.payload["severity"],
        "incident": {"id": incident.id, "type": "incident_reference"},
        "service": reference(incident.service),
    }


def _error(status: int, code: int, message: str, *errors: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "code": code, "errors": list(errors)}}, status)
