"""The service: every part that runs, and the order in which they start and stop. ``composition`` builds them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from fastapi import APIRouter

from bot.config.loading import not_configured
from bot.config.settings import Settings
from bot.keys import REFRESH, KeyRing
from bot.observability.heartbeat import Heartbeat
from bot.web.api.auth import Services
from bot.web.hooks import Doors
from bot.web.monitoring import Scrape
from bot.wiring.reloading import Reloading
from bot.wiring.roles import Part, Parts
from bot.wiring.shutdown import Steps
from bot.wiring.vendors import Vendors
from core.audit.retention import OutboxRetention, Retention
from core.database.database import Database, opening
from core.delivery.confirmation import Confirmations, ConfirmationSweep
from core.delivery.lanes import Lanes
from core.delivery.lost_withdrawals import LostWithdrawals
from core.delivery.relay import Relay
from core.engine.engine import Engine
from core.engine.transitions import Transitions
from core.errors import DatabaseUnavailable
from core.openintent.intents.due_work import DueWork
from core.openintent.intents.follower import Follower
from core.openintent.intents.reconciler import Reconciler
from core.ports import Agents, Channel, Clock, Work
from core.store import markers
from core.work.every import Every
from core.work.health import CLOCK, RELAY, Health
from core.work.news import News
from core.work.presence import Timekeeping, WorkerPresence

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Service:
    """All running parts, and the order in which they start and stop."""

    parts: Parts
    database: Database
    clock: Clock
    keys: KeyRing
    engine: Engine
    transitions: Transitions
    relay: Relay
    follower: Follower
    retention: Retention
    outbox_retention: OutboxRetention
    arrivals: Confirmations
    lost_withdrawals: LostWithdrawals
    sweeping: ConfirmationSweep
    due_work: DueWork
    reconciler: Reconciler
    lanes: Lanes
    work: Work
    beating: WorkerPresence
    health: Health
    news: News | None
    vendors: Vendors
    agents: Agents
    timekeeping: Timekeeping
    services: Services
    pages: APIRouter
    scrape: Scrape
    reloading: Reloading
    heartbeat: Heartbeat | None = None
    working: bool = False
    _refreshing: Every | None = field(default=None)

    @property
    def settings(self) -> Settings:
        """The settings in force: a reload may have changed them."""
        return self.reloading.settings

    @property
    def channels(self) -> Mapping[str, Channel]:
        return self.vendors.channels

    @property
    def doors(self) -> Doors:
        return self.vendors.doors

    async def start(self) -> None:
        """Begin to listen to other processes, to send, and to look at due rows, as far as this process has these
        roles. The database's schema must be ready. Raises :class:`DatabaseUnavailable`, which names the setting."""
        with opening(self.database.engine.url):
            await self._begin()
        self.working = True
        parts, channels = sorted(part.value for part in self.parts), sorted(self.channels)
        log.info("service.started", parts=parts, channels=channels, database=self.database.dialect)
        log.info("service.not_configured", settings=not_configured(self.settings))

    async def _begin(self) -> None:
        await self.timekeeping.follow()
        await self.keys.refresh()
        await self.services.running.pausing.stands()
        await self.reloading.start()
        if self.news is not None:
            await self.news.start()
        for source in self.vendors.sources.values():
            await source.follow(self.services.asking.responders.everybody())
        self._refreshing = Every("keys", REFRESH, self._refresh, self.health)
        self._refreshing.start()
        if Part.WORKER in self.parts:
            await self._start_working()
        else:
            await self._live()
        await self.doors.start()

    async def _start_working(self) -> None:
        """The heartbeat starts before the first row is leased, so that no other process takes it for a dead
        worker's."""
        await self.beating.start()
        await self.relay.start()
        await self.work.start(self.look)
        self.follower.start()

    async def _live(self) -> None:
        """A process without a clock writes that it lives, and learns which time it is."""
        try:
            await self.database.write(lambda tx: markers.say_alive(tx, self.lanes.owner, self.clock.now()))
        except DatabaseUnavailable as failure:
            self.health.failed(failure)
            raise
        self.health.beaten()
        await self.timekeeping.follow()

    async def look(self) -> datetime | None:
        """Do everything that is due; returns when the next thing is."""
        self.health.begins(CLOCK)
        if not self.lanes.held:
            self.health.begins(RELAY)  # nothing waits for it
        moments = [
            await self.engine.look(),
            await self.due_work.look(),
            await self.relay.look(),
            await self.retention.look(),
            await self.outbox_retention.look(),
            await self.arrivals.look(),
            await self.lost_withdrawals.look(),
            self.sweeping.look(),
            *await self.doors.look(),
        ]
        await self.reconciler.look()
        self.health.looked()
        if self.heartbeat is not None:
            self.heartbeat.looked()
        return min((at for at in moments if at is not None), default=None)

    async def _refresh(self) -> None:
        """Changes by other processes: keys, and the pause."""
        if Part.WORKER not in self.parts:
            await self._live()
        await self.keys.refresh()
        await self.services.running.pausing.stands()
        await self.reloading.look()

    async def stop(self, patience: timedelta = timedelta(seconds=10)) -> None:
        """Stop taking work, finish or give back rows in hand, close everything; within ``patience``, whatever hangs."""
        self.working = False
        self.services.running.closing.set()
        steps = Steps(patience)
        await steps.take("reload", self.reloading.close())
        await steps.take("doors", self.doors.stop_taking())
        if Part.WORKER in self.parts:
            await steps.take("clock", self._stop_looking())
            await steps.take("relay", self.relay.stop(steps.left * 0.6), share=0.8)
            await steps.take("beat", self.beating.stop())
        for what, ends in self._closing():
            await steps.take(what, ends())
        await steps.take("database", self.database.close(steps.left * 0.5), share=0.8)
        await steps.take("tracing", asyncio.to_thread(self.services.running.tracing.close))
        log.info("service.stopped")

    async def _stop_looking(self) -> None:
        await self.follower.stop()
        await self.work.stop()
        await self.sweeping.stop()
        await self.doors.stop_looking()

    def _closing(self) -> Iterator[tuple[str, Callable[[], Awaitable[object]]]]:
        """The parts with connections of their own, in the order of closing."""
        if self.heartbeat is not None:
            yield "heartbeat", self.heartbeat.close
        if self._refreshing is not None:
            yield "keys", self._refreshing.stop
        if self.news is not None:
            yield "news", self.news.stop
        for name, channel in self.channels.items():
            yield name, channel.close
        yield "doors", self.doors.close
        for name, source in self.vendors.sources.items():
            yield f"{name}.source", source.close
        yield "agents", self.agents.close
