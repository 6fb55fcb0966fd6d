"""The composition root: the only file that knows everyone.

:func:`wire` opens the database and builds every part from the settings; :class:`Service` starts and stops them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter

from bot.agents import CallbackAgents
from bot.archive import archive_folder
from bot.clock import SystemClock
from bot.config import Settings
from bot.heartbeat import Heartbeat
from bot.keyring import KeyRing
from bot.keys import RootKey, root_key
from bot.observer import Witness
from bot.responders import Directory
from bot.roles import EVERYTHING, Part, Parts, check_fits
from bot.slack_accounts import AccountSearch
from bot.telemetry import Metrics
from bot.tracing import NO_TRACING, Tracing
from bot.vendors import channels_of, doors_of, pagerduty_parts, pagerduty_source, slack_people
from bot.web.hooks import Doors
from bot.web.metrics import Scrape
from bot.web.pages import pages_router
from bot.web.services import Services
from core.arrivals import Arrivals
from core.audit import Audit
from core.books import Books
from core.containers.changes import Intents
from core.domain.wire import JsonObject
from core.engine import Engine
from core.errors import ConfigError
from core.hub import Hub
from core.lanes import Lanes
from core.news import News
from core.opening import Drafter
from core.pausing import Pausing
from core.planning import Planner
from core.ports import Agents, Channel, Clock, Work
from core.relay import Relay
from core.retention import Retention
from core.store import keeping, outbox, schema
from core.store.database import Database, Tx, open_database
from core.store.unusable import opening
from core.sweeping import Sweeping
from core.together import Together
from core.tokens import TokenMaker
from core.transitions import Transitions
from core.work.beating import Beating
from core.work.distributed import DistributedWork
from core.work.embedded import EmbeddedWork
from core.work.every import Every
from core.work.pulse import Pulse

if TYPE_CHECKING:  # loaded where PagerDuty is set up
    from bot.pagerduty_parking import PagerDutyParking
    from bot.pagerduty_parts import PagerDutySource

log = structlog.get_logger(__name__)

_REFRESH = timedelta(seconds=5)


@dataclass(slots=True)
class Service:
    """Everything that runs, and the order in which it starts and stops."""

    settings: Settings
    parts: Parts
    database: Database
    clock: Clock
    keys: KeyRing
    engine: Engine
    relay: Relay
    retention: Retention
    arrivals: Arrivals
    sweeping: Sweeping
    lanes: Lanes
    work: Work
    beating: Beating
    news: News | None
    channels: Mapping[str, Channel]
    agents: Agents
    services: Services
    doors: Doors
    pages: APIRouter
    scrape: Scrape
    asking: PagerDutySource | None = None
    parking: PagerDutyParking | None = None
    heartbeat: Heartbeat | None = None
    searching: AccountSearch | None = None
    working: bool = False
    _refreshed_at: datetime | None = field(default=None)
    _refreshing: Every | None = field(default=None)

    async def start(self) -> None:
        """Begin to hear of other processes, to send, and to look at what is due, as far as that is this process's
        part. The database's schema must be ready. Raises :class:`DatabaseUnavailable`, which names the setting."""
        with opening(self.database.engine.url):
            await self._begin()
        self.working = True
        parts, channels = sorted(part.value for part in self.parts), sorted(self.channels)
        log.info("service.started", parts=parts, channels=channels, database=self.database.dialect)

    async def _begin(self) -> None:
        await self.keys.refresh()
        if self.news is not None:
            await self.news.start()
        if self.searching is not None:
            await self.searching.start()
        if Part.WORKER in self.parts:
            await self._start_working()
        else:
            self._refreshing = Every("keys", _REFRESH, self.keys.refresh)
            self._refreshing.start()
        await self.doors.start()

    async def _start_working(self) -> None:
        """Alive before the first row is leased: nobody takes it for a dead worker's."""
        await self.beating.start()
        await self.relay.start()
        await self.work.start(self.look)

    async def look(self) -> datetime | None:
        """Do everything that is due; returns when the next thing is."""
        await self._refresh_keys()
        moments = [
            await self.engine.look(),
            await self.relay.look(),
            await self.retention.look(),
            await self.arrivals.look(),
            self.sweeping.look(),
        ]
        if self.parking is not None:
            moments.append(await self.parking.look())
        if self.heartbeat is not None:
            self.heartbeat.looked()
        return min((at for at in moments if at is not None), default=None)

    async def _refresh_keys(self) -> None:
        now = self.clock.now()
        if self._refreshed_at is None or abs(now - self._refreshed_at) >= _REFRESH:  # it may have been set back
            self._refreshed_at = now
            await self.keys.refresh()

    async def _stop_working(self) -> None:
        await self.work.stop()
        await self.sweeping.stop()
        if self.parking is not None:
            await self.parking.stop()
        await self.relay.stop()
        await self.beating.stop()

    async def stop(self) -> None:
        """Stop taking work, finish or give back what is in hand, let go of everything."""
        self.working = False
        self.services.closing.set()
        await self.doors.stop_taking()
        if Part.WORKER in self.parts:
            await self._stop_working()
        if self.heartbeat is not None:
            await self.heartbeat.close()
        if self.searching is not None:
            await self.searching.stop()
        if self._refreshing is not None:
            await self._refreshing.stop()
        if self.news is not None:
            await self.news.stop()
        for channel in self.channels.values():
            await channel.close()
        await self.doors.close()
        if self.asking is not None:
            await self.asking.close()
        await self.agents.close()
        await self.database.close()
        await asyncio.to_thread(self.services.tracing.close)
        log.info("service.stopped")


