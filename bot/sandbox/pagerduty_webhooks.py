"""PagerDuty's V3 webhooks: the envelope, its signatures, and the sending, in order.

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

import httpx

from bot.sandbox.pagerduty_world import Incident, JsonObject, Note, Service, User
from bot.sandbox.serving import loopback_client

TIMEOUT_SECONDS = 5.0
"""PagerDuty gives up on an answer after five seconds."""

BODY_BYTES = 55 * 1024
"""What PagerDuty guarantees to deliver; a note that would not fit is cut and marked ``trimmed``."""

_ENVELOPE_BYTES = 4 * 1024


@dataclass
class Delivery:
    """One webhook on its way. ``webhook_id`` stays the same however often it is delivered."""

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
    """An incident as webhooks and the REST API show it: without ``incident_key``, for it has child alerts."""
    return {
        "id": incident.id,
        "type": "incident",
        "number": incident.number,
        "status": incident.status.value,
        "created_at": incident.created_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "title": incident.title,
        "service": reference(incident.service),
        "assignees": [reference(user) for user in incident.acknowledgers],
        "urgency": "high" if incident.payload["severity"] in {"critical", "error"} else "low",
        "resolve_reason": None,
    }


def note_data(incident: Incident, note: Note) -> JsonObject:
    fits = _cut(note.content, BODY_BYTES - _ENVELOPE_BYTES)
    return {
        "id": note.id,
        "type": "incident_note",
        "incident": {"id": incident.id, "type": "incident_reference", "summary": incident.title[:200]},
        "content": fits,
        "trimmed": fits != note.content,
    }


def reference(thing: User | Service) -> JsonObject:
    kind = "user" if isinstance(thing, User) else "service"
    return {"id": thing.id, "type": f"{kind}_reference", "summary": thing.name}


def signature(raw: bytes, secrets: Sequence[str]) -> str:
    """One ``v1=`` per secret: there are several while one is being replaced."""
    return ",".join(f"v1={hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()}" for secret in secrets)


class Webhooks:
    """The subscription of one receiver. What nobody waits for goes out in the background, in the order it happened."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self.url: str | None = None
        self.secrets = tuple(secrets)
        self.copies = 1
        """How often each webhook is delivered: more than once is something PagerDuty allows itself."""
        self.deliveries: list[Delivery] = []
        self._in_order = asyncio.Lock()
        self._background: set[asyncio.Task[httpx.Response]] = set()
        self._client = loopback_client(TIMEOUT_SECONDS)

    async def send(self, body: JsonObject) -> httpx.Response:
        """Deliver and return the receiver's (last) response; raises what httpx raises where there is none."""
        return await self._start(body)

    def send_later(self, body: JsonObject) -> None:
        if self.url is not None:
            self._start(body)

    def _start(self, body: JsonObject) -> asyncio.Task[httpx.Response]:
        """Tasks start in the order they are made and take the lock in that order: so do the webhooks go out."""
        delivery = Delivery(str(uuid.uuid4()), body["event"], json.dumps(body, ensure_ascii=False).encode())
        self.deliveries.append(delivery)
        task = asyncio.get_running_loop().create_task(self._deliver_all(delivery))
        self._background.add(task)
        task.add_done_callback(self._settled)
        return task

    async def _deliver_all(self, delivery: Delivery) -> httpx.Response:
        for _ in range(self.copies - 1):
            await self.deliver(delivery)
        return await self.deliver(delivery)

    async def deliver(self, delivery: Delivery) -> httpx.Response:
        """Once (more), with the same bytes and the same ``X-Webhook-Id``."""
        if self.url is None:
            raise RuntimeError("nobody has subscribed: set webhooks.url first")
        async with self._in_order:
            response = await self._client.post(self.url, content=delivery.raw, headers=self._headers(delivery))
        delivery.statuses.append(response.status_code)
        return response

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
            "X-PagerDuty-Signature": signature(delivery.raw, self.secrets),
        }

    def _settled(self, task: asyncio.Task[httpx.Response]) -> None:
        """A receiver that is away is its own trouble; ``deliveries`` shows that it never answered."""
        self._background.discard(task)
        if not task.cancelled():
            task.exception()


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
