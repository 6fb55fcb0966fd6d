"""PagerDuty's REST API: who may call it and how often, the calls that an installation may need, errors and pages.

Source: https://developer.pagerduty.com/api-reference, …/docs/rest-api-rate-limits, …/docs/errors,
…/docs/authentication, …/docs/pagination.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.pagerduty.events import read_event
from bot.sandbox.pagerduty.webhooks import (
    Webhooks,
    envelope,
    field_value,
    fields_data,
    incident_data,
    note_data,
    reference,
    responder_data,
)
from bot.sandbox.pagerduty.world import Account, Alert, Incident, Note, Shift, User
from bot.sandbox.slack.faults import CutOff
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


def instant(request: Request, name: str, otherwise: datetime) -> datetime:
    """A query parameter in ISO 8601. Raises ``ValueError`` if it is none."""
    value = request.query_params.get(name)
    if value is None:
        return otherwise
    given = datetime.fromisoformat(value)
    return given if given.tzinfo else given.replace(tzinfo=UTC)


_NO_REQUESTER = 1008
_INVALID_INPUT = 2001
_INVALID_TIME = 2004

Endpoint = Callable[[Request], Awaitable[Response]]

LATELY = timedelta(days=30)
"""What is listed of the incidents unless ``date_range`` is ``all``."""


class RestApi:
    """``api.pagerduty.com`` for one account."""

    def __init__(self, account: Account, token: str, webhooks: Webhooks) -> None:
        self.account = account
        self.token = token
        self.read_only_token = READ_ONLY_TOKEN
        """Reads everything and changes nothing."""
        self.down_with: int | None = None
        """A status that every call gets instead of an answer."""
        self.answering = asyncio.Event()
        """While it is not set, calls get no answer at all."""
        self.answering.set()
        self.calls: list[str] = []
        """Every call, as ``METHOD /path``, oldest first."""
        self._limited = 0
        self._cut_off = False
        self._dropped = 0
        self._reset_seconds = 20
        self._webhooks = webhooks

    def limit_next(self, calls: int = 1, reset_seconds: int = 20) -> None:
        """Refuse so many of the next calls, for they come too often."""
        self._limited, self._reset_seconds = calls, reset_seconds

    def cut_off_next(self) -> None:
        """The next change is made, and the connection dies before it is said."""
        self._cut_off = True

    def drop_next(self, calls: int = 1) -> None:
        """The connections of so many of the next calls die before anything is done or said."""
        self._dropped = calls

    def routes(self) -> list[Route]:
        table = self._table()
        return [Route(path, self._guarded(call), methods=[method]) for (method, path), call in table.items()]

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            self.calls.append(f"{request.method} {request.url.path}")
            if self._dropped > 0:
                self._dropped -= 1
                return CutOff()
            await self.answering.wait()
            said = self._refusal(request) or await endpoint(request)
            if request.method != "GET" and self._cut_off:
                self._cut_off = False
                return CutOff()
            return said

        return guarded

    def _refusal(self, request: Request) -> Response | None:
        if self.down_with is not None:
            return error(self.down_with, 2000, "An internal error has occurred.")
        given = request.headers.get("authorization")
        if given not in {f"Token token={self.token}", f"Token token={self.read_only_token}"}:
            return error(401, _UNAUTHENTICATED, "Authentication failed")
        if self._limited > 0:
            self._limited -= 1
            return self._too_often()
        if request.method != "GET" and given != f"Token token={self.token}":
            return error(403, _ACCESS_DENIED, "Access Denied")
        return None

    def _too_often(self) -> Response:
        headers = {
            "ratelimit-limit": str(CALLS_A_MINUTE),
            "ratelimit-remaining": "0",
            "ratelimit-reset": str(self._reset_seconds),
        }
        return JSONResponse({"error": {"message": "Rate Limit Exceeded", "code": _RATE_LIMITED}}, 429, headers)

    # --- The calls ------------------------------------------------------------------------------------------------

    def _table(self) -> Mapping[tuple[str, str], Endpoint]:
        return {
            ("GET", "/incidents"): self._incidents,
            ("GET", "/incidents/{id}"): self._of_incident(self._incident),
            ("GET", "/incidents/{id}/alerts"): self._of_incident(self._alerts),
            ("GET", "/incidents/{id}/notes"): self._of_incident(self._notes),
            ("POST", "/incidents/{id}/notes"): self._of_incident(self._note),
            ("POST", "/incidents/{id}/responder_requests"): self._of_incident(self._responder_request),
            ("GET", "/incidents/{id}/custom_fields/values"): self._of_incident(self._fields),
            ("PUT", "/incidents/{id}/custom_fields/values"): self._of_incident(self._set_fields),
            ("GET", "/users"): self._users,
            ("GET", "/users/{id}"): self._user,
            ("GET", "/oncalls"): self._on_calls,
            ("GET", "/webhook_subscriptions"): self._subscriptions,
            ("GET", "/webhook_subscriptions/{id}"): self._subscription,
            ("POST", "/webhook_subscriptions/{id}/enable"): self._enable,
            ("POST", "/webhook_subscriptions/{id}/ping"): self._ping,
        }

    def _of_incident(self, call: Callable[[Request, Incident], Awaitable[Response]]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            incident = self.account.incident(request.path_params["id"])
            return not_found() if incident is None else await call(request, incident)

        return endpoint

    # --- Incidents ------------------------------------------------------------------------------------------------

    async def _incidents(self, request: Request) -> Response:
        """``incident_key`` finds those too whose alerts have it; ``statuses[]`` keeps those of any of these."""
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
        content = ((await _body(request)).get("note") or {}).get("content")
        if not isinstance(content, str) or not content.strip():
            return error(400, _INVALID_INPUT, "Invalid Input Provided", "Content cannot be empty.")
        note = self.account.annotate(incident, author, content)
        self._tell("incident.annotated", note_data(incident, note), author)
        return JSONResponse({"note": _note(note)}, 201)

    async def _responder_request(self, request: Request, incident: Incident) -> Response:
        if self._requester(request) is None:
            return error(400, _NO_REQUESTER, "Requester User Not Found")
        body = await _body(request)
        requester = self.account.users.get(str(body.get("requester_id")))
        targets = [self.account.users.get(id_) for id_ in _targets(body)]
        asked = [user for user in targets if user is not None]
        message = body.get("message")
        if requester is None or not isinstance(message, str) or not asked or len(asked) < len(targets):
            return error(400, _INVALID_INPUT, "Invalid Input Provided", "Responder request is invalid.")
        for user in asked:
            self.account.add_responder(incident, user)
            self._tell("incident.responder.added", responder_data(incident, user, message, "pending"), requester)
        said = {
            "incident": {"id": incident.id, "type": "incident_reference"},
            "requester": reference(requester),
            "message": message,
            "responder_request_targets": [{"responder_request_target": reference(user)} for user in asked],
        }
        return JSONResponse({"responder_request": said})

    async def _fields(self, _: Request, incident: Incident) -> Response:
        return JSONResponse({"custom_fields": [field_value(*item) for item in incident.fields.items()]})

    async def _set_fields(self, request: Request, incident: Incident) -> Response:
        given = (await _body(request)).get("custom_fields") or []
        changed = {str(one["name"]): one.get("value") for one in given if isinstance(one, dict) and one.get("name")}
        incident.fields |= changed
        self._tell("incident.custom_field_values.updated", fields_data(incident, tuple(changed)), None)
        return await self._fields(request, incident)

    def _requester(self, request: Request) -> User | None:
        """A call that changes an incident says in ``From`` by whose hand."""
        return self.account.user_with_email(request.headers.get("from", ""))

    def _tell(self, event_type: str, data: JsonObject, agent: User | None) -> None:
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

    async def _on_calls(self, request: Request) -> Response:
        """Who is on call between ``since`` and ``until``, both now by default; a user may stand there twice."""
        now = self.account.now()
        try:
            since, until = instant(request, "since", now), instant(request, "until", now)
        except ValueError:
            return error(400, _INVALID_TIME, "Invalid time values in 'since' and/or 'until' parameters")
        wanted = request.query_params.getlist("schedule_ids[]") or list(self.account.schedules)
        found = [
            _on_call(schedule, shift)
            for schedule in wanted
            for shift in self.account.schedules.get(schedule, ())
            if shift.covers(since, until)
        ]
        return page(request, "oncalls", found)

    # --- The webhook subscription ---------------------------------------------------------------------------------

    async def _subscriptions(self, request: Request) -> Response:
        return page(request, "webhook_subscriptions", [self._shown()])

    async def _subscription(self, request: Request) -> Response:
        if request.path_params["id"] != self._webhooks.id:
            return not_found()
        return JSONResponse({"webhook_subscription": self._shown()})

    async def _enable(self, request: Request) -> Response:
        if request.path_params["id"] != self._webhooks.id:
            return not_found()
        self._webhooks.enable()
        return JSONResponse({"webhook_subscription": self._shown()})

    async def _ping(self, request: Request) -> Response:
        if request.path_params["id"] != self._webhooks.id:
            return not_found()
        await self._webhooks.ping()
        return Response(status_code=202)

    def _shown(self) -> JsonObject:
        return {
            "id": self._webhooks.id,
            "type": "webhook_subscription",
            "active": True,
            "delivery_method": {
                "type": "http_delivery_method",
                "url": self._webhooks.url,
                "secret": None,
                "temporarily_disabled": self._webhooks.is_off,
            },
        }


def _has_key(incident: Incident, key: str) -> bool:
    return incident.incident_key == key or any(alert.alert_key == key for alert in incident.alerts)


def _targets(body: Mapping[str, Any]) -> list[str]:
    given = body.get("responder_request_targets") or []
    targets = (one.get("responder_request_target") or {} for one in given if isinstance(one, dict))
    return [str(one.get("id")) for one in targets if one.get("type") == "user_reference"]


async def _body(request: Request) -> Mapping[str, Any]:
    return read_event(await request.body()) or {}


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


def _on_call(schedule: str, shift: Shift) -> JsonObject:
    return {
        "escalation_policy": {"id": f"PEP{schedule[1:]}", "type": "escalation_policy_reference"},
        "escalation_level": shift.level,
        "schedule": {"id": schedule, "type": "schedule_reference"},
        "user": reference(shift.user),
        "start": shift.start.isoformat().replace("+00:00", "Z") if shift.start else None,
        "end": shift.end.isoformat().replace("+00:00", "Z") if shift.end else None,
    }


READ_ONLY_TOKEN = "sandbox-read-only-token"
CALLS_A_MINUTE = 960

_UNAUTHENTICATED = 2006
_ACCESS_DENIED = 2010
_RATE_LIMITED = 2020