def open_store(settings: Settings, parts: Parts = EVERYTHING) -> Database:
    """The database, this process's alone where it is a file, and its schema ready; raises the :class:`OperatorError`
    that says what is wrong."""
    database = open_database(settings.database_url)
    check_fits(parts, database.dialect)
    schema.current_revision(database)  # says clearly what can't be used, before anything else is tried
    if database.dialect == "sqlite":
        database.hold_file()
    with opening(database.engine.url):
        schema.prepare(database)
    return database


def wire(
    settings: Settings,
    folder: Path,
    clock: Clock | None = None,
    work: Work | None = None,
    *,
    parts: Parts = EVERYTHING,
    tracing: Tracing = NO_TRACING,
) -> Service:
    """Build the service. ``folder`` is where the configuration is; nothing runs before :meth:`Service.start`."""
    clock = clock or SystemClock()
    root = root_key(settings, folder)
    archive = archive_folder(settings, folder)
    database = open_store(settings, parts)
    with opening(database.engine.url):
        instance = _installation(database, root)
    keys = KeyRing(settings, root, database)
    accounts = slack_people(settings, clock)
    source = pagerduty_source(settings, database, clock)
    on_calls = None if source is None else source.on_calls
    people = Directory(settings, keys.stored_roles, keys.stored_names, accounts, on_calls)
    keys.introduce(people)
    channels = channels_of(settings, folder, clock, instance, accounts)
    agents = CallbackAgents(
        keys.secrets,
        clock=clock,
        allow=settings.resume.allow_networks,
        timeout=timedelta(seconds=settings.resume.timeout_seconds),
        tracing=tracing,
    )
    hub = Hub()
    news = hub.elsewhere = News(database, hub) if database.dialect == "postgresql" else None
    work = work or _work_on(database, clock, hub)
    lanes = Lanes([*channels, outbox.AGENTS])
    tokens = TokenMaker(root.derive("tokens"))
    log_key = root.derive("event-log")
    metrics = Metrics()
    transitions = Transitions(
        people, channels, tokens, log_key, hub, settings.alerts.notify, lanes, work, Witness(metrics)
    )
    default_channel: str | None = settings.suspension.default_channel or next((name for name in channels), None)
    planner = Planner(people, frozenset(channels), default_channel)
    allow_self = settings.answers.allow_self_response
    redaction = settings.redaction.rules
    drafter = Drafter(planner, people, agents, settings.suspension.policy, allow_self, redaction)
    engine = Engine(database, transitions, drafter, clock, quotas=settings.key_quotas, allow_self_response=allow_self)
    pausing = Pausing(database, transitions, clock)
    relay = Relay(
        database,
        lanes,
        transitions,
        channels,
        agents,
        tokens,
        clock,
        work,
        settings.public_url.rstrip("/"),
        settings.resume.backoff,
        pausing,
        redaction,
    )
    together = Together(engine, transitions)
    pager = pagerduty_parts(settings, source, engine, transitions, clock, instance)
    services = Services(
        engine,
        together,
        Books(database, agents, clock, work),
        Intents(database, hub, clock, log_key),
        hub,
        pausing,
        _platform_policy(settings),
        Audit(database, log_key, clock),
        tracing=tracing,
    )
    return Service(
        settings=settings,
        parts=parts,
        database=database,
        clock=clock,
        keys=keys,
        engine=engine,
        relay=relay,
        retention=Retention(database, tokens, log_key, clock, settings.retention.keep, archive),
        arrivals=Arrivals(database, transitions, clock, _told_of_arrivals(settings)),
        sweeping=Sweeping(database, transitions, channels, clock),
        lanes=lanes,
        work=work,
        beating=_beating(settings, database, clock, work, lanes, parts),
        news=news,
        channels=channels,
        agents=agents,
        services=services,
        doors=doors_of(settings, parts, engine, transitions, clock, root, tokens, folder, accounts, pager),
        pages=_pages(settings, engine, together, pausing, clock, root, _knows(people)),
        scrape=Scrape(metrics, database, clock),
        asking=source,
        parking=None if pager is None else pager.parking,
        heartbeat=_heartbeat(settings, database, clock),
        searching=None if accounts is None else AccountSearch(accounts, people.without_slack_account),
    )


