"""The clock of one process: APScheduler as the alarm over due rows.

One date job stands for the next instant at which anything is due. No job stands for a suspension: what is due is a
column of its row, so that nothing is lost with this process. What an alarm misses, a sweep finds: it counts the event
loop's own seconds, which go on when somebody sets the host's clock back.

Source: DESIGN.md, "When to look again".
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from core.errors import DatabaseUnavailable
from core.ports import Clock

log = structlog.get_logger(__name__)

SWEEP = timedelta(seconds=5)
_FARTHEST = timedelta(days=1)


class EmbeddedWork:
    """Implements :class:`core.ports.Work` for a single process. ``nudge`` may be called from the event loop only."""

    def __init__(self, clock: Clock, sweep: timedelta = SWEEP) -> None:
        self._clock = clock
        self._sweep = sweep
        self._wake = asyncio.Event()
        self._alarm_at: datetime | None = None
        self._scheduler: AsyncIOScheduler | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    async def start(self, look: Callable[[], Awaitable[datetime | None]]) -> None:
        """Look at once, then whenever something is due and at every sweep."""
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._scheduler.start()
        self._stopping = False
        self._wake.set()
        self._task = asyncio.create_task(self._run(look), name="work")

    def nudge(self, at: datetime) -> None:
        """Look at ``at`` at the latest; at once where it has passed."""
        if self._scheduler is None:
            return
        wait = at - self._clock.now()
        if wait <= timedelta(0):
            self._wake.set()
        elif self._alarm_at is None or at < self._alarm_at:
            self._alarm_at = at
            # The clock is a port: only the distance to it is handed to the scheduler.
            rings = datetime.now(UTC) + min(wait, _FARTHEST)
            self._scheduler.add_job(
                self._ring, "date", run_date=rings, id="alarm", replace_existing=True, misfire_grace_time=None
            )

    async def stop(self) -> None:
        """No look begins after this; one that is under way is finished."""
        self._stopping = True
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        if self._task is not None:
            self._wake.set()
            await self._task
            self._task = None

    async def _ring(self) -> None:
        self._wake.set()

    async def _run(self, look: Callable[[], Awaitable[datetime | None]]) -> None:
        while await self._woken():
            self._alarm_at = None
            try:
                following = await look()
            except DatabaseUnavailable:
                log.warning("work.look_failed", reason="database_unavailable")  # the sweep looks again
            except Exception as failure:  # whatever it was, the questions that wait must not wait for ever
                log.exception("work.look_failed", reason=type(failure).__name__)
            else:
                if following is not None:
                    self.nudge(following)

    async def _woken(self) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), self._sweep.total_seconds())
        self._wake.clear()
        return not self._stopping
