"""Presence: a worker's heartbeat every few seconds, recovery if it stops, and which time it is.

A row in hand is leased to a worker. As long as that worker is alive, no other sends the row. Silence is counted in the
watcher's own seconds and by beats, not by instants, because hosts' clocks differ and jump. The rows of a silent worker
are freed for the others.

The first worker to beat after all were silent finds an outage. A clock that is set forward counts as one too, and the
beat finds it before this process uses the new time. If the clock is set back because it was wrong, the added time is
taken off again.

Every instant of ours is read off a clock that goes on by the seconds since its host was started
(:class:`core.ports.HostClock`). Only the beat sets it, once the consequences are committed. So no question ends by a
time that is about to move, and a replica with a wrong clock works by the same time as the others.

Source: API.md §3, "After an outage of ours"; docs/decisions/0034-clocks-that-are-set.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import IntegrityError

from core.database.call_deadlines import LONG
from core.database.database import Database, Tx
from core.errors import DatabaseUnavailable
from core.ports import Alarm, Clock, HostClock
from core.store import outages, outbox, workers
from core.store.workers import Seen
from core.work.every import Every
from core.work.health import BEAT, Health

log = structlog.get_logger(__name__)

_NEAR = timedelta(seconds=0.1)
"""How far two hosts' clocks may part without anybody following the other."""

_NOW = sa.select(sa.func.clock_timestamp())


@dataclass(frozen=True, slots=True)
class Timekeeping:
    """Tells how far ``clock`` is behind the authoritative time."""

    database: Database
    clock: HostClock

    async def step(self) -> timedelta:
        """How far the authoritative time is ahead of ``clock``; negative if it is behind, zero if they agree."""
        if not self.database.is_shared:
            return self.clock.ahead(None)
        before = self.clock.now()
        shared = await self.database.read(lambda conn: conn.scalar(_NOW))
        took = self.clock.now() - before
        step = self.clock.ahead(shared) + took / 2
        return step if abs(step) > took / 2 + _NEAR else timedelta(0)

    async def follow(self) -> None:
        """For a process without a heartbeat: adopt the authoritative time."""
        self.clock.follow(await self.step())


_UNSURE = timedelta(seconds=5)
"""How far two clocks of a host may part without either having been set."""


