"""PagerDuty's incidents: notes, and calls for one more person, through the REST API.

An incident is found by its alerts' dedup key. PagerDuty makes it some time after it has accepted the event, and may
merge it into another later. Every method that writes returns a delivery result; after a doubt, the next try looks
first.

A short message's address is a service's name, which is paged, or ``incident/PABC123``, which gets a note.

Source: https://developer.pagerduty.com/api-reference ("Create a note on an incident", "Create a responder request").
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any

from channels import http
from channels.pagerduty.render import note as own_note
from channels.pagerduty.rest import CircuitBreaker, LeftAlone
from core.ports import Deferred, Delivered, Delivery, RefusalCause, Refused, Sending

API_URL = "https://api.pagerduty.com"
TIMEOUT_SECONDS = 3.0
OPEN = ("triggered", "acknowledged")
PATIENCE = timedelta(minutes=10)
"""How long after the event we expect its incident to appear."""
LOOK_AGAIN = timedelta(seconds=5)
WHENEVER = ("date_range", "all")
"""Without it PagerDuty lists the incidents of the last 30 days alone, and a question may be older.
Source: https://developer.pagerduty.com/api-reference ("List incidents", "date_range")."""
PAGE, MOST_PAGES = 100, 10
"""Source: https://developer.pagerduty.com/docs/pagination ("limit" is at most 100)."""


@dataclass(frozen=True, slots=True)
class FoundIncident:
    """One incident of the account. ``service`` is PagerDuty's id of its service."""

    id: str
    is_open: bool
    service: str


class CallFailed(Exception):
    """The call to the API failed; ``outcome`` is the delivery result."""

    def __init__(self, outcome: Delivery) -> None:
        super().__init__()
        self.outcome = outcome