def _heartbeat(settings: Settings, database: Database, clock: Clock) -> Heartbeat | None:
    alerts = settings.alerts
    if alerts.heartbeat_url is None:
        return None
    return Heartbeat(alerts.heartbeat_url, timedelta(seconds=alerts.heartbeat_seconds), database, clock)


def _work_on(database: Database, clock: Clock, hub: Hub) -> Work:
    """An engine for one process on a file, or one for as many as there are (decision 0002)."""
    return EmbeddedWork(clock) if database.dialect == "sqlite" else DistributedWork(database, clock, hub)


def _beating(settings: Settings, database: Database, clock: Clock, work: Work, lanes: Lanes, parts: Parts) -> Beating:
    every = timedelta(seconds=settings.work.beat_seconds)
    silent = timedelta(seconds=settings.work.silent_seconds)
    pulse = Pulse(database, clock, lanes.owner, ",".join(sorted(parts)), settings.suspension.outages_from)
    return Beating(database, clock, work, pulse, every, silent)


def _knows(people: Directory) -> Callable[[str], bool]:
    """Who may sign in to the pages: people of the directory, and keys named like a person."""

    def known(mail: str) -> bool:
        actor = people.actor(mail)
        return actor.person is not None or bool(actor.roles)

    return known


def _installation(database: Database, root: RootKey) -> str:
    """The installation's name. Raises :class:`ConfigError` for another secret key than the database's: with it no
    link that is out would work any more, and the event log would look forged."""
    with database.engine.begin() as conn:
        tx = Tx(conn)
        if not keeping.key_check(tx, root.derive("installation-check").hex()):
            raise ConfigError("secret_key is not the one that this database was made with; restore it.")
        return keeping.installation_id(tx)


def _told_of_arrivals(settings: Settings) -> Sequence[str]:
    """The channels whose doors hear what has come of a notice."""
    pager = settings.pagerduty
    return ("pagerduty",) if pager is not None and pager.webhook_secrets else ()


def _platform_policy(settings: Settings) -> JsonObject:
    policy = settings.suspension.default_retry_policy
    return {} if policy is None else policy.model_dump(mode="json", exclude_none=True)


def _pages(
    settings: Settings,
    engine: Engine,
    together: Together,
    pausing: Pausing,
    clock: Clock,
    root: RootKey,
    known: Callable[[str], bool],
) -> APIRouter:
    return pages_router(
        engine,
        together,
        pausing,
        public_url=settings.public_url.rstrip("/"),
        key=root.derive("pages"),
        clock=clock,
        may_sign_in=known,
        channels=settings.channels,
    )
