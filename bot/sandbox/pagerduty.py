"""A pretend PagerDuty on loopback: Events API, REST API, V3 webhooks, and a person with a pager.

The demo's world and the tests' fake: it refuses what PagerDuty refuses, and its webhooks carry no ``incident_key``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.pagerduty_events import EVENT_BYTES, problems, read_event
from bot.sandbox.pagerduty_rest import RestApi
from bot.sandbox.pagerduty_webhooks import Webhooks, envelope, incident_data, note_data
from bot.sandbox.pagerduty_world import Account, Incident, IncidentStatus, JsonObject, User, wall_clock
from bot.sandbox.slack_faults import CutOff


class Fault(Enum):
    """What can go wrong with the next event."""

    RATE_LIMITED = auto()
    SERVER_ERROR = auto()
    DROP_BEFORE_STORING = auto()
    DROP_AFTER_STORING = auto()


RETRY_AFTER_SECONDS = 90

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
        self.webhooks = Webhooks(webhook_secrets)
        self.rest = RestApi(self.account, api_token, self._annotated)
        self.events: list[JsonObject] = []
        """Every event that was accepted, oldest first."""
        self.tries = 0
        """Every request to the Events API, accepted or not."""
        self.retry_after_seconds = RETRY_AFTER_SECONDS
        """What a throttled request is told."""
        self._faults: deque[Fault] = deque()
        routes = [Route("/v2/enqueue", self._enqueue, methods=["POST"]), *self.rest.routes()]
        self.app = Starlette(routes=routes)

    # --- for tests and the demo ---

    @property
    def incidents(self) -> list[Incident]:
        return self.account.incidents

    def fail_next(self, *faults: Fault) -> None:
        """One fault for each of the next events, in this order."""
        self._faults.extend(faults)

    def behave(self) -> None:
        """No more faults."""
        self._faults.clear()

    async def expect_incident(
        self, containing: str = "", status: IncidentStatus | None = None, within: float = 5.0
    ) -> Incident:
        """The newest incident with ``containing`` in its title; raises ``TimeoutError`` where there is none in time."""

        def look() -> Incident | None:
            fitting = (one for one in reversed(self.incidents) if containing in one.title)
            return next((one for one in fitting if status in {None, one.status}), None)

        return await self.account.until(look, within)

    async def close(self) -> None:
        await self.webhooks.close()

    # --- a person with a pager; each returns the service's response to the webhook ---

    async def acknowledge(self, incident: Incident, user: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.acknowledge(incident, user)
        return await self._say("incident.acknowledged", incident_data(incident), user)

    async def unacknowledge(self, incident: Incident, user: User | None = None) -> httpx.Response:
        """By ``user``, or by the service's acknowledgement timeout where there is none."""
        _must_be_open(incident)
        self.account.unacknowledge(incident)
        return await self._say("incident.unacknowledged", incident_data(incident), user)

    async def add_note(self, incident: Incident, user: User | None, text: str) -> httpx.Response:
        """By ``user``, or by an automation where there is none."""
        note = self.account.annotate(incident, user or User("PBOT", "Automation", ""), text)
        return await self._say("incident.annotated", note_data(incident, note), user)

    async def resolve(self, incident: Incident, user: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.resolve(incident)
        return await self._say("incident.resolved", incident_data(incident), user)

    def merge(self, incident: Incident, into: Incident) -> None:
        """Move all alerts; the emptied incident is resolved."""
        into.alerts.extend(incident.alerts)
        incident.alerts = []
        incident.status = IncidentStatus.RESOLVED
        self.account.touch()

    async def _say(self, event_type: str, data: JsonObject, agent: User | None) -> httpx.Response:
        self.account.touch()
        return await self.webhooks.send(envelope(event_type, data, agent, self.account.now()))

    # --- the Events API ---

    async def _enqueue(self, request: Request) -> Response:
        self.tries += 1
        raw = await request.body()
        fault = self._faults.popleft() if self._faults else None
        match fault:
            case Fault.RATE_LIMITED:
                said = {"status": "throttle exceeded", "message": "Requests are arriving too quickly. Retry later."}
                return JSONResponse(said, 429, {"Retry-After": str(self.retry_after_seconds)})
            case Fault.SERVER_ERROR:
                return JSONResponse({"status": "error", "message": "Internal Server Error"}, 500)
            case Fault.DROP_BEFORE_STORING:
                return CutOff()
        response = self._accept(raw)
        return CutOff() if fault is Fault.DROP_AFTER_STORING else response

    def _accept(self, raw: bytes) -> Response:
        if len(raw) > EVENT_BYTES:
            return _invalid(f"Event is too large (maximum is {EVENT_BYTES} bytes)")
        event = read_event(raw)
        if event is None:
            return _invalid("Event is not a JSON object")
        wrong = problems(event, self.account.services)
        if wrong:
            return _invalid(*wrong)
        self.events.append(event)
        dedup_key = self._apply(event)
        self.account.touch()
        return JSONResponse({"status": "success", "message": "Event processed", "dedup_key": dedup_key}, 202)

    def _apply(self, event: JsonObject) -> str:
        if event["event_action"] == "trigger":
            incident, dedup_key = self.account.trigger(event)
            if len(incident.log) == 1:
                self._later("incident.triggered", incident)
            return dedup_key
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

    def _annotated(self, body: JsonObject) -> None:
        self.account.touch()
        self.webhooks.send_later(body)


def _invalid(*errors: str) -> JSONResponse:
    return JSONResponse({"status": "invalid event", "message": "Event object is invalid", "errors": list(errors)}, 400)


def _must_be_open(incident: Incident) -> None:
    if not incident.is_open:
        raise ValueError(f"{incident.id} is already resolved")
