"""A pretend PagerDuty on loopback: Events API, REST API, V3 webhooks, and people with pagers.

The demo's world and, with faults and all of PagerDuty's refusals, the tests' fake. Its webhooks carry no
``incident_key`` if there are alerts.

Source: https://developer.pagerduty.com/docs/webhooks-overview ("Event Types").
"""

from __future__ import annotations

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.pagerduty.rest import RestApi, read_object
from bot.sandbox.pagerduty.webhooks import Webhooks, envelope, incident_data, note_data
from bot.sandbox.pagerduty.world import Account, Incident, User
from bot.sandbox.vendor import JsonObject


class PagerDutySandbox:
    """Serve ``app``; ``events_url`` and ``api_url`` are both the address it is served at."""

    def __init__(self, account: Account, rest: RestApi, webhooks: Webhooks) -> None:
        self.account = account
        self.rest = rest
        self.webhooks = webhooks
        self.events: list[JsonObject] = []
        """Every event that was accepted, oldest first."""
        self.app = Starlette(routes=[Route("/v2/enqueue", self._enqueue, methods=["POST"]), *rest.routes()])

    @property
    def incidents(self) -> list[Incident]:
        return self.account.incidents

    async def close(self) -> None:
        await self.webhooks.close()

    # --- what people do: each returns the service's response to the webhook ---

    async def acknowledge(self, incident: Incident, user: User) -> httpx.Response:
        must_be_open(incident)
        self.account.acknowledge(incident, user)
        return await self.say("incident.acknowledged", incident_data(incident), user)

    async def add_note(self, incident: Incident, user: User | None, text: str) -> httpx.Response:
        """By ``user``, or by an automation if ``None``. A text that is too long is cut, and says so."""
        note = self.account.annotate(incident, user or User("PBOT", "Automation", ""), text)
        return await self.say("incident.annotated", note_data(incident, note), user)

    async def resolve(self, incident: Incident, user: User) -> httpx.Response:
        must_be_open(incident)
        self.account.resolve(incident)
        return await self.say("incident.resolved", incident_data(incident), user)

    async def say(self, event_type: str, data: JsonObject, agent: User | None) -> httpx.Response:
        self.account.touch()
        return await self.webhooks.send(envelope(event_type, data, agent, self.account.now()))

    # --- the Events API ---

    async def _enqueue(self, request: Request) -> Response:
        return self._accept(await request.body())

    def _accept(self, raw: bytes) -> Response:
        event = read_object(raw)
        if event is None:
            said = {"status": "Unrecognized object", "message": "Event object format is unrecognized"}
            return JSONResponse(said | {"errors": ["JSON parse error"]}, 400)
        return self._take(event)

    def _take(self, event: JsonObject) -> Response:
        self.events.append(event)
        dedup_key = self._apply(event)
        self.account.touch()
        return accepted(dedup_key)

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


def accepted(dedup_key: str) -> JSONResponse:
    return JSONResponse({"status": "success", "message": "Event processed", "dedup_key": dedup_key}, 202)


def must_be_open(incident: Incident) -> None:
    if not incident.is_open:
        raise ValueError(f"{incident.id} is already resolved")
