"""PagerDuty's REST API: who may call it, the calls of the service in the demo, errors and pages.

Source: https://developer.pagerduty.com/api-reference, …/docs/errors, …/docs/authentication, …/docs/pagination.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.pagerduty.webhooks import (
    Webhooks,
    envelope,
    incident_data,
    note_data,
    reference,
    responder_data,
)
from bot.sandbox.pagerduty.world import Account, Alert, Incident, Note, User
from bot.sandbox.vendor import JsonObject

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


_NO_REQUESTER = 1008
_INVALID_INPUT = 2001

Endpoint = Callable[[Request], Awaitable[Response]]

LATELY = timedelta(days=30)
"""What is listed of the incidents unless ``date_range`` is ``all``."""


class RestApi:
    """``api.pagerduty.com`` for one account."""

    def __init__(self, account: Account, token: str, webhooks: Webhooks) -> None:
        self.account = account
        self.token = token
        self._webhooks = webhooks

    def routes(self) -> list[Route]:
        return [Route(path, self._guarded(call), methods=[method]) for (method, path), call in self._table().items()]

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            return self._refusal(request) or await endpoint(request)

        return guarded

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("authorization") != f"Token token={self.token}":
            return error(401, _UNAUTHENTICATED, "Authentication failed")
        return None

    # --- The calls ------------------------------------------------------------------------------------------------

    def _table(self) -> Mapping[tuple[str, str], Endpoint]:
        return {
            ("GET", "/incidents"): self._incidents,
            ("GET", "/incidents/{id}"): self._of_incident(self._incident),
            ("GET", "/incidents/{id}/alerts"): self._of_incident(self._alerts),
            ("GET", "/incidents/{id}/notes"): self._of_incident(self._notes),
            ("POST", "/incidents/{id}/notes"): self._of_incident(self._note),
            ("POST", "/incidents/{id}/responder_requests"): self._of_incident(self._responder_request),
            ("GET", "/users"): self._users,
            ("GET", "/users/{id}"): self._user,
        }

    def _of_incident(self, call: Callable[[Request, Incident], Awaitable[Response]]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            incident = self.account.incident(request.path_params["id"])
            return not_found() if incident is None else await call(request, incident)

        return endpoint

    # --- Incidents ------------------------------------------------------------------------------------------------

    async def _incidents(self, request: Request) -> Response:
        """``incident_key`` also finds incidents whose alerts have it; ``statuses[]`` keeps those of any of these."""
        query = request.query_params
        statuses, key = set(query.getlist("statuses[]")), query.get("incident_key")
        since = None if query.get("date_range") == "all" else self.account.now() - LATELY
        found = [
            incident_data(one)
            for one in self.account.incidents
            if since is None or one.created_at >= since
            if (not statuses or one.status.value in statuses) and (key is None or _has_key(one, key))
        ]
        return page(request, "incidents", found)

    async def _incident(self, _: Request, incident: Incident) -> Response:
        responders = [{"state": "pending", "user": reference(user)} for user in incident.responders]
        return JSONResponse({"incident": incident_data(incident) | {"incidents_responders": responders}})

    async def _alerts(self, request: Request, incident: Incident) -> Response:
        statuses = request.query_params.getlist("statuses[]")
        shown = (_alert(incident, alert) for alert in incident.child_alerts)
        return page(request, "alerts", [one for one in shown if not statuses or one["status"] in statuses])

    async def _notes(self, _: Request, incident: Incident) -> Response:
        return JSONResponse({"notes": [_note(note) for note in reversed(incident.notes)]})

    async def _note(self, request: Request, incident: Incident) -> Response:
        author = self._requester(request)
        if author is None:
            return error(400, _NO_REQUESTER, "Requester User Not Found")
        content = ((await body_of(request)).get("note") or {}).get("content")
        if not isinstance(content, str) or not content.strip():
            return error(400, _INVALID_INPUT, "Invalid Input Provided", "Content cannot be empty.")
        note = self.account.annotate(incident, author, content)
        self.tell("incident.annotated", note_data(incident, note), author)
        return JSONResponse({"note": _note(note)}, 201)

    async def _responder_request(self, request: Request, incident: Incident) -> Response:
        if self._requester(request) is None:
            return error(400, _NO_REQUESTER, "Requester User Not Found")
        body = await body_of(request)
        requester = self.account.users.get(str(body.get("requester_id")))
        targets = [self.account.users.get(id_) for id_ in _targets(body)]
        asked = [user for user in targets if user is not None]
        message = body.get("message")
        if requester is None or not isinstance(message, str) or not asked or len(asked) < len(targets):
            return error(400, _INVALID_INPUT, "Invalid Input Provided", "Responder request is invalid.")
        for user in asked:
            self.account.add_responder(incident, user)
            self.tell("incident.responder.added", responder_data(incident, user, message, "pending"), requester)
        said = {
            "incident": {"id": incident.id, "type": "incident_reference"},
            "requester": reference(requester),
            "message": message,
            "responder_request_targets": [{"responder_request_target": reference(user)} for user in asked],
        }
        return JSONResponse({"responder_request": said})

    def _requester(self, request: Request) -> User | None:
        """A call that changes an incident names its author in ``From``."""
        return self.account.user_with_email(request.headers.get("from", ""))

    def tell(self, event_type: str, data: JsonObject, agent: User | None) -> None:
        self.account.touch()
        self._webhooks.send_later(envelope(event_type, data, agent, self.account.now()))

    # --- People ---------------------------------------------------------------------------------------------------

    async def _users(self, request: Request) -> Response:
        query = request.query_params.get("query", "").lower()
        found = [one for one in self.account.users.values() if query in one.email.lower() or query in one.name.lower()]
        return page(request, "users", [_user(one) for one in found])

    async def _user(self, request: Request) -> Response:
        user = self.account.users.get(request.path_params["id"])
        return not_found() if user is None else JSONResponse({"user": _user(user)})


def _has_key(incident: Incident, key: str) -> bool:
    return incident.incident_key == key or any(alert.alert_key == key for alert in incident.alerts)


def _targets(body: Mapping[str, Any]) -> list[str]:
    given = body.get("responder_request_targets") or []
    targets = (one.get("responder_request_target") or {} for one in given if isinstance(one, dict))
    return [str(one.get("id")) for one in targets if one.get("type") == "user_reference"]


async def body_of(request: Request) -> Mapping[str, Any]:
    return read_object(await request.body()) or {}


def read_object(raw: bytes) -> JsonObject | None:
    """The JSON object in a request's body; ``None`` for any other body."""
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


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


def _note(note: Note) -> JsonObject:
    return {"id": note.id, "content": note.content, "user": reference(note.user)}


def _user(user: User) -> JsonObject:
    return {"id": user.id, "type": "user", "name": user.name, "email": user.email}


_UNAUTHENTICATED = 2006
