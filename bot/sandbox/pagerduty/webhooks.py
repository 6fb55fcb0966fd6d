"""PagerDuty's V3 webhooks: their content, their signatures, and the one subscription that they go out by.

Webhooks that nobody waits for go out in the background, in order. An incident's later webhooks wait behind one that is
to be tried again. The real PagerDuty spreads its tries over time; here they come with the incident's next webhook.

Source: https://developer.pagerduty.com/docs/webhooks-overview, …/webhook-signatures and …/webhooks-behavior.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx

from bot.sandbox.pagerduty.world import Incident, Note, Service, User
from bot.sandbox.serving import loopback_client
from bot.sandbox.vendor import JsonObject

BODY_BYTES = 55 * 1024
"""What PagerDuty guarantees to deliver; a note that would not fit is cut and marked ``trimmed``."""

_ENVELOPE_BYTES = 4 * 1024


@dataclass
class Delivery:
    """One webhook in delivery. ``webhook_id`` stays the same however often it is delivered."""

    webhook_id: str
    event: JsonObject
    raw: bytes
    statuses: list[int] = field(default_factory=list)


def envelope(event_type: str, data: JsonObject, agent: User | None, now: datetime) -> JsonObject:
    return {
        "event": {
            "id": uuid.uuid4().hex[:26].upper(),
            "event_type": event_type,
            "resource_type": "incident",
            "occurred_at": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "agent": reference(agent) if agent else None,
            "client": None,
            "data": data,
        }
    }


def incident_data(incident: Incident) -> JsonObject:
    """An incident as webhooks and the REST API show it: without ``incident_key`` if it has child alerts."""
    key = {} if incident.incident_key is None else {"incident_key": incident.incident_key}
    return key | {
        "id": incident.id,
        "type": "incident",
        "number": incident.number,
        "status": incident.status.value,
        "created_at": incident.created_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "title": incident.title,
        "service": reference(incident.service),
        "assignees": [reference(user) for user in incident.assignees],
        "urgency": "high" if incident.payload["severity"] in {"critical", "error"} else "low",
        "resolve_reason": _resolve_reason(incident),
    }


def _resolve_reason(incident: Incident) -> JsonObject | None:
    if incident.merged_into is None:
        return None
    return {"type": "merge_resolve_reason", "incident": {"id": incident.merged_into, "type": "incident_reference"}}


def _incident_reference(incident: Incident) -> JsonObject:
    return {"id": incident.id, "type": "incident_reference", "summary": incident.title[:200]}


def note_data(incident: Incident, note: Note) -> JsonObject:
    fits = note.content.encode()[: BODY_BYTES - _ENVELOPE_BYTES].decode(errors="ignore")
    return {
        "id": note.id,
        "type": "incident_note",
        "incident": _incident_reference(incident),
        "content": fits,
        "trimmed": fits != note.content,
    }


def responder_data(incident: Incident, user: User, message: str, state: str) -> JsonObject:
    """``state`` is ``pending``, ``joined`` or ``declined``."""
    return {
        "type": "incident_responder",
        "incident": _incident_reference(incident),
        "user": reference(user),
        "message": message,
        "state": state,
    }


def reference(thing: User | Service) -> JsonObject:
    kind = "user" if isinstance(thing, User) else "service"
    return {"id": thing.id, "type": f"{kind}_reference", "summary": thing.name}


def signature(raw: bytes, secrets: Sequence[str]) -> str:
    """One ``v1=`` per secret: there are several while one is being replaced."""
    return ",".join(f"v1={hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()}" for secret in secrets)


TIMEOUT_SECONDS = 5.0
"""PagerDuty gives up on an answer after five seconds."""
TRY_AGAIN = frozenset({429})
"""What is tried again beside 5xx; any other 4xx drops the webhook."""


class Webhooks:
    """The subscription of one receiver."""

    id = "PWHSUB1"

    def __init__(self, secrets: Sequence[str]) -> None:
        self.url: str | None = None
        self.secrets = tuple(secrets)
        self.deliveries: list[Delivery] = []
        self.undelivered: list[Delivery] = []
        """What is to be tried again, oldest first."""
        self._in_order = asyncio.Lock()
        self._background: set[asyncio.Task[Any]] = set()
        self._client = loopback_client(TIMEOUT_SECONDS)

    async def send(self, body: JsonObject) -> httpx.Response:
        """Deliver and return the receiver's response; raises what httpx raises if there is none."""
        return await self._start(body)

    def send_later(self, body: JsonObject) -> None:
        if self.url is not None:
            self._start(body)

    def _start(self, body: JsonObject) -> asyncio.Task[httpx.Response]:
        """Tasks start in the order they are made and take the lock in that order: so do the webhooks go out."""
        raw = json.dumps(body, ensure_ascii=False).encode()
        delivery = Delivery(str(uuid.uuid4()), body["event"], raw)
        self.deliveries.append(delivery)
        task = asyncio.get_running_loop().create_task(self._deliver_in_turn(delivery))
        self._background.add(task)
        task.add_done_callback(self._settled)
        return task

    async def _deliver_in_turn(self, delivery: Delivery) -> httpx.Response:
        for earlier in self._before(delivery):
            self.undelivered.append(delivery)  # it waits, whatever becomes of this try
            response = await self.deliver(earlier)
            if earlier in self.undelivered:
                return response
            self._forget(delivery)
        return await self.deliver(delivery)

    def _before(self, delivery: Delivery) -> list[Delivery]:
        """The same incident's older webhooks that have yet to arrive."""
        waiting = self.undelivered
        older = waiting[: waiting.index(delivery)] if delivery in waiting else waiting
        return [one for one in older if _behind(delivery, one)]

    async def deliver(self, delivery: Delivery) -> httpx.Response:
        """Once (more), with the same bytes and the same ``X-Webhook-Id``."""
        if self.url is None:
            raise RuntimeError("nobody has subscribed: set webhooks.url first")
        async with self._in_order:
            try:
                response = await self._client.post(self.url, content=delivery.raw, headers=self._headers(delivery))
            except httpx.TransportError:
                self._again(delivery)
                raise
        delivery.statuses.append(response.status_code)
        self._settle(delivery, response)
        return response

    def _settle(self, delivery: Delivery, response: httpx.Response) -> None:
        if response.is_server_error or response.status_code in TRY_AGAIN:
            self._again(delivery)
        else:
            self._forget(delivery)

    def _again(self, delivery: Delivery) -> None:
        if delivery not in self.undelivered:
            self.undelivered.append(delivery)

    def _forget(self, delivery: Delivery) -> None:
        self.undelivered = [one for one in self.undelivered if one is not delivery]

    async def close(self) -> None:
        for task in tuple(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._client.aclose()

    def _headers(self, delivery: Delivery) -> Mapping[str, str]:
        return {
            "Content-Type": "application/json",
            "User-Agent": "PagerDuty-Webhook/V3.0",
            "X-Webhook-Id": delivery.webhook_id,
            "X-Webhook-Subscription": self.id,
            "X-PagerDuty-Signature": signature(delivery.raw, self.secrets),
        }

    def _settled(self, task: asyncio.Task[Any]) -> None:
        """A receiver that is away is not an error here; ``deliveries`` shows that it never answered."""
        self._background.discard(task)
        if not task.cancelled():
            task.exception()


def _behind(delivery: Delivery, earlier: Delivery) -> bool:
    """Whether ``delivery`` has to wait for ``earlier``: both are about one incident."""
    return _about(delivery) is not None and _about(delivery) == _about(earlier)


def _about(delivery: Delivery) -> str | None:
    data = delivery.event.get("data") or {}
    incident = data.get("incident", data)
    return incident.get("id") if isinstance(incident, dict) else None
