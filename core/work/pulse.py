"""Seen alive: every worker leaves a beat in the database, and whoever beats first after a silence finds an outage.

A clock on the wall may be set; seconds since the host was started may not. So a process that was alive all the while
does not take a step of its host's clock for an outage: what it has slept through itself is the most there can be.

Source: API.md §3, "After an outage of ours".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy.exc import IntegrityError

from core.ports import Clock
from core.store import outages, outbox, workers
from core.store.database import Database, Tx

log = structlog.get_logger(__name__)

_UNSURE = timedelta(seconds=5)
"""How far two clocks of a host may part without either having been set."""


def since_start() -> timedelta:
    """Time since the host was started, sleep included where the system counts it; never set back."""
    return timedelta(seconds=time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)))


@dataclass(slots=True)
class Pulse:
    """The beats of ``worker``, under whose id this process leases rows.

    ``grace`` is the longest silence that is no outage; ``None`` where none ever counts.
    """

    database: Database
    clock: Clock
    worker: str
    roles: str
    grace: timedelta | None
    elapsed: Callable[[], timedelta] = since_start
    _last: tuple[datetime, timedelta] | None = None

    async def beat(self) -> None:
        """Leave a beat; record an outage that it ends."""
        now, elapsed, last = self.clock.now(), self.elapsed(), self._last
        awake = None if last is None else elapsed - last[1]
        self._last = (now, elapsed)
        try:
            silence = await self._beat(now, awake)
        except BaseException:
            self._last = last  # nobody has seen it
            raise
        if silence is not None:
            log.warning("service.outage", seconds=round(silence.total_seconds()))
        if last is not None and awake is not None and now - last[0] < awake - _UNSURE:
            await self._set_back(now)

    async def _beat(self, now: datetime, awake: timedelta | None) -> timedelta | None:
        def job(tx: Tx) -> timedelta | None:
            silence = self._record_outage(tx, now, awake)
            workers.beat(tx, self.worker, self.roles, now)
            return silence

        try:
            return await self.database.write(job)
        except IntegrityError:  # another process has come back at the same moment, and was first to say so
            return await self.database.write(job)

    def _record_outage(self, tx: Tx, now: datetime, awake: timedelta | None) -> timedelta | None:
        """The silence that this beat ends, ``None`` where it was short enough or is recorded already."""
        last = workers.latest_beat(tx.conn)
        if last is None or self.grace is None:
            return None
        silence = now - last if awake is None else min(now - last, awake)
        if silence <= self.grace:
            return None
        outages.record(tx, last, now, silence)
        return silence

    async def _set_back(self, now: datetime) -> None:
        """The host's clock was set back: what waits for another try waited by the other clock, and is due now."""
        hurried = await self.database.write(lambda tx: outbox.hurry(tx, now))
        log.warning("service.clock_set_back", retries=hurried)