_SINCE_START = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def since_start() -> timedelta:
    """Time since the host was started, including sleep if the system counts it; never set back."""
    return timedelta(0, 0, time.clock_gettime_ns(_SINCE_START) // 1000)  # of whole numbers it is made in half the time


@dataclass(slots=True)
class WorkerPulse:
    """The beats of ``worker``, the id under which this process leases rows.

    ``grace`` is the longest silence that is not an outage; ``None`` if none ever counts.
    """

    database: Database
    clock: HostClock
    worker: str
    roles: str
    grace: timedelta | None
    elapsed: Callable[[], timedelta] = since_start
    _last: tuple[datetime, timedelta] | None = None
    _set_forward: timedelta = timedelta(0)
    """How much of what counted as outages was the clock being set, as far as this process has seen."""
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def beat(self) -> None:
        """Write a beat, record an outage that it ends, and use the authoritative time from here on."""
        async with self._one:
            step = await Timekeeping(self.database, self.clock).step()
            await self._beat_at(self.clock.now() + step, step)

    async def _beat_at(self, now: datetime, step: timedelta) -> None:
        elapsed, last = self.elapsed(), self._last
        awake = None if last is None else elapsed - last[1]
        counted = timedelta(0) if self.grace is None or last is None or abs(step) <= self.grace else step
        self._last = (now, elapsed)
        try:
            silence = await self._beat(now, awake, counted)
        except BaseException:
            self._last = last  # nobody has seen it
            raise
        self.clock.follow(step)
        self._set_forward = max(self._set_forward + counted, timedelta(0))
        if silence is not None:
            log.warning("service.outage", seconds=round(silence.total_seconds()))
        if last is not None and awake is not None and now - last[0] < awake - _UNSURE:
            await self._set_back(now)

    async def _beat(self, now: datetime, awake: timedelta | None, step: timedelta) -> timedelta | None:
        def job(tx: Tx) -> timedelta | None:
            taken_off = min(-step, self._set_forward)
            if self.grace is not None and taken_off > self.grace:
                outages.take_off(tx, now, taken_off)
            silence = self._record_outage(tx, now, self._longest(awake, step))
            workers.beat(tx, self.worker, self.roles, now)
            return silence

        try:
            return await self.database.write(job)
        except IntegrityError:  # another process has come back at the same moment, and was first to say so
            return await self.database.write(job)

    def _longest(self, awake: timedelta | None, step: timedelta) -> timedelta | None:
        """The longest possible outage: how long this process has slept, and how far its clock was set forward.

        ``None`` if it can't know. The time that it was alive is not part of the latter.
        """
        if awake is None or self.grace is None:
            return None
        return awake if step <= timedelta(0) else step + (awake if awake > self.grace else timedelta(0))

    def _record_outage(self, tx: Tx, now: datetime, longest: timedelta | None) -> timedelta | None:
        """The silence that this beat ends, ``None`` if it was short enough or is recorded already."""
        last = workers.latest_beat(tx.conn)
        if last is None or self.grace is None:
            return None
        silence = now - last if longest is None else min(now - last, longest)
        if silence <= self.grace:
            return None
        outages.record(tx, last, now, silence)
        return silence

    async def _set_back(self, now: datetime) -> None:
        """The host's clock was set back: rows that wait for another try waited by the old clock, and are due now."""
        hurried = await self.database.write(lambda tx: outbox.hurry(tx, now))
        log.warning("service.clock_set_back", retries=hurried)


EVERY = timedelta(seconds=5)
SILENT = timedelta(seconds=20)
_LONG = 10
"""A worker whose last beat is so many times :data:`SILENT` old when it is first seen is gone, though nobody watched it
die. Of one that is watched the instants say nothing: clocks may have been set since."""


class WorkerWatch:
    """Detects dead workers: remembers when each one's beats last grew, as this process saw it."""

    def __init__(self, silent: timedelta) -> None:
        self._silent = silent
        self._grew: dict[str, tuple[int, float]] = {}

    def gone(self, seen: Iterable[Seen], now: datetime, tick: float) -> list[str]:
        """Ids of silent workers. ``tick`` counts seconds and never jumps."""
        known, self._grew, gone = self._grew, {}, []
        for worker in seen:
            beats, since = known.get(worker.id, (None, tick))
            self._grew[worker.id] = (worker.beats, since if beats == worker.beats else tick)
            silent = timedelta(seconds=tick - self._grew[worker.id][1])
            is_new = worker.id not in known
            if silent >= self._silent or (is_new and now - worker.beat_at >= self._silent * _LONG):
                gone.append(worker.id)
        return gone


class WorkerPresence:
    """Beats as long as this process works, and watches the other workers."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        alarm: Alarm,
        pulse: WorkerPulse,
        every: timedelta = EVERY,
        silent: timedelta = SILENT,
        health: Health | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._alarm = alarm
        self._pulse = pulse
        self._watch = WorkerWatch(silent)
        self._health = health
        self._periodic = Every(BEAT, every, self.beat, health)

    async def start(self) -> None:
        """The first beat. A process alone on its file takes back at once the rows of any earlier one."""
        if not self._database.is_shared:
            now = self._clock.now()
            worker = self._pulse.worker
            void = self._database.write(lambda tx: outbox.void_leases(tx, owner=worker, now=now), within=LONG)
            _tell(await void)
        await self.beat()
        self._periodic.start()

    async def stop(self) -> None:
        """The last beat: from here on nobody looks, unless others do."""
        await self._periodic.stop()
        await self._pulse.beat()

    async def beat(self) -> None:
        """Raises :class:`DatabaseUnavailable`, and reports it to readiness."""
        try:
            self._database.check_file()
            await self._beat()
        except DatabaseUnavailable as failure:
            if self._health is not None:
                self._health.failed(failure)
            raise
        if self._health is not None:
            self._health.beaten()

    async def _beat(self) -> None:
        now = self._clock.now()
        others = [one for one in await self._database.read(workers.seen) if one.id != self._pulse.worker]
        gone = self._watch.gone(others, now, time.monotonic())
        await self._pulse.beat()
        if gone or self._database.is_shared:  # who never beats may be gone too
            _tell(await self._database.write(lambda tx: self._take_over(tx, gone, now)))

    def _take_over(self, tx: Tx, gone: list[str], now: datetime) -> int:
        if not self._database.is_shared:
            workers.forget(tx, gone)
            return 0
        taken = outbox.take_back(tx, gone, now)
        if gone:
            workers.forget(tx, gone)
        if taken:
            self._alarm.within(tx, now)
        return taken


def _tell(taken: int) -> None:
    if taken:
        log.info("work.taken_back", rows=taken)
