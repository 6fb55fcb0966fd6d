"""The heartbeat: pings a URL as long as all is well, so that an outside monitor notices when it is not.

All is well if a look at everything due has just ended and nothing is overdue after it: no question, no message, and no
message in hand for longer than any try takes. A channel that refuses or defers does not stop the ping, since its
messages are tried when they are due. A dead process, a database that is away and a lane that hangs do. Services like
healthchecks.io expect just that: a GET for each period, and a grace of at least one period more.

Source: API.md §8, ``alerts``.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime, timedelta

import structlog

from channels import http
from core.database.database import Database
from core.ports import Clock
from core.store import outbox

log = structlog.get_logger(__name__)

OVERDUE = timedelta(seconds=30)
"""What is due may wait so long for its turn."""

_TIMEOUT_SECONDS = 5.0


class Heartbeat:
    """Pings ``url`` once every ``period`` of the clock, at the end of a look. Never raises, never delays a look."""

    def __init__(self, url: str, period: timedelta, database: Database, clock: Clock) -> None:
        self._url = url
        self._period = period
        self._database = database
        self._clock = clock
        self._client = http.client(_TIMEOUT_SECONDS)
        self._asked_at: datetime | None = None
        self._task: asyncio.Task[None] | None = None
        self._fell_silent = False

    def looked(self) -> None:
        """A look at everything due has ended."""
        now = self._clock.now()
        if self._asked_at is not None and timedelta(0) <= now - self._asked_at < self._period:
            return
        if self._task is not None and not self._task.done():
            return
        self._asked_at = now
        self._task = asyncio.create_task(self._beat(now), name="heartbeat")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._client.aclose()

    async def _beat(self, now: datetime) -> None:
        """Ask what is overdue, and ping if nothing is. A silence logs one line, its end another."""
        reason = await self._late(now) or await self._ping()
        if reason is not None and not self._fell_silent:
            log.warning("heartbeat.silent", reason=reason)
        elif reason is None and self._fell_silent:
            log.info("heartbeat.back")
        self._fell_silent = reason is not None

    async def _late(self, now: datetime) -> str | None:
        """The overdue thing, as a word for the log."""
        try:
            return await self._database.read(lambda conn: outbox.overdue(conn, now, OVERDUE))
        except Exception as failure:  # noqa: BLE001 (whatever it was, nobody can say that all is well)
            return type(failure).__name__

    async def _ping(self) -> str | None:
        """Why the ping failed, ``None`` if it did not. The URL is a secret, and not part of the reason."""
        try:
            response = await self._client.get(self._url)
        except http.CAUGHT as failure:
            return http.failure(failure)[1]
        return None if response.is_success else f"http_{response.status_code}"
