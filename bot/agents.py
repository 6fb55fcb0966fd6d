"""Calls the waiting agent back: one signed POST, as Standard Webhooks has it.

Source: API.md §5; https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from datetime import timedelta

import httpx
import structlog

from bot.addresses import Network
from bot.outbound import AddressRefused, GuardedTransport, check_url
from channels import http
from core.ports import Callback, Clock, Deferred, Delivered, Delivery, Refused

log = structlog.get_logger(__name__)

Secrets = Callable[[str], Sequence[str]]
"""The valid secrets (``whsec_…``) of a key, by its name: two while one is being replaced."""

PREFIX = "whsec_"
LANES = 8
"""httpcore's pool looks at every connection for every request: with 16 a callback costs twice the time."""
MOST_READ = 64 * 1024
READ_SECONDS = 1.0
"""Of a response's body. It says nothing to us; reading it keeps the connection for the next callback."""


class CallbackAgents:
    """The port ``core.ports.Agents``. Whatever is neither 2xx nor 410 is tried again, as the relay sees fit."""

    lanes = LANES

    def __init__(
        self,
        secrets: Secrets,
        *,
        clock: Clock,
        allow: Sequence[Network] = (),
        timeout: timedelta = timedelta(seconds=10),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._secrets = secrets
        self._clock = clock
        self._allow = tuple(allow)
        self._timeout = timeout.total_seconds()
        # Not an httpx.AsyncClient: its cookies would outlive the call, its log lines name the agent's URL.
        self._transport = transport or GuardedTransport(allow, connections=LANES)

    def may_call(self, key: str, url: str) -> str | None:
        secrets = self._secrets(key)
        if not secrets:
            return f"The key {key} has no webhook secret, so that a callback could not be signed."
        if not _keys(secrets):
            return f"The webhook secret of the key {key} can't be read: it has to be {PREFIX} and base64."
        return check_url(url, self._allow)

    async def resume(self, callback: Callback) -> Delivery:
        """One try. A 2xx is delivered, a 410 refused, all else deferred: the agent knows a repeat by its id."""
        keys = _keys(self._secrets(callback.key))
        if not keys:
            return Deferred("no_secret")
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._transport.handle_async_request(self._request(callback, keys))
        except AddressRefused:
            return Deferred("address_refused")
        except http.CAUGHT as error:
            return Deferred(http.failure(error)[1])
        await _finish(response)
        return self._outcome(response)

    async def close(self) -> None:
        await self._transport.aclose()

    def _request(self, callback: Callback, keys: Sequence[bytes]) -> httpx.Request:
        body = encode(callback)
        headers = {
            "content-type": "application/json",
            "user-agent": "Handraise",
            "accept-encoding": "identity",
            **sign(keys, callback.id, int(self._clock.now().timestamp()), body),
        }
        # The whole is timed above; this one is shared out between the addresses of a name.
        extensions = {"timeout": {"connect": self._timeout}}
        return httpx.Request("POST", callback.url, headers=headers, content=body, extensions=extensions)

    def _outcome(self, response: httpx.Response) -> Delivery:
        status = response.status_code
        if 200 <= status < 300:
            return Delivered({"status": str(status)})
        if status == 410:
            return Refused("gone")
        return Deferred(f"http_{status}", http.retry_after(response.headers, self._clock.now()))


def encode(callback: Callback) -> bytes:
    """The body, byte for byte the same on every try. ASCII, so that any string JSON can hold can be sent."""
    return json.dumps(callback.body, separators=(",", ":")).encode()


def sign(keys: Sequence[bytes], webhook_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of Standard Webhooks, with a signature for each key."""
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def _keys(secrets: Sequence[str]) -> list[bytes]:
    """The keys behind the secrets that can be read."""
    found = []
    for secret in secrets:
        text = secret.removeprefix(PREFIX)
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue
        found += [key] if key else []
    return found


async def _finish(response: httpx.Response) -> None:
    """Read the rest, up to a limit. The status has said everything: a body that breaks off changes nothing."""
    left = MOST_READ
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for part in response.aiter_raw():
                left -= len(part)
                if left < 0:
                    break
    except (httpx.TransportError, TimeoutError):
        log.info("callback.response_cut_short", status=response.status_code)
    finally:
        await response.aclose()