class IncidentsApi:
    """Writes as ``from_email``, a user of the account. ``user_ids`` are the ids that the directory knows, ``aliases`` a
    person's further addresses: their account may be under any of them."""

    def __init__(
        self,
        token: str,
        from_email: str,
        *,
        user_ids: Mapping[str, str],
        aliases: Mapping[str, Sequence[str]] | None = None,
        now: Callable[[], datetime],
        api_url: str = API_URL,
    ) -> None:
        self._from_email = from_email
        self._user_ids = dict(user_ids)
        self._aliases = aliases or {}
        self._now = now
        self._url = api_url.rstrip("/")
        self._one_by_one = asyncio.Lock()
        self._patience = CircuitBreaker(now, TIMEOUT_SECONDS)  # events, which matter more, go out on the same lanes
        headers = {"Authorization": f"Token token={token}", "Accept": "application/json", "From": from_email}
        self._client = http.client(TIMEOUT_SECONDS, headers)

    async def find(self, key: str, *, statuses: Sequence[str] = ()) -> list[FoundIncident]:
        """The newest incident of each service with ``key`` among its alerts. Raises :class:`CallFailed`."""
        query = [("incident_key", key), ("sort_by", "created_at:desc"), WHENEVER]
        query += [("statuses[]", one) for one in statuses]
        body = await self._ask("GET", "/incidents", params=query)
        newest: dict[str, tuple[str, FoundIncident]] = {}
        for one in body.get("incidents", []):
            service = (one.get("service") or {}).get("id", "")
            found = FoundIncident(one["id"], one.get("status") in OPEN, service)
            dated = (one.get("created_at", ""), found)
            newest[service] = max(newest.get(service, dated), dated, key=itemgetter(0))
        return [found for _, found in newest.values()]

    async def is_open(self, key: str) -> bool | None:
        """Whether an incident with ``key`` is open; ``None`` if PagerDuty does not answer."""
        try:
            return bool(await self.find(key, statuses=OPEN))
        except CallFailed:
            return None

    async def asks(self, key: str) -> bool | None:
        """Whether the alert of ``key`` is open; ``None`` if PagerDuty does not answer. The incident alone proves
        nothing: other alerts may keep it open."""
        try:
            for one in await self.find(key, statuses=OPEN):
                alerts = [alert async for alert in self._pages(f"/incidents/{one.id}/alerts", "alerts")]
                still = (alert for alert in alerts if alert.get("status") != "resolved")
                if not alerts or any(alert.get("alert_key") == key for alert in still):
                    return True
        except CallFailed:
            return None
        return False

    async def open_keys(self) -> set[str] | None:
        """The dedup keys of all open alerts in open incidents; ``None`` if PagerDuty does not answer. The incident
        alone proves nothing: other alerts may keep it open."""
        keys: set[str] = set()
        try:
            wanted = [WHENEVER, *(("statuses[]", one) for one in OPEN)]
            async for incident in self._pages("/incidents", "incidents", wanted):
                keys |= {incident["incident_key"]} if incident.get("incident_key") else set()
                path, still_open = f"/incidents/{incident['id']}/alerts", [("statuses[]", "triggered")]
                async for alert in self._pages(path, "alerts", still_open):
                    keys |= {alert["alert_key"]} if alert.get("alert_key") else set()
        except CallFailed:
            return None
        return keys

    async def _pages(
        self, path: str, name: str, params: Sequence[tuple[str, str]] = ()
    ) -> AsyncIterator[Mapping[str, Any]]:
        """The items of a list, page by page, up to a limit. Raises :class:`CallFailed`."""
        for number in range(MOST_PAGES):
            place = [("limit", str(PAGE)), ("offset", str(number * PAGE))]
            said = await self._ask("GET", path, params=[*params, *place])
            for one in said.get(name, []):
                yield one
            if not said.get("more"):
                return

    async def write(self, incident: str, text: str, sending: Sending) -> Delivery:
        """Write a note on this incident, once as far as PagerDuty can tell."""
        try:
            await self._write(incident, own_note(text), look_first=_may_be_there(sending))
        except CallFailed as failure:
            return failure.outcome
        return Delivered({"incident": incident})

    async def write_to(self, key: str, text: str, sending: Sending) -> Delivery:
        """Write a note once on every incident of ``key``."""
        try:
            found = await self.find(key)
            if not found:
                return self._not_there(sending)
            if len(found) == 1:
                await self._write(found[0].id, own_note(text), look_first=_may_be_there(sending))
            else:
                await self._write_to_each(found, own_note(text))
        except CallFailed as failure:
            return failure.outcome
        return Delivered({"incident": ",".join(one.id for one in found)})

    async def call(self, key: str, email: str, text: str, sending: Sending) -> Delivery:
        """Page ``email`` to the incident of ``key``, unless they were called to it already."""
        try:
            found = await self.find(key, statuses=OPEN)
            if not found:
                return self._not_there(sending)
            user, requester = await self._user(email), await self._user(self._from_email)
            if user is None or requester is None:
                return Refused("no_such_user")
            for one in found:
                if user not in await self._called(one.id):
                    await self._call(one.id, user, requester, text)
        except CallFailed as failure:
            return failure.outcome
        return Delivered({"incident": ",".join(one.id for one in found), "user": user})

    async def close(self) -> None:
        await self._client.aclose()

    def _not_there(self, sending: Sending) -> Delivery:
        now = self._now()
        return Refused("no_incident") if now - sending.since > PATIENCE else Deferred("no_incident", now + LOOK_AGAIN)

    async def _write_to_each(self, found: Sequence[FoundIncident], content: str) -> None:
        """A key at several services is withdrawn at each, perhaps at the same time, and each withdrawal writes this
        note."""
        async with self._one_by_one:
            for one in found:
                await self._write(one.id, content, look_first=True)

    async def _write(self, incident: str, content: str, *, look_first: bool) -> None:
        path = f"/incidents/{incident}/notes"
        if look_first:
            written = (await self._ask("GET", path)).get("notes", [])
            if any(one.get("content") == content for one in written):
                return
        await self._ask("POST", path, {"note": {"content": content}})

    async def _call(self, incident: str, user: str, requester: str, text: str) -> None:
        target = {"responder_request_target": {"id": user, "type": "user_reference"}}
        body = {"requester_id": requester, "message": text, "responder_request_targets": [target]}
        await self._ask("POST", f"/incidents/{incident}/responder_requests", body)

    async def _called(self, incident: str) -> set[str]:
        """The ids of the users who were called to it."""
        shown = (await self._ask("GET", f"/incidents/{incident}")).get("incident") or {}
        return {str((one.get("user") or {}).get("id")) for one in shown.get("incidents_responders") or []}

    async def _user(self, email: str) -> str | None:
        """The id of the user who signs in with ``email``: from the directory, else from PagerDuty."""
        if email not in self._user_ids:
            exact = None
            for address in (email, *self._aliases.get(email, ())):
                exact = exact or await self._user_with(address)
            if exact is None:
                return None
            self._user_ids[email] = exact
        return self._user_ids[email]

    async def _user_with(self, address: str) -> str | None:
        users = (await self._ask("GET", "/users", params=[("query", address)])).get("users", [])
        return next((one["id"] for one in users if str(one.get("email", "")).lower() == address.lower()), None)

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, params: Sequence[tuple[str, str]] = ()
    ) -> Mapping[str, Any]:
        """The body of a 2xx reply. Raises :class:`CallFailed`."""
        send = partial(self._client.request, method, self._url + path, json=body, params=list(params))
        try:
            response = await self._patience.ask(send, twice=method == "GET")
        except LeftAlone as left:
            raise CallFailed(Deferred("api_away", left.until)) from None
        except http.CAUGHT as error:
            raise CallFailed(http.failed(error, http.Repeats.COUNT)) from error
        if response.status_code == 404:
            raise CallFailed(Refused("http_404"))
        if not response.is_success:
            outcome = http.answered(response, {}, http.Repeats.COUNT, self._now())
            if isinstance(outcome, Deferred) and outcome.until is None:
                outcome = Deferred(outcome.reason, self._patience.until)
            raise CallFailed(outcome)
        said = http.object_in(response)
        if said is None:
            raise CallFailed(Refused("malformed_response", RefusalCause.SETUP))
        return said


def _may_be_there(sending: Sending) -> bool:
    return sending.tries > 1 or sending.ambiguous


_INCIDENT = "incident/"


def incident_place(incident: str) -> str:
    """The value of an address for a note on this incident."""
    return f"{_INCIDENT}{incident}"


def incident_of(place: str) -> str | None:
    """The incident whose notes ``place`` addresses, ``None`` if it is a service."""
    return place.removeprefix(_INCIDENT) if place.startswith(_INCIDENT) else None
