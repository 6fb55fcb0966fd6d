"""A pretend PagerDuty on loopback: Events API, REST API, V3 webhooks, and people with pagers.

The demo's world and the tests' fake. It refuses what PagerDuty refuses, pages whom PagerDuty would page, and its
webhooks carry no ``incident_key`` if there are alerts. Faults are switched on for the next requests.

Source: https://developer.pagerduty.com/docs/webhooks-overview ("Event Types").
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.pagerduty.events import EVENT_BYTES, problems, read_event
from bot.sandbox.pagerduty.rest import RestApi
from bot.sandbox.pagerduty.webhooks import Webhooks, envelope, fields_data, incident_data, note_data, responder_data
from bot.sandbox.pagerduty.world import Account, Incident, IncidentStatus, Page, User
from bot.sandbox.slack.faults import CutOff
from bot.sandbox.vendor import JsonObject, wall_clock


class EventFault(Enum):
    """What can go wrong with the next event."""

    RATE_LIMITED = auto()
    SERVER_ERROR = auto()
    DROP_BEFORE_STORING = auto()
    DROP_AFTER_STORING = auto()
    SLOW = auto()
    """It happens, and the answer comes only once ``answering`` is set."""
    LOST = auto()
    """A 202, and nothing comes of it: the Events API is asynchronous."""


RETRY_AFTER_SECONDS = 90
EVENTS_A_MINUTE = 120
"""About what PagerDuty allows one integration key. Source: docs/events-API-v2, "Rate Limits"."""

API_TOKEN = "sandbox-rest-token"
WEBHOOK_SECRET = "sandbox-webhook-secret"


class PagerDutySandbox:
    """Serve ``app``; ``events_url`` and ``api_url`` are both the address it is served at.

    ``services`` maps names to routing keys of 32 characters. Webhooks go to ``webhooks.url`` once that is set.
    """

    def __init__(
        self,
        services: Mapping[str, str],
        users: Iterable[User] = (),
        *,
        api_token: str = API_TOKEN,
        webhook_secrets: Sequence[str] = (WEBHOOK_SECRET,),
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        self.account = Account(services, users, now)
        self.webhooks = Webhooks(webhook_secrets, now)
        self.rest = RestApi(self.account, api_token, self.webhooks)
        self.events: list[JsonObject] = []
        """Every event that was accepted, oldest first."""
        self.tries = 0
        """Every request to the Events API, accepted or not."""
        self.retry_after_seconds: int | None = RETRY_AFTER_SECONDS
        """What a throttled request is told; PagerDuty does not promise to say it."""
        self.events_a_minute: int | None = None
        """The rate limit of each integration key; none unless it is set, as to :data:`EVENTS_A_MINUTE`."""
        self.acknowledgement_timeout: timedelta | None = None
        """The services' own; none by default, as on new services."""
        self.answering = asyncio.Event()
        """Lets go of what :attr:`EventFault.SLOW` holds."""
        self._faults: deque[EventFault] = deque()
        self._recent: dict[object, deque[datetime]] = {}
        routes = [Route("/v2/enqueue", self._enqueue, methods=["POST"]), *self.rest.routes()]
        self.app = Starlette(routes=routes)

    # --- for tests and the demo ---

    @property
    def incidents(self) -> list[Incident]:
        return self.account.incidents

    @property
    def pages(self) -> list[Page]:
        """Whose phone rang, oldest first."""
        return self.account.pages

    def fail_next(self, *faults: EventFault) -> None:
        """One fault for each of the next events, in this order."""
        self._faults.extend(faults)

    def behave(self) -> None:
        """No more faults."""
        self._faults.clear()

    async def expect_incident(
        self, containing: str = "", status: IncidentStatus | None = None, within: float = 30.0
    ) -> Incident:
        """The newest incident with ``containing`` in its title; raises ``TimeoutError`` if there is none in time."""

        def look() -> Incident | None:
            fitting = (one for one in reversed(self.incidents) if containing in one.title)
            return next((one for one in fitting if status in {None, one.status}), None)

        return await self.account.until(look, within)

    async def close(self) -> None:
        self.answering.set()
        self.rest.answering.set()
        await self.webhooks.close()

    # --- what people do, and the clock: each returns the service's response to the webhook ---

    async def acknowledge(self, incident: Incident, user: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.acknowledge(incident, user)
        return await self._say("incident.acknowledged", incident_data(incident), user)

    async def unacknowledge(self, incident: Incident, user: User | None = None) -> httpx.Response:
        """By ``user``, or by the service's acknowledgement timeout if there is none."""
        _must_be_open(incident)
        self.account.unacknowledge(incident)
        return await self._say("incident.unacknowledged", incident_data(incident), user)

    async def look_at_the_clock(self) -> list[httpx.Response]:
        """Take back every acknowledgement that has timed out by now."""
        limit, now = self.acknowledgement_timeout, self.account.now()
        overdue = [
            incident
            for incident in self.account.incidents
            if limit is not None and incident.acknowledged_at is not None and now - incident.acknowledged_at >= limit
        ]
        return [await self.unacknowledge(incident) for incident in overdue if incident.is_open]

    async def add_note(self, incident: Incident, user: User | None, text: str) -> httpx.Response:
        """By ``user``, or by an automation if there is none. What does not fit is cut, and says so."""
        note = self.account.annotate(incident, user or User("PBOT", "Automation", ""), text)
        return await self._say("incident.annotated", note_data(incident, note), user)

    async def resolve(self, incident: Incident, user: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.resolve(incident)
        return await self._say("incident.resolved", incident_data(incident), user)

    async def reopen(self, incident: Incident, user: User) -> httpx.Response:
        self.account.reopen(incident)
        return await self._say("incident.reopened", incident_data(incident), user)

    async def reassign(self, incident: Incident, user: User, to: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.reassign(incident, [to], "reassign", "reassigned")
        return await self._say("incident.reassigned", incident_data(incident), user)

    async def escalate(self, incident: Incident) -> httpx.Response:
        """To the next level of the escalation policy, because nobody acknowledged in time."""
        _must_be_open(incident)
        incident.level += 1
        above = self.account.on_call_at(incident.service, incident.level)
        self.account.reassign(incident, above, "escalate", "escalated")
        return await self._say("incident.escalated", incident_data(incident), None)

    async def delegate(self, incident: Incident, user: User, to: str) -> httpx.Response:
        """To the escalation policy of the service that is called ``to``."""
        _must_be_open(incident)
        policy = next(service for service in self.account.services.values() if service.name == to)
        incident.level = 1
        self.account.reassign(incident, self.account.on_call_at(policy, 1), "delegate", "reassigned")
        return await self._say("incident.delegated", incident_data(incident), user)

    async def add_responder(self, incident: Incident, user: User, asked: User, message: str = "") -> httpx.Response:
        self.account.add_responder(incident, asked)
        return await self._say("incident.responder.added", responder_data(incident, asked, message, "pending"), user)

    async def reply_as_responder(self, incident: Incident, user: User) -> httpx.Response:
        return await self._say("incident.responder.replied", responder_data(incident, user, "", "joined"), user)

    async def set_fields(self, incident: Incident, user: User | None, **values: object) -> httpx.Response:
        """Fill in custom fields of the incident, by their names."""
        incident.fields |= values
        return await self._say("incident.custom_field_values.updated", fields_data(incident, tuple(values)), user)

    def merge(self, incident: Incident, into: Incident) -> None:
        """Move all alerts; the emptied incident is resolved."""
        self.account.merge(incident, into)
        self.account.touch()
        body = envelope("incident.resolved", incident_data(incident), None, self.account.now())
        self.webhooks.send_later(body)

    async def _say(self, event_type: str, data: JsonObject, agent: User | None) -> httpx.Response:
        self.account.touch()
        return await self.webhooks.send(envelope(event_type, data, agent, self.account.now()))

    # --- the Events API ---

    async def _enqueue(self, request: Request) -> Response:
        self.tries += 1
        raw = await request.body()
        fault = self._faults.popleft() if self._faults else None
        match fault:
            case EventFault.RATE_LIMITED:
                return self._throttled()
            case EventFault.SERVER_ERROR:
                return JSONResponse({"status": "error", "message": "Internal Server Error"}, 500)
            case EventFault.DROP_BEFORE_STORING:
                return CutOff()
        response = self._accept(raw, fault)
        if fault is EventFault.SLOW:
            await self.answering.wait()
        return CutOff() if fault is EventFault.DROP_AFTER_STORING else response

    def _throttled(self) -> Response:
        wait = self.retry_after_seconds
        headers = {} if wait is None else {"Retry-After": str(wait)}
        said = "Requests for this service are arriving too quickly.  Please retry later."
        return JSONResponse({"status": "throttle exceeded", "message": said}, 429, headers)

    def _accept(self, raw: bytes, fault: EventFault | None) -> Response:
        if len(raw) > EVENT_BYTES:
            return JSONResponse(_refusal(f"Event is too large (maximum is {EVENT_BYTES} bytes)"), 400)
        event = read_event(raw)
        if event is None:
            said = {"status": "Unrecognized object", "message": "Event object format is unrecognized"}
            return JSONResponse(said | {"errors": ["JSON parse error"]}, 400)
        wrong = problems(event, self.account.services)
        if wrong:
            return JSONResponse(_refusal(*wrong), 400)
        if self._is_too_much(event["routing_key"]):
            return self._throttled()
        if fault is EventFault.LOST:
            return _accepted(str(event.get("dedup_key")))
        self.events.append(event)
        dedup_key = self._apply(event)
        self.account.touch()
        return _accepted(dedup_key)

    def _is_too_much(self, routing_key: str) -> bool:
        """Whether there were as many within the last minute as one key may send."""
        if self.events_a_minute is None:
            return False
        recent, now = self._recent.setdefault(routing_key, deque()), self.account.now()
        while recent and now - recent[0] >= timedelta(minutes=1):
            recent.popleft()
        if len(recent) >= self.events_a_minute:
            return True
        recent.append(now)
        return False

    def _apply(self, event: JsonObject) -> str:
        if event["event_action"] == "trigger":
            triggered = self.account.trigger(event)
            if triggered.opened:
                self._later("incident.triggered", triggered.incident)
            return triggered.dedup_key
        dedup_key = str(event["dedup_key"])
        found = self.account.open_alert(event["routing_key"], dedup_key)
        if found is None:
            return dedup_key  # dropped without a word, and still 202
        incident, alert = found
        if event["event_action"] == "acknowledge":
            self.account.acknowledge(incident, None)
            self._later("incident.acknowledged", incident)
            return dedup_key
        alert.is_open = False
        if not any(one.is_open for one in incident.alerts):
            self.account.resolve(incident)
            self._later("incident.resolved", incident)
        return dedup_key

    def _later(self, event_type: str, incident: Incident) -> None:
        self.webhooks.send_later(envelope(event_type, incident_data(incident), None, self.account.now()))


def _accepted(dedup_key: str) -> JSONResponse:
    return JSONResponse({"status": "success", "message": "Event processed", "dedup_key": dedup_key}, 202)


def _refusal(*errors: str) -> JsonObject:
    return {"status": "invalid event", "message": "Event object is invalid", "errors": list(errors)}


def _must_be_open(incident: Incident) -> None:
    if not incident.is_open:
        raise ValueError(f"{incident.id} is already resolved")
