"""The pretend PagerDuty with all that a real account has and the demo's has not, and told how to fail.

An account with levels of escalation, schedules and grouping, which pages whom PagerDuty would page; a subscription that
is switched off once too much was dropped; the rest of the REST API, with its rate limits; and what people do there
besides answering.

Source: https://developer.pagerduty.com/api-reference, …/docs/rest-api-rate-limits, …/docs/webhooks-behavior.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.sandbox.pagerduty import app as sandbox
from bot.sandbox.pagerduty import rest, webhooks, world
from bot.sandbox.pagerduty.app import accepted, must_be_open
from bot.sandbox.pagerduty.rest import Endpoint, body_of, error, not_found, page
from bot.sandbox.pagerduty.webhooks import Delivery, envelope, incident_data, reference, responder_data
from bot.sandbox.pagerduty.world import Alert, Incident, IncidentStatus, Service, Triggered, User
from bot.sandbox.slack.faults import CutOff
from bot.sandbox.vendor import JsonObject, wall_clock
from tests.patience import PATIENCE
from tests.vendors.pagerduty_events import EVENT_BYTES, problems

# --- The account --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """Somebody's phone rang, ``why`` as a stable word: triggered, unacknowledged, escalated, reassigned, reopened,
    responder."""

    incident: str
    user: User
    why: str
    at: datetime


@dataclass(frozen=True)
class Shift:
    """``user`` is on call from ``start`` to ``end``, at ``level`` of the escalation policy that the schedule is in.
    Without ``start`` and ``end`` they always are."""

    user: User
    start: datetime | None = None
    end: datetime | None = None
    level: int = 1

    def covers(self, since: datetime, until: datetime) -> bool:
        return (self.start is None or self.start <= until) and (self.end is None or since < self.end)


class Account(world.Account):
    """Pages people, at the levels of each service's escalation policy."""

    def __init__(
        self, services: Mapping[str, str], users: Iterable[User] = (), now: Callable[[], datetime] = wall_clock
    ) -> None:
        super().__init__(services, users, now)
        self.on_call: dict[str, list[User]] = {}
        """By the service's name, who is paged at each level of its escalation policy; by default the first user."""
        self.schedules: dict[str, list[Shift]] = {}
        """By the schedule's id."""
        self.grouping: set[str] = set()
        """The names of services that group whatever comes into the incident that is open."""
        self.pages: list[Page] = []
        self.fields: dict[str, JsonObject] = {}
        """The values of each incident's custom fields, by the field's name."""
        self.acknowledged_at: dict[str, datetime] = {}

    def trigger(self, event: JsonObject) -> Triggered:
        triggered = super().trigger(event)
        if triggered.opened:
            self.page(triggered.incident, triggered.incident.assignees, "triggered")
        return triggered

    def _open(self, service: Service, alert: Alert, number: int) -> Triggered:
        group = self._group(service)
        if group is None:
            return super()._open(service, alert, number)
        group.alerts.append(alert)
        group.log.append("group")
        return Triggered(group, alert.alert_key, opened=False)

    def _group(self, service: Service) -> Incident | None:
        """The incident that an alert of ``service`` joins."""
        fits = (one for one in reversed(self.incidents) if one.is_open and one.service == service)
        return next(fits, None) if service.name in self.grouping else None

    def assigned(self, service: Service) -> list[User]:
        return self.on_call_at(service, 1)

    def on_call_at(self, service: Service, level: int) -> list[User]:
        levels = self.on_call.get(service.name) or list(self.users.values())[:1]
        return levels[level - 1 : level] or levels[-1:]

    def page(self, incident: Incident, users: Iterable[User], why: str) -> None:
        self.pages += [Page(incident.id, user, why, self.now()) for user in users]

    def acknowledge(self, incident: Incident, user: User | None) -> None:
        super().acknowledge(incident, user)
        self.acknowledged_at[incident.id] = self.now()

    def add_responder(self, incident: Incident, user: User) -> None:
        super().add_responder(incident, user)
        self.page(incident, [user], "responder")

    def unacknowledge(self, incident: Incident) -> None:
        self._triggered_again(incident, "unacknowledge")
        self.page(incident, incident.assignees, "unacknowledged")

    def reassign(self, incident: Incident, users: list[User], what: str, why: str) -> None:
        """Somebody else's now, and nobody has acknowledged it. ``what`` is for the log."""
        self._triggered_again(incident, what)
        incident.assignees = users
        self.page(incident, users, why)

    def reopen(self, incident: Incident) -> None:
        self._triggered_again(incident, "reopen")
        for alert in incident.alerts:
            alert.is_open = True
        self.page(incident, incident.assignees, "reopened")

    def merge(self, incident: Incident, into: Incident) -> None:
        into.alerts.extend(incident.alerts)
        incident.alerts = []
        incident.merged_into = into.id
        incident.status = IncidentStatus.RESOLVED
        incident.log.append("merge")

    def _triggered_again(self, incident: Incident, what: str) -> None:
        incident.status = IncidentStatus.TRIGGERED
        incident.acknowledgers = []
        self.acknowledged_at.pop(incident.id, None)
        incident.log.append(what)


