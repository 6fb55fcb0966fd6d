"""HTTP outcomes: what a response, or a failure on the way, means for a message. One table for all channels.

Delivered, surely not sent, in doubt, or never to be accepted. A doubt is Ambiguous, unless the receiver collapses
repeats by itself: then repeating blindly is the reconciliation, and a doubt is Deferred.

Source: facts on channels §F, "Outbound"; RFC 9110 §10.2.3 (Retry-After), §15.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from functools import cache
from typing import Any

import httpx

from core.ports import Ambiguous, Deferred, Delivered, Delivery, Receipt, RefusalCause, Refused

LONGEST_WAIT = timedelta(hours=1)
"""No Retry-After holds a message back for longer: the question would be over."""


class Verdict(Enum):
    """What is known of a message after one try."""

    ACCEPTED = auto()
    NOT_SENT = auto()
    IN_DOUBT = auto()
    NEVER = auto()


@cache
def authorities() -> ssl.SSLContext:
    """Whom TLS believes. Loaded once: it takes as long as many requests."""
    return httpx.create_ssl_context(trust_env=False)


def client(seconds: float, headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
    """Follows no redirect, and uses nothing of the environment's."""
    return httpx.AsyncClient(
        headers=headers, verify=authorities(), trust_env=False, follow_redirects=False, timeout=seconds
    )


class Repeats(Enum):
    """What the receiver does with the same message twice."""

    COUNT = auto()
    COLLAPSE = auto()


STATUSES: Mapping[int, Verdict] = {
    408: Verdict.IN_DOUBT,  # the other side stopped reading; how far it came is not said
    425: Verdict.NOT_SENT,
    429: Verdict.NOT_SENT,
}
CLASSES: Mapping[int, Verdict] = {
    2: Verdict.ACCEPTED,
    3: Verdict.NEVER,  # redirects are not followed: the address is wrong
    4: Verdict.NEVER,
    5: Verdict.IN_DOUBT,
}
FAILURES: tuple[tuple[type[Exception], Verdict, str], ...] = (
    # The first that fits counts; what comes before the first byte of the request is surely not sent.
    (httpx.ConnectTimeout, Verdict.NOT_SENT, "connect_timeout"),
    (httpx.ConnectError, Verdict.NOT_SENT, "connect_failed"),
    (httpx.PoolTimeout, Verdict.NOT_SENT, "no_free_connection"),
    (httpx.InvalidURL, Verdict.NEVER, "invalid_url"),
    (httpx.UnsupportedProtocol, Verdict.NEVER, "unsupported_protocol"),
    (httpx.LocalProtocolError, Verdict.NEVER, "malformed_request"),
    (httpx.TimeoutException, Verdict.IN_DOUBT, "timeout"),
    (TimeoutError, Verdict.IN_DOUBT, "timeout"),
    (httpx.RemoteProtocolError, Verdict.IN_DOUBT, "no_valid_response"),
    (httpx.TransportError, Verdict.IN_DOUBT, "connection_lost"),
)
CAUGHT = tuple(kind for kind, _, _ in FAILURES)
"""Errors to catch around a request: every failure of the network."""


def verdict_on(status: int) -> Verdict:
    return STATUSES.get(status) or CLASSES.get(status // 100, Verdict.NEVER)


def failure(error: Exception) -> tuple[Verdict, str]:
    """What an exception out of :data:`CAUGHT` means, and its stable code."""
    return next((verdict, reason) for kind, verdict, reason in FAILURES if isinstance(error, kind))


async def post(
    client: httpx.AsyncClient,
    url: str,
    body: bytes,
    receipt: Receipt,
    repeats: Repeats,
    now: Callable[[], datetime],
    headers: Mapping[str, str] | None = None,
) -> Delivery:
    """One try to deliver a JSON text; ``receipt`` is the message's own if it is accepted."""
    try:
        sent = {"Content-Type": "application/json", **(headers or {})}
        response = await client.post(url, content=body, headers=sent)
    except CAUGHT as error:
        return failed(error, repeats)
    return answered(response, receipt, repeats, now())


def answered(response: httpx.Response, receipt: Receipt, repeats: Repeats, now: datetime) -> Delivery:
    """The outcome of a try that got a response; ``receipt`` is the message's own if it was accepted."""
    verdict, reason = verdict_on(response.status_code), f"http_{response.status_code}"
    if verdict is Verdict.ACCEPTED:
        return Delivered(receipt)
    return _outcome(verdict, reason, repeats, retry_after(response.headers, now))


def failed(error: Exception, repeats: Repeats) -> Delivery:
    """The outcome of a try that ended in one of :data:`CAUGHT`."""
    verdict, reason = failure(error)
    return _outcome(verdict, reason, repeats, None)


def _outcome(verdict: Verdict, reason: str, repeats: Repeats, until: datetime | None) -> Delivery:
    if verdict is Verdict.NEVER:
        return Refused(reason, RefusalCause.SETUP)  # a wrong key, a wrong address, or a mistake of ours
    if verdict is Verdict.IN_DOUBT and repeats is Repeats.COUNT:
        return Ambiguous(reason)
    return Deferred(reason, until)


def object_in(response: httpx.Response) -> dict[str, Any] | None:
    """The JSON object that is its body, ``None`` where it is none."""
    try:
        body = response.json()
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def retry_after(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """When the other side wants to hear from us again, at most :data:`LONGEST_WAIT` from now; seconds or a date."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        # Nine digits are decades; more would overflow.
        return now + min(timedelta(seconds=int(value[:9])), LONGEST_WAIT)
    try:
        wanted = parsedate_to_datetime(value)
    except ValueError:
        return None
    wanted = wanted if wanted.tzinfo else wanted.replace(tzinfo=UTC)
    return min(max(wanted, now), now + LONGEST_WAIT)
