"""The two things that webhooks leave out, asked of PagerDuty's REST API: whose alerts are these, and who is this.

Source: https://developer.pagerduty.com/api-reference ("List alerts for an incident", "Get a user").
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx
import structlog

from channels import http
from channels.pagerduty.patience import Patience

log = structlog.get_logger(__name__)

API_URL = "https://api.pagerduty.com"
PAGE = 100
"""Source: https://developer.pagerduty.com/docs/pagination ("limit" is at most 100)."""
MOST_PAGES = 10
TIMEOUT_SECONDS = 3.5
"""For everything together: PagerDuty waits five seconds for our answer to its webhook."""


class ApiUnavailable(Exception):
    """PagerDuty did not say. ``reason`` is a stable code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class OnCall:
    """``user`` is on call at an escalation policy's ``level`` (1 is asked first), ``None`` standing for always."""

    user: str
    level: int
    start: datetime | None
    end: datetime | None

    def covers(self, now: datetime) -> bool:
        return (self.start is None or self.start <= now) and (self.end is None or now < self.end)


class PagerDutyApi:
    """Reads with ``token``. Every method raises :class:`ApiUnavailable` where there is no telling.

    Without a token nothing can be asked, now or later: every incident is one that we don't know.
    """

    def __init__(self, token: str | None, *, now: Callable[[], datetime], api_url: str = API_URL) -> None:
        self._has_token = token is not None
        self._patience = Patience(now)
        headers = {"Authorization": f"Token token={token or ''}", "Accept": "application/json"}
        self._url = api_url.rstrip("/")
        self._client = httpx.AsyncClient(
            headers=headers,
            verify=http.authorities(),
            trust_env=False,
            follow_redirects=False,
            timeout=TIMEOUT_SECONDS,
        )

    @property
    def can_ask(self) -> bool:
        """Whether there is a token."""
        return self._has_token

    async def alert_keys(self, incident: str) -> tuple[str, ...]:
        """The dedup keys of an incident's alerts; none where there is no such incident."""
        keys: list[str] = []
        for page in range(MOST_PAGES):
            said = await self._get(f"/incidents/{incident}/alerts", limit=PAGE, offset=page * PAGE)
            found = (alert.get("alert_key") for alert in _objects(said, "alerts"))
            keys += [key for key in found if isinstance(key, str)]
            if not said.get("more"):
                break
        return tuple(keys)

    async def email_of(self, user: str) -> str | None:
        """The mailbox that a user signs in with; ``None`` where there is no such user."""
        shown = (await self._get(f"/users/{user}")).get("user")
        email = shown.get("email") if isinstance(shown, dict) else None
        return email if isinstance(email, str) and "@" in email else None

    async def on_calls(self, schedule: str, now: datetime) -> tuple[OnCall, ...]:
        """Everybody whom this schedule has on call ``now``, through any escalation policy."""
        found: list[OnCall] = []
        for page in range(MOST_PAGES):
            query: dict[str, int | str] = {"schedule_ids[]": schedule, "limit": PAGE, "offset": page * PAGE}
            said = await self._get("/oncalls", **query)
            found += [one for entry in _objects(said, "oncalls") if (one := _on_call(entry)) and one.covers(now)]
            if not said.get("more"):
                break
        return tuple(found)

    async def close(self) -> None:
        await self._client.aclose()

    async def _get(self, path: str, **query: int | str) -> Mapping[str, Any]:
        """The body of a 200; empty for a 404."""
        if not self._has_token:
            log.warning("pagerduty.api_token_missing")
            return {}
        if (left_alone := self._patience.wanted()) is not None:
            raise ApiUnavailable(left_alone[1])
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                response = await self._client.get(self._url + path, params=query)
        except http.CAUGHT as error:
            reason = http.failure(error)[1]
            self._patience.silent(reason)
            raise ApiUnavailable(reason) from error
        self._patience.heard(response)
        if response.status_code == 404:
            return {}
        if response.status_code != 200:
            raise ApiUnavailable(f"http_{response.status_code}")
        try:
            body = response.json()
        except ValueError as error:
            raise ApiUnavailable("malformed_response") from error
        if not isinstance(body, dict):
            raise ApiUnavailable("malformed_response")
        return body


def _objects(said: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A list in a body, as far as it is one."""
    given = said.get(name)
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _on_call(entry: Mapping[str, Any]) -> OnCall | None:
    """``None`` for an entry that can't be read: it names nobody then."""
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
