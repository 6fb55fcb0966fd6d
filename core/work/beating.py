"""A worker's pulse: says every few seconds that it is alive, and frees what workers that have gone had in hand.

A row in hand is leased to a worker. As long as that worker lives nobody else sends it, however long it waits for its
turn. Silence is counted in the watcher's own seconds and by beats, not by instants: hosts' clocks differ, and jump.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog

from core.ports import Clock
from core.store import outbox, workers
from core.store.database import Database, Tx
from core.store.workers import Seen
from core.transitions import Alarm
from core.work.every import Every
from core.work.pulse import Pulse

log = structlog.get_logger(__name__)

EVERY = timedelta(seconds=5)
SILENT = timedelta(seconds=20)
_LONG = 10
"""A worker whose last beat is so many times :data:`SILENT` old is gone, though nobody watched it die."""


class Watch:
    """Which workers have gone. Remembers when each one's beats last grew, as this process saw it."""

    def __init__(self, silent: timedelta) -> None:
        self._silent = silent
        self._grew: dict[str, tuple[int, float]] = {}

    def gone(self, seen: Iterable[Seen], now: datetime, tick: float) -> list[str]:
        """Ids of those that are silent. ``tick`` counts seconds and never jumps."""
        known, self._grew, gone = self._grew, {}, []
        for worker in seen:
            beats, since = known.get(worker.id, (None, tick))
            self._grew[worker.id] = (worker.beats, since if beats == worker.beats else tick)
            silent = timedelta(seconds=tick - self._grew[worker.id][1])
            if silent >= self._silent or now - worker.beat_at >= self._silent * _LONG:
                gone.append(worker.id)
        return gone


class Beating:
    """Beats as long as this process works, and watches the others do so."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        alarm: Alarm,
        pulse: Pulse,
        every: timedelta = EVERY,
        silent: timedelta = SILENT,
    ) -> None:
        self._database = database
        self._clock = clock
        self._alarm = alarm
        self._pulse = pulse
        self._watch = Watch(silent)
        self._periodic = Every("beat", every, self.beat)

    async def start(self) -> None:
        """The first beat. A process alone on its file takes back at once what any earlier one had in hand."""
        if self._database.dialect == "sqlite":
            now = self._clock.now()
            _tell(await self._database.write(lambda tx: outbox.void_leases(tx, owner=self._pulse.worker, now=now)))
        await self.beat()
        self._periodic.start()

    async def stop(self) -> None:
        """The last beat: from here on nobody looks, unless others do."""
        await self._periodic.stop()
        await self._pulse.beat()

    async def beat(self) -> None:
        now = self._clock.now()
        others = [one for one in await self._database.read(workers.seen) if one.id != self._pulse.worker]
        gone = self._watch.gone(others, now, time.monotonic())
        await self._pulse.beat()
        if gone:
            _tell(await self._database.write(lambda tx: self._take_over(tx, gone, now)))

    def _take_over(self, tx: Tx, gone: list[str], now: datetime) -> int:
        if self._database.dialect == "sqlite":
            workers.forget(tx, gone)
            return 0
        taken = outbox.take_back(tx, gone, now)
        workers.forget(tx, gone)
        if taken:
            self._alarm.within(tx, now)
        return taken


def _tell(taken: int) -> None:
    if taken:
        log.info("work.taken_back", rows=taken)
