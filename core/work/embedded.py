"""The clock of one process: APScheduler as the alarm over due rows.

One date job stands for the next instant at which anything is due. No job stands for a suspension: its due time is a
column of its row, so that nothing is lost with this process. The sweep finds rows that an alarm missed.

Source: DESIGN.md, "When to look again".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from core.database.database import Tx
from core.ports import Clock
from core.work.looking import SWEEP, Looking

_FARTHEST = timedelta(days=1)


class EmbeddedWork:
    """Implements :class:`core.ports.Work` for a single process. ``nudge`` may be called from the event loop only."""

    def __init__(self, clock: Clock, sweep: timedelta = SWEEP) -> None:
        self._clock = clock
        self._looking = Looking(sweep)
        self._alarm_at: datetime | None = None
        self._scheduler: AsyncIOScheduler | None = None

    async def start(self, look: Callable[[], Awaitable[datetime | None]]) -> None:
        """Look at once, then whenever something is due and at every sweep."""

        async def look_and_go_on() -> None:
            self._alarm_at = None
            following = await look()
            if following is not None:
                self.nudge(following)

        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._scheduler.start()
        self._looking.start(look_and_go_on)

    def nudge(self, at: datetime) -> None:
        """Look at ``at`` at the latest; at once if it has passed."""
        if self._scheduler is None:
            return
        wait = at - self._clock.now()
        if wait <= timedelta(0):
            self._looking.wake()
        elif self._alarm_at is None or at < self._alarm_at:
            self._alarm_at = at
            # The clock is a port: only the distance to it is handed to the scheduler.
            rings = datetime.now(UTC) + min(wait, _FARTHEST)
            self._scheduler.add_job(
                self._ring, "date", run_date=rings, id="alarm", replace_existing=True, misfire_grace_time=None
            )

    def within(self, tx: Tx, at: datetime) -> None:
        """Nobody else looks: this process sets its alarm once ``tx`` is committed."""
        tx.after_commit(lambda: self.nudge(at))

    async def stop(self) -> None:
        """No look begins after this; one in progress is finished."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        await self._looking.stop()

    async def _ring(self) -> None:
        self._looking.wake()