# --- The webhooks -------------------------------------------------------------------------------------------------


def fields_data(incident: Incident, values: JsonObject, changed: Sequence[str]) -> JsonObject:
    """The custom fields' values, and those that have just changed; the incident's title is not said here."""
    return {
        "type": "incident_field_values",
        "incident": {"id": incident.id, "type": "incident_reference", "summary": None},
        "custom_fields": [field_value(name, value) for name, value in values.items()],
        "changed_custom_fields": [field_value(name, values[name]) for name in changed],
    }


def field_value(name: str, value: object) -> JsonObject:
    return {
        "id": f"PF{hashlib.sha256(name.encode()).hexdigest()[:5].upper()}",
        "type": "field_value",
        "name": name,
        "data_type": "string",
        "field_type": "single_value_fixed",
        "value": value,
    }


KEPT_FOR = timedelta(hours=48)
"""How long PagerDuty goes on trying."""
MOST_DROPS = 3
"""So many webhooks dropped in a row switch the subscription off …"""
OFF_FOR = timedelta(hours=24)
"""… for so long, or until somebody switches it on."""


class Off(RuntimeError):
    """The subscription is switched off: nothing was sent, and nothing will be."""


class Webhooks(webhooks.Webhooks):
    """Tried again for two days, and switched off after three that were dropped."""

    def __init__(self, secrets: Sequence[str], now: Callable[[], datetime] = wall_clock) -> None:
        super().__init__(secrets)
        self.copies = 1
        """How often each webhook is delivered: more than once is something PagerDuty allows itself."""
        self.dropped: list[Delivery] = []
        self.off_until: datetime | None = None
        self._now = now
        self._made_at: dict[str, datetime] = {}
        self._drops = 0
        self._held: list[Delivery] | None = None

    @property
    def is_off(self) -> bool:
        return self.off_until is not None and self._now() < self.off_until

    def enable(self) -> None:
        self.off_until, self._drops = None, 0

    async def ping(self) -> httpx.Response:
        """What the button "Send test event" does."""
        body = envelope("pagey.ping", {"message": "Hello from your friend Pagey!", "type": "ping"}, None, self._now())
        body["event"]["resource_type"] = "pagey"
        return await self.send(body)

    async def answered(self) -> None:
        """Wait until whatever is on its way has been answered, or has failed."""
        await asyncio.gather(*self._background, return_exceptions=True)

    def hold_back(self) -> None:
        """From now on nothing leaves before :meth:`release`; whoever sends is told 202."""
        self._held = []

    async def release(self, order: Callable[[Sequence[Delivery]], Iterable[Delivery]] = tuple) -> list[httpx.Response]:
        """Deliver what was held back, in an order of your own: shuffled, repeated, or with some left out."""
        held, self._held = self._held or [], None
        return [await self._deliver_in_turn(delivery) for delivery in order(held)]

    async def retry(self) -> None:
        """One more try for whatever is to be tried again."""
        for delivery in tuple(self.undelivered):
            if not self._before(delivery):
                with contextlib.suppress(httpx.TransportError, Off):
                    await self.deliver(delivery)

    def _start(self, body: JsonObject) -> asyncio.Task[httpx.Response]:
        task = super()._start(body)
        self._made_at[self.deliveries[-1].webhook_id] = self._now()
        return task

    async def _deliver_in_turn(self, delivery: Delivery) -> httpx.Response:
        if self._held is not None:
            self._held.append(delivery)
            return httpx.Response(202, text="held back")
        response = await super()._deliver_in_turn(delivery)
        if delivery not in self.undelivered:
            for _ in range(self.copies - 1):
                response = await self.deliver(delivery)
        return response

    async def deliver(self, delivery: Delivery) -> httpx.Response:
        """Raises :class:`Off` too."""
        if self.is_off:
            self._drop(delivery)
            raise Off
        return await super().deliver(delivery)

    def _settle(self, delivery: Delivery, response: httpx.Response) -> None:
        if response.is_success:
            self._drops = 0
        super()._settle(delivery, response)
        if response.is_client_error and delivery not in self.undelivered:
            self._drop(delivery)

    def _again(self, delivery: Delivery) -> None:
        made_at = self._made_at.get(delivery.webhook_id)
        if made_at is not None and self._now() - made_at > KEPT_FOR:
            self._drop(delivery)
        else:
            super()._again(delivery)

    def _drop(self, delivery: Delivery) -> None:
        """The third in a row switches the subscription off, and whatever waits is dropped with it."""
        self._forget(delivery)
        self.dropped.append(delivery)
        self._drops += 1
        if self._drops >= MOST_DROPS and not self.is_off:
            self.off_until = self._now() + OFF_FOR
            self.dropped += self.undelivered
            self.undelivered = []


