"""PagerDuty's REST API: an incident's alerts, users, who is on call; and a circuit breaker.

Events, webhooks and answers do not wait for calls that will fail. :class:`CircuitBreaker` opens after several calls in
a row without a reply, or after a 429. After a single lost connection the call is repeated at once, if a second call
does no harm.

    closed ──FAILURES in a row──▶ open (nobody asks) ──AWAY──▶ half open (one asks) ──answered──▶ closed
                                     ▲                               │
                                     └───────────not answered────────┘

Source: https://developer.pagerduty.com/api-reference ("List alerts for an incident", "Get a user");
https://developer.pagerduty.com/docs/rest-api-rate-limits (``ratelimit-reset``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx
import structlog

from channels import http

log = structlog.get_logger(__name__)

FAILURES = 3
"""So many calls without an answer, each begun after the one before had failed, open the breaker."""
AWAY = timedelta(seconds=15)
"""How long nobody asks then."""
LIMITED = timedelta(seconds=20)
"""After a 429 that does not say for how long."""


class LeftAlone(Exception):
    """The breaker is open: no call was made. ``until`` is when it may be, ``why`` the stable code of the failure
    before."""

    def __init__(self, until: datetime, why: str) -> None:
        super().__init__(why)
        self.until = until
        self.why = why


class CircuitBreaker:
    """The breaker of one API. ``now`` is the clock's; ``seconds`` is how long one call may take, its second try
    included."""

    def __init__(self, now: Callable[[], datetime], seconds: float) -> None:
        self._now = now
        self._seconds = seconds
        self._failures = 0
        self._until: datetime | None = None
        self._why = ""
        self._probing = False

    @property
    def until(self) -> datetime | None:
        """The end of the open state, ``None`` if calls may be made."""
        now, until = self._now(), self._until
        if until is None or until <= now or until - now > http.LONGEST_WAIT:  # the clock may have been set back
            return None
        return until

    async def ask(self, send: Callable[[], Awaitable[httpx.Response]], *, twice: bool) -> httpx.Response:
        """The API's reply to ``send``; ``twice``: a lost call may be repeated without harm.

        Raises :class:`LeftAlone`, or one of ``http.CAUGHT`` if there is no reply.
        """
        is_probe = self._admit()
        failures = self._failures
        try:
            async with asyncio.timeout(self._seconds):
                response = await _answered(send, twice=twice)
        except http.CAUGHT as error:
            self._silent(failures, http.failure(error)[1])
            raise
        finally:
            if is_probe:
                self._probing = False
        self._heard(response)
        return response

    def _admit(self) -> bool:
        """Whether this call probes the API after the pause. Raises :class:`LeftAlone`."""
        if (until := self.until) is not None:
            raise LeftAlone(until, self._why)
        if self._failures < FAILURES:
            return False
        if self._probing:
            raise LeftAlone(self._now() + timedelta(seconds=self._seconds), self._why)
        self._probing = True
        return True

    def _silent(self, failures: int, why: str) -> None:
        """``failures`` is the count when the call began: of calls that fail together, one counts."""
        if failures != self._failures:
            return
        self._failures = min(failures + 1, FAILURES)
        if self._failures == FAILURES:
            self._until, self._why = self._now() + AWAY, why

    def _heard(self, response: httpx.Response) -> None:
        self._failures = 0
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            self._until, self._why = self._now() + _reset(response), f"http_{response.status_code}"


async def _answered(send: Callable[[], Awaitable[httpx.Response]], *, twice: bool) -> httpx.Response:
    try:
        return await send()
    except (httpx.NetworkError, httpx.RemoteProtocolError) as lost:
        never_sent = http.failure(lost)[0] is http.Verdict.NOT_SENT
        if not (twice or never_sent):
            raise
    return await send()


def _reset(response: httpx.Response) -> timedelta:
    """PagerDuty gives it in seconds."""
    seconds = response.headers.get("ratelimit-reset", "")
    if not (seconds.isascii() and seconds.isdigit()):
        return LIMITED
    return min(timedelta(seconds=int(seconds[:9])), http.LONGEST_WAIT)


API_URL = "https://api.pagerduty.com"
PAGE = 100
"""Source: https://developer.pagerduty.com/docs/pagination ("limit" is at most 100)."""
MOST_PAGES = 10
TIMEOUT_SECONDS = 3.5
"""For everything together: PagerDuty waits five seconds for our answer to its webhook."""


