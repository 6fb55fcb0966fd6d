"""Callbacks to the waiting agent: one signed POST by Standard Webhooks.

Source: API.md §5; https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version

from bot.callbacks.client import GuardedClient, HttpReply, Network, Unanswered, check_url
from bot.observability.tracing import NO_TRACING, Tracing
from channels import http
from core.engine.receipts import Receipts
from core.ports import Callback, Clock, Deferred, Delivered, Delivery, Refused

Secrets = Callable[[str], Sequence[str]]
"""The valid secrets (``whsec_…``) of a key, by its name: two while one is being replaced."""

PREFIX = "whsec_"
USER_AGENT = f"Handraise/{version('handraise-server')}"
LANES = 640
"""An agent that says nothing holds one for the whole timeout: as many may before anybody new has to wait."""
KEPT = 64
"""Connections that stay open for the next call."""
LANE_WIDTH = 16
"""Of them to one agent that answers."""
EVENT_LANES = 160
EVENT_LANE_WIDTH = 8
"""The same for events. Whatever becomes of subscribers, an agent's call has its connection."""


class CallbackAgents:
    """The port ``core.ports.Agents``. The relay repeats every try whose status is neither 2xx nor 410.

    ``stamps`` is the time that agents' own clocks show, by which they tell a fresh callback from a stale one; ``clock``
    itself unless it is given.
    """

    lanes = LANES
    lane_width = LANE_WIDTH
    event_lanes = EVENT_LANES
    event_lane_width = EVENT_LANE_WIDTH

    def __init__(
        self,
        secrets: Secrets,
        *,
        clock: Clock,
        receipts: Receipts | None = None,
        allow: Sequence[Network] = (),
        timeout: timedelta = timedelta(seconds=10),
        tracing: Tracing = NO_TRACING,
        stamps: Clock | None = None,
    ) -> None:
        self._secrets = secrets
        self._clock = clock
        self._stamps = stamps or clock
        self._receipts = receipts
        self._allow = tuple(allow)
        self._tracing = tracing
        self._client = GuardedClient(allow, timeout=timeout, connections=LANES + EVENT_LANES, kept=KEPT)

    def may_call(self, key: str, url: str) -> str | None:
        secrets = self._secrets(key)
        if not secrets:
            return f"The key {key} has no webhook secret, so that a callback could not be signed."
        if not _keys(secrets):
            return f"The webhook secret of the key {key} can't be read: it has to be {PREFIX} and base64."
        return check_url(url, self._allow)

    async def resume(self, callback: Callback) -> Delivery:
        """One try. A 2xx is delivered, a 410 refused, all else deferred: the agent recognises a repeat by its id."""
        if self._receipts is not None:
            callback = replace(callback, body=await self._receipts.fill(callback.body))
        with self._tracing.resuming(callback) as span:
            outcome = await self._post(callback, span.headers)
            span.ended(outcome)
        if self._receipts is not None and isinstance(outcome, Delivered):
            await self._receipts.delivered(callback.body)
        return outcome

    async def send_event(self, callback: Callback) -> Delivery:
        return await self._post(callback, {})

    async def _post(self, callback: Callback, more: Mapping[str, str]) -> Delivery:
        keys = _keys(self._secrets(callback.key))
        if not keys:
            return Deferred("no_secret")
        body = encode(callback)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
            **more,
            **sign(keys, callback.id, int(self._stamps.now().timestamp()), body),
        }
        match await self._client.post(callback.url, headers, body):
            case Unanswered(reason):
                return Deferred(reason)
            case HttpReply() as answer:
                return self._outcome(answer)

    async def close(self) -> None:
        await self._client.close()

    def _outcome(self, answer: HttpReply) -> Delivery:
        if 200 <= answer.status < 300:
            return Delivered({"status": str(answer.status)})
        if answer.status == 410:
            return Refused("gone")
        return Deferred(f"http_{answer.status}", http.retry_after(answer.headers, self._clock.now()))


def encode(callback: Callback) -> bytes:
    """The body, the same bytes on every try except for its receipt. ASCII, so that any JSON string can be sent."""
    return json.dumps(callback.body, separators=(",", ":")).encode()


def sign(keys: Sequence[bytes], webhook_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of Standard Webhooks, with a signature for each key."""
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    signatures = (base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode() for key in keys)
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def _keys(secrets: Sequence[str]) -> list[bytes]:
    """The keys of the valid secrets."""
    found = []
    for secret in secrets:
        text = secret.removeprefix(PREFIX)
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue
        found += [key] if key else []
    return found