# --- The REST API -------------------------------------------------------------------------------------------------

READ_ONLY_TOKEN = "sandbox-read-only-token"
CALLS_A_MINUTE = 960

_INVALID_TIME = 2004
_ACCESS_DENIED = 2010
_RATE_LIMITED = 2020


class RestApi(rest.RestApi):
    account: Account
    _webhooks: Webhooks

    def __init__(self, account: Account, token: str, webhooks: Webhooks) -> None:
        super().__init__(account, token, webhooks)
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

    def limit_next(self, calls: int = 1, reset_seconds: int = 20) -> None:
        """Refuse so many of the next calls, for they come too often."""
        self._limited, self._reset_seconds = calls, reset_seconds

    def cut_off_next(self) -> None:
        """The next change is made, and the connection dies before it is said."""
        self._cut_off = True

    def drop_next(self, calls: int = 1) -> None:
        """The connections of so many of the next calls die before anything is done or said."""
        self._dropped = calls

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        plain = super()._guarded(endpoint)

        async def guarded(request: Request) -> Response:
            self.calls.append(f"{request.method} {request.url.path}")
            if self._dropped > 0:
                self._dropped -= 1
                return CutOff()
            await self.answering.wait()
            said = await plain(request)
            if request.method != "GET" and self._cut_off:
                self._cut_off = False
                return CutOff()
            return said

        return guarded

    def _refusal(self, request: Request) -> Response | None:
        if self.down_with is not None:
            return error(self.down_with, 2000, "An internal error has occurred.")
        reads_only = request.headers.get("authorization") == f"Token token={self.read_only_token}"
        if not reads_only and (refused := super()._refusal(request)) is not None:
            return refused
        if self._limited > 0:
            self._limited -= 1
            return self._too_often()
        if request.method != "GET" and reads_only:
            return error(403, _ACCESS_DENIED, "Access Denied")
        return None

    def _too_often(self) -> Response:
        headers = {
            "ratelimit-limit": str(CALLS_A_MINUTE),
            "ratelimit-remaining": "0",
            "ratelimit-reset": str(self._reset_seconds),
        }
        return JSONResponse({"error": {"message": "Rate Limit Exceeded", "code": _RATE_LIMITED}}, 429, headers)

    def _table(self) -> Mapping[tuple[str, str], Endpoint]:
        return {
            **super()._table(),
            ("GET", "/incidents/{id}/custom_fields/values"): self._of_incident(self._fields),
            ("PUT", "/incidents/{id}/custom_fields/values"): self._of_incident(self._set_fields),
            ("GET", "/oncalls"): self._on_calls,
            ("GET", "/webhook_subscriptions"): self._subscriptions,
            ("GET", "/webhook_subscriptions/{id}"): self._subscription,
            ("POST", "/webhook_subscriptions/{id}/enable"): self._enable,
            ("POST", "/webhook_subscriptions/{id}/ping"): self._ping,
        }

    async def _fields(self, _: Request, incident: Incident) -> Response:
        values = self.account.fields.get(incident.id, {})
        return JSONResponse({"custom_fields": [field_value(*item) for item in values.items()]})

    async def _set_fields(self, request: Request, incident: Incident) -> Response:
        given = (await body_of(request)).get("custom_fields") or []
        changed = {str(one["name"]): one.get("value") for one in given if isinstance(one, dict) and one.get("name")}
        values = self.account.fields.setdefault(incident.id, {})
        values |= changed
        self.tell("incident.custom_field_values.updated", fields_data(incident, values, tuple(changed)), None)
        return await self._fields(request, incident)

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


