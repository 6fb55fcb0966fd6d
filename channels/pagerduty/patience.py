"""How long PagerDuty's REST API is left alone after it has not answered, or has said that it is asked too often.

Events, webhooks and whoever answers a question do not wait for one API call after another that will fail.

Source: https://developer.pagerduty.com/docs/rest-api-rate-limits (``ratelimit-reset``).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import httpx

from channels import http

AWAY = timedelta(seconds=15)
"""After it has not answered at all."""
LIMITED = timedelta(seconds=20)
"""After a 429 that does not say for how long."""


class Patience:
    """One API's; ``now`` is the clock's."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._until: datetime | None = None
        self._why = ""

    def wanted(self) -> tuple[datetime, str] | None:
        """Until when it is left alone and why, as a stable code; ``None`` where it may be asked."""
        now, until = self._now(), self._until
        if until is None or until <= now or until - now > http.LONGEST_WAIT:  # the clock may have been set back
            return None
        return until, self._why

    def silent(self, why: str) -> None:
        """It did not answer."""
        self._until, self._why = self._now() + AWAY, why

    def heard(self, response: httpx.Response) -> None:
        """It answered, perhaps that it is asked too often."""
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            self._until, self._why = self._now() + _reset(response), f"http_{response.status_code}"


def _reset(response: httpx.Response) -> timedelta:
    """As PagerDuty says it: in seconds."""
    seconds = response.headers.get("ratelimit-reset", "")
    if not (seconds.isascii() and seconds.isdigit()):
        return LIMITED
    return min(timedelta(seconds=int(seconds[:9])), http.LONGEST_WAIT)