class ApiUnavailable(Exception):
    """PagerDuty gave no usable reply. ``reason`` is a stable code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class OnCall:
    """``user`` is on call at an escalation policy's ``level`` (1 is asked first). A time of ``None`` means always."""

    user: str
    level: int
    start: datetime | None
    end: datetime | None

    def covers(self, now: datetime) -> bool:
        return (self.start is None or self.start <= now) and (self.end is None or now < self.end)


class PagerDutyApi:
    """Reads with ``token``. Every method raises :class:`ApiUnavailable` if PagerDuty gives no usable reply.

    Without a token nothing can be asked: every incident is unknown.
    """

    def __init__(self, token: str | None, *, now: Callable[[], datetime], api_url: str = API_URL) -> None:
        self._has_token = token is not None
        self._patience = CircuitBreaker(now, TIMEOUT_SECONDS)
        headers = {"Authorization": f"Token token={token or ''}", "Accept": "application/json"}
        self._url = api_url.rstrip("/")
        self._client = http.client(TIMEOUT_SECONDS, headers)

    @property
    def can_ask(self) -> bool:
        """Whether there is a token."""
        return self._has_token

    async def alert_keys(self, incident: str) -> tuple[str, ...]:
        """The dedup keys of an incident's alerts; none if there is no such incident."""
        alerts = await self._all(f"/incidents/{incident}/alerts", "alerts")
        return tuple(key for alert in alerts if isinstance(key := alert.get("alert_key"), str))

    async def email_of(self, user: str) -> str | None:
        """The e-mail that a user signs in with; ``None`` if there is no such user."""
        shown = (await self._get(f"/users/{user}")).get("user")
        email = shown.get("email") if isinstance(shown, dict) else None
        return email if isinstance(email, str) and "@" in email else None

    async def on_calls(self, schedule: str, now: datetime) -> tuple[OnCall, ...]:
        """Everybody on this schedule who is on call ``now``, through any escalation policy."""
        entries = await self._all("/oncalls", "oncalls", **{"schedule_ids[]": schedule})
        return tuple(one for entry in entries if (one := _on_call(entry)) and one.covers(now))

    async def close(self) -> None:
        await self._client.aclose()

    async def _all(self, path: str, name: str, **query: int | str) -> list[Mapping[str, Any]]:
        """The objects of a list, page by page, up to a limit."""
        found: list[Mapping[str, Any]] = []
        for page in range(MOST_PAGES):
            said = await self._get(path, **query, limit=PAGE, offset=page * PAGE)
            given = said.get(name)
            found += [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
            if not said.get("more"):
                break
        return found

    async def _get(self, path: str, **query: int | str) -> Mapping[str, Any]:
        """The body of a 200; empty for a 404."""
        if not self._has_token:
            log.warning("pagerduty.api_token_missing")
            return {}
        try:
            response = await self._patience.ask(lambda: self._client.get(self._url + path, params=query), twice=True)
        except LeftAlone as left:
            raise ApiUnavailable(left.why) from None
        except http.CAUGHT as error:
            raise ApiUnavailable(http.failure(error)[1]) from error
        if response.status_code == 404:
            return {}
        if response.status_code != 200:
            raise ApiUnavailable(f"http_{response.status_code}")
        body = http.object_in(response)
        if body is None:
            raise ApiUnavailable("malformed_response")
        return body


def _on_call(entry: Mapping[str, Any]) -> OnCall | None:
    """``None`` for an entry that can't be read."""
    try:
        user, level = entry["user"]["id"], entry["escalation_level"]
        start, end = (_instant(entry.get(name)) for name in ("start", "end"))
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return OnCall(user, level, start, end) if isinstance(user, str) and isinstance(level, int) else None


def _instant(value: str | None) -> datetime | None:
    """Aware, as PagerDuty writes it; raises ``ValueError``."""
    if value is None:
        return None
    instant = datetime.fromisoformat(value)
    if instant.tzinfo is None:
        raise ValueError("an instant without its offset")
    return instant