def instant(request: Request, name: str, otherwise: datetime) -> datetime:
    """A query parameter in ISO 8601. Raises ``ValueError`` if it is none."""
    value = request.query_params.get(name)
    if value is None:
        return otherwise
    given = datetime.fromisoformat(value)
    return given if given.tzinfo else given.replace(tzinfo=UTC)


def _on_call(schedule: str, shift: Shift) -> JsonObject:
    return {
        "escalation_policy": {"id": f"PEP{schedule[1:]}", "type": "escalation_policy_reference"},
        "escalation_level": shift.level,
        "schedule": {"id": schedule, "type": "schedule_reference"},
        "user": reference(shift.user),
        "start": shift.start.isoformat().replace("+00:00", "Z") if shift.start else None,
        "end": shift.end.isoformat().replace("+00:00", "Z") if shift.end else None,
    }


# --- The whole ----------------------------------------------------------------------------------------------------


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


class PagerDutySandbox(sandbox.PagerDutySandbox):
    """``services`` maps names to routing keys of 32 characters. Webhooks go to ``webhooks.url`` once that is set."""

    account: Account
    rest: RestApi
    webhooks: Webhooks

    def __init__(
        self,
        services: Mapping[str, str],
        users: Iterable[User] = (),
        *,
        api_token: str = API_TOKEN,
        webhook_secrets: Sequence[str] = (WEBHOOK_SECRET,),
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        account, hooks = Account(services, users, now), Webhooks(webhook_secrets, now)
        super().__init__(account, RestApi(account, api_token, hooks), hooks)
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
        self._levels: dict[str, int] = {}
        self._lost = False

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
        self, containing: str = "", status: IncidentStatus | None = None, within: float = PATIENCE
    ) -> Incident:
        """The newest incident with ``containing`` in its title; raises ``TimeoutError`` if there is none in time."""

        def look() -> Incident | None:
            fitting = (one for one in reversed(self.incidents) if containing in one.title)
            return next((one for one in fitting if status in {None, one.status}), None)

        return await self.account.until(look, within)

    async def close(self) -> None:
        self.answering.set()
        self.rest.answering.set()
        await super().close()

    # --- what people do, and the clock: each returns the service's response to the webhook ---

    async def unacknowledge(self, incident: Incident, user: User | None = None) -> httpx.Response:
        """By ``user``, or by the service's acknowledgement timeout if there is none."""
        must_be_open(incident)
        self.account.unacknowledge(incident)
        return await self.say("incident.unacknowledged", incident_data(incident), user)

    async def look_at_the_clock(self) -> list[httpx.Response]:
        """Take back every acknowledgement that has timed out by now."""
        limit, now = self.acknowledgement_timeout, self.account.now()
        acknowledged = self.account.acknowledged_at
        overdue = [
            incident
            for incident in self.account.incidents
            if limit is not None and incident.id in acknowledged and now - acknowledged[incident.id] >= limit
        ]
        return [await self.unacknowledge(incident) for incident in overdue if incident.is_open]

    async def reopen(self, incident: Incident, user: User) -> httpx.Response:
        self.account.reopen(incident)
        return await self.say("incident.reopened", incident_data(incident), user)

    async def reassign(self, incident: Incident, user: User, to: User) -> httpx.Response:
        must_be_open(incident)
        self.account.reassign(incident, [to], "reassign", "reassigned")
        return await self.say("incident.reassigned", incident_data(incident), user)

    async def escalate(self, incident: Incident) -> httpx.Response:
        """To the next level of the escalation policy, because nobody acknowledged in time."""
        must_be_open(incident)
        level = self._levels[incident.id] = self._levels.get(incident.id, 1) + 1
        above = self.account.on_call_at(incident.service, level)
        self.account.reassign(incident, above, "escalate", "escalated")
        return await self.say("incident.escalated", incident_data(incident), None)

    async def delegate(self, incident: Incident, user: User, to: str) -> httpx.Response:
        """To the escalation policy of the service that is called ``to``."""
        must_be_open(incident)
        policy = next(service for service in self.account.services.values() if service.name == to)
        self._levels[incident.id] = 1
        self.account.reassign(incident, self.account.on_call_at(policy, 1), "delegate", "reassigned")
        return await self.say("incident.delegated", incident_data(incident), user)

    async def add_responder(self, incident: Incident, user: User, asked: User, message: str = "") -> httpx.Response:
        self.account.add_responder(incident, asked)
        return await self.say("incident.responder.added", responder_data(incident, asked, message, "pending"), user)

    async def reply_as_responder(self, incident: Incident, user: User) -> httpx.Response:
        return await self.say("incident.responder.replied", responder_data(incident, user, "", "joined"), user)

    async def set_fields(self, incident: Incident, user: User | None, **values: object) -> httpx.Response:
        """Fill in custom fields of the incident, by their names."""
        known = self.account.fields.setdefault(incident.id, {})
        known |= values
        return await self.say("incident.custom_field_values.updated", fields_data(incident, known, tuple(values)), user)

    def merge(self, incident: Incident, into: Incident) -> None:
        """Move all alerts; the emptied incident is resolved."""
        self.account.merge(incident, into)
        self.account.touch()
        body = envelope("incident.resolved", incident_data(incident), None, self.account.now())
        self.webhooks.send_later(body)

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
        self._lost = fault is EventFault.LOST
        response = self._accept(raw)
        if fault is EventFault.SLOW:
            await self.answering.wait()
        return CutOff() if fault is EventFault.DROP_AFTER_STORING else response

    def _accept(self, raw: bytes) -> Response:
        if len(raw) > EVENT_BYTES:
            return _refused(f"Event is too large (maximum is {EVENT_BYTES} bytes)")
        return super()._accept(raw)

    def _take(self, event: JsonObject) -> Response:
        if wrong := problems(event, self.account.services):
            return _refused(*wrong)
        if self._is_too_much(event["routing_key"]):
            return self._throttled()
        return accepted(str(event.get("dedup_key"))) if self._lost else super()._take(event)

    def _throttled(self) -> Response:
        wait = self.retry_after_seconds
        headers = {} if wait is None else {"Retry-After": str(wait)}
        said = "Requests for this service are arriving too quickly.  Please retry later."
        return JSONResponse({"status": "throttle exceeded", "message": said}, 429, headers)

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


def _refused(*errors: str) -> JSONResponse:
    said = {"status": "invalid event", "message": "Event object is invalid", "errors": list(errors)}
    return JSONResponse(said, 400)
