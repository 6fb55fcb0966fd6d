"""The composition root: the only file that knows all parts.

:func:`wire` opens the database and builds every part from the settings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path

import structlog

from bot.callbacks.agents import CallbackAgents
from bot.config.catalogue import names
from bot.config.settings import Settings
from bot.keys import KeyRing, root_key
from bot.observability.heartbeat import Heartbeat
from bot.observability.observer import ServiceObserver
from bot.observability.telemetry import Metrics
from bot.observability.tracing import NO_TRACING, Tracing
from bot.openid.provider import providers_of
from bot.people.directory import Directory
from bot.vendors.description import Around, Inside
from bot.web.api.auth import AskingServices, IntentServices, RunningServices, Services
from bot.web.monitoring import Scrape
from bot.web.pages.cookies import Seal
from bot.web.pages.router import pages_router
from bot.web.pages.signin import SignInLinks
from bot.web.pages.urls import Site
from bot.wiring.reloading import Reloading, Reread
from bot.wiring.roles import EVERYTHING, Part, Parts, SystemClock, archive_folder, check_fits
from bot.wiring.service import Service
from bot.wiring.vendors import Vendors, channels_of, doors_of, reporting_arrivals, sources_of
from core.audit.check import Audit
from core.audit.retention import OutboxRetention, Retention
from core.database.database import Database, Tx, open_database, opening
from core.delivery.confirmation import Confirmations, ConfirmationSweep
from core.delivery.lanes import Lanes
from core.delivery.links import LinkMaker
from core.delivery.lost_withdrawals import LostWithdrawals
from core.delivery.pause import Pausing
from core.delivery.relay import Relay
from core.delivery.turns import LaneWidth
from core.domain.root_key import RootKey
from core.domain.tokens import TokenMaker
from core.domain.wire import JsonObject
from core.engine.collaboration import Collaboration
from core.engine.drafting import Drafter
from core.engine.engine import Engine
from core.engine.insights import Insights
from core.engine.permissions import Permissions
from core.engine.planning import Planner
from core.engine.queries import ClientQueries
from core.engine.receipts import Receipts
from core.engine.repeats import RepeatedAsks
from core.engine.signature_lines import SignatureLines
from core.engine.transitions import Transitions
from core.errors import ConfigError
from core.hub import Hub
from core.inbound.reports import InboundReports
from core.openintent.containers.checkpoints import Checkpoints
from core.openintent.containers.claims import TaskClaims
from core.openintent.containers.coordinators import Coordinators
from core.openintent.containers.graph import Graphs
from core.openintent.containers.plans import Plans
from core.openintent.containers.portfolios import PortfolioDeadlines, Portfolios
from core.openintent.containers.workflows import Workflows
from core.openintent.intents.client_steps import ClientSteps
from core.openintent.intents.due_work import DueTimes, DueWork
from core.openintent.intents.follower import Follower
from core.openintent.intents.intent_leases import IntentLeases
from core.openintent.intents.intents import Intents
from core.openintent.intents.members import Members
from core.openintent.intents.reconciler import Reconciler
from core.openintent.intents.retrying import Retrying, Takeovers
from core.openintent.intents.subscriptions import Subscriptions
from core.openintent.intents.tasks import Tasks
from core.openintent.intents.writing import IntentLog
from core.openintent.propagation.consequences import Consequences
from core.openintent.store.due_times import DueKind
from core.ports import Channel, Clock, HostClock, Work
from core.store import installation, outbox, schema
from core.store import tokens as store_tokens
from core.work.distributed import DistributedWork
from core.work.embedded import EmbeddedWork
from core.work.health import NOT_LOOKED, SILENT, Health
from core.work.news import News
from core.work.presence import Timekeeping, WorkerPresence, WorkerPulse

log = structlog.get_logger(__name__)


def open_store(settings: Settings, parts: Parts = EVERYTHING) -> Database:
    """The database with its schema ready; a file is locked for this process. Raises the :class:`OperatorError` of
    the fault."""
    given = settings.database
    database = open_database(settings.database_url, given.deadlines, given.direct_url)
    check_fits(parts, is_shared=database.is_shared)
    schema.current_revision(database)  # says clearly what can't be used, before anything else is tried
    if not database.is_shared:
        database.hold_file()
    else:
        from core.database.poolers import check_pooling

        check_pooling(database.reading, database.direct)
    with opening(database.engine.url):
        schema.prepare(database)
    return database


def wire(
    settings: Settings,
    folder: Path,
    clock: HostClock | None = None,
    work: Work | None = None,
    *,
    parts: Parts = EVERYTHING,
    tracing: Tracing = NO_TRACING,
    channels: Mapping[str, Channel] | None = None,
    stamps: Clock | None = None,
    reread: Reread | None = None,
) -> Service:
    """Build the service. ``folder`` is the configuration's; nothing runs before :meth:`Service.start`.

    ``channels``, the default one first, replace the vendors': none of theirs is then asked or heard. ``stamps`` is the
    time of agents' own clocks, if ``clock`` is another: callbacks are dated by it. ``reread`` reads the configuration
    again, for a reload.
    """
    clock = clock or SystemClock()
    root = root_key(settings, folder)
    tokens = TokenMaker(root.derive_renewed("tokens"))
    archive = archive_folder(settings, folder)
    database = open_store(settings, parts)
    with opening(database.engine.url):
        instance = _installation(database, root, tokens)
    keys = KeyRing(settings, root, database, clock)
    around = Around(settings, folder, clock, root, instance, database)
    theirs: Collection[str] = names() if channels is None else ()
    sources = sources_of(around, theirs)
    people = Directory(settings, keys.stored_roles, keys.stored_names, sources, keys.shuts_out_file)
    keys.introduce(people)
    channels = channels_of(around, sources) if channels is None else dict(channels)
    quotas, repeats = settings.key_quotas, RepeatedAsks(settings.suspension.same_ask)
    receipts = Receipts(database, clock, root.derive_renewed("receipts"), settings.receipts.ttl)
    agents = CallbackAgents(
        keys.secrets,
        clock=clock,
        receipts=receipts,
        allow=settings.resume.allow_networks,
        timeout=timedelta(seconds=settings.resume.timeout_seconds),
        tracing=tracing,
        stamps=stamps,
    )
    hub = Hub()
    health = _health(settings, database, parts)
    news = hub.elsewhere = News(database, hub, health=health) if database.is_shared else None
    work = work or _work_on(database, clock, hub)
    lanes = _lanes(channels, agents)
    log_key = root.derive_renewed("event-log")
    metrics = Metrics()
    consequences = Consequences(hub.announce_intents, log_key)
    transitions = Transitions(
        people,
        channels,
        tokens,
        log_key,
        hub,
        consequences,
        settings.alerts.notify,
        lanes,
        work,
        ServiceObserver(metrics),
    )
    replied = frozenset(name for name, one in channels.items() if one.takes_replies)
    planner = _planner(settings, people, channels)
    permissions = Permissions(people, settings.answers.allow_self_response)
    drafter = Drafter(planner, permissions, agents, settings.suspension.policy, settings.redaction.rules)
    engine = Engine(
        database,
        transitions,
        drafter,
        clock,
        quotas=quotas,
        repeats=repeats,
        when_cut=settings.when_cut,
        undo=timedelta(seconds=settings.answers.undo_seconds),
    )
    log, times = IntentLog(hub, log_key, consequences), DueTimes(work)
    leases = IntentLeases(database, log, times, clock)
    members = Members(database, transitions, log, leases, clock)
    takeovers = Takeovers(members, leases, transitions, log)
    retrying = Retrying(database, log, times, takeovers, clock)
    client_steps = ClientSteps(database, transitions, drafter, quotas, log, times, clock)
    subscriptions = Subscriptions(database, agents, keys.holder, hub, clock)
    incoming = InboundReports(database, transitions, clock)
    pausing = Pausing(database, transitions, clock)
    insights = Insights(database, people, clock, settings.insights.persons, settings.retention.keep)
    sign_in = SignInLinks(Seal(root.derive("pages")), Site(settings.public_url), clock)
    relay = Relay(
        database,
        lanes,
        transitions,
        channels,
        agents,
        LinkMaker(settings.public_url.rstrip("/"), tokens, sign_in.of_delivery, replied),
        clock,
        work,
        settings.resume.backoff,
        pausing,
        engine.channel_views,
        subscriptions,
        health,
        retrying.callback_lost,
        beat=timedelta(seconds=settings.work.beat_seconds),
    )
    collaboration = Collaboration(engine, permissions, engine.queries, transitions)
    inside = Inside(around, parts, engine, incoming, transitions, health)
    vendors = Vendors(channels, doors_of(inside, sources, theirs), sources)
    reloading = Reloading(settings, reread, inside, vendors, keys, people, quotas, repeats, database, clock)
    services = Services(
        asking=AskingServices(
            engine=engine,
            channel_views=engine.channel_views,
            responders=people,
            collaboration=collaboration,
            client_queries=ClientQueries(database, engine.permissions, agents, clock, work),
            receipts=receipts,
            quotas=quotas,
            insights=insights,
            platform_policy=_platform_policy(settings),
        ),
        openintent=IntentServices(
            intents=Intents(database, log, leases, clock, settings.engagement.thresholds),
            graphs=Graphs(database, log, clock),
            members=members,
            leases=leases,
            tasks=Tasks(database, log, clock),
            claims=TaskClaims(database, log, clock),
            plans=Plans(database, log, clock),
            checkpoints=Checkpoints(engine, log, clock),
            workflows=Workflows(database, log, clock),
            coordinators=Coordinators(database, log, members, clock),
            portfolios=Portfolios(database, log, times, clock),
            retrying=retrying,
            client_steps=client_steps,
            subscriptions=subscriptions,
        ),
        running=RunningServices(
            hub=hub,
            pausing=pausing,
            audit=Audit(database, log_key, clock),
            keys=keys,
            links=sign_in,
            reloading=reloading,
            tracing=tracing,
            public_url=settings.public_url.rstrip("/"),
        ),
    )
    return Service(
        parts=parts,
        database=database,
        clock=clock,
        keys=keys,
        engine=engine,
        transitions=transitions,
        relay=relay,
        follower=Follower(database, hub, keys.holder, work, clock, health),
        retention=Retention(database, tokens, log_key, clock, settings.retention.keep, archive),
        outbox_retention=OutboxRetention(database, clock),
        arrivals=Confirmations(database, transitions, clock, reporting_arrivals(settings)),
        lost_withdrawals=LostWithdrawals(database, transitions, clock, channels),
        sweeping=ConfirmationSweep(database, transitions, channels, clock),
        due_work=DueWork(
            database,
            times,
            clock,
            {
                DueKind.RECORD_MISSING: client_steps.record_missing,
                DueKind.RETRY: retrying.retry_due,
                DueKind.LEASE_END: leases.ended,
            },
            {DueKind.PORTFOLIO_DEADLINE: PortfolioDeadlines(database, transitions, client_steps, clock).some},
        ),
        reconciler=Reconciler(database, log, clock),
        lanes=lanes,
        work=work,
        timekeeping=Timekeeping(database, clock),
        beating=_beating(settings, database, clock, work, lanes, parts, health),
        health=health,
        news=news,
        vendors=vendors,
        agents=agents,
        services=services,
        reloading=reloading,
        pages=pages_router(
            engine,
            collaboration,
            incoming,
            pausing,
            insights,
            SignatureLines.of(database, transitions, root),
            services.running.hub,
            services.running.closing,
            public_url=settings.public_url.rstrip("/"),
            key=root.derive("pages"),
            clock=clock,
            may_sign_in=people.is_known,
            channels=settings.channels,
            require_sign_in=settings.answers.require_sign_in,
            mails_links=settings.signin.mail_links,
            providers=providers_of(settings, clock),
        ),
        scrape=Scrape(metrics, database, clock),
        heartbeat=_heartbeat(settings, database, clock),
    )


def _lanes(channels: Mapping[str, Channel], agents: CallbackAgents) -> Lanes:
    """A lane's width is its sender's, and stays if the channel is replaced."""
    widths = {name: LaneWidth(one.lanes, one.lane_width) for name, one in channels.items()}
    calls = {
        outbox.AGENTS: LaneWidth(agents.lanes, agents.lane_width),
        outbox.SUBSCRIBERS: LaneWidth(agents.event_lanes, agents.event_lane_width),
    }
    return Lanes({**widths, **calls})


def _planner(settings: Settings, people: Directory, channels: Mapping[str, Channel]) -> Planner:
    default_channel: str | None = settings.suspension.default_channel or next((name for name in channels), None)
    paging = frozenset(name for name, one in channels.items() if not one.reaches_one_person)
    return Planner(people, frozenset(channels), default_channel, paging)


def _heartbeat(settings: Settings, database: Database, clock: Clock) -> Heartbeat | None:
    alerts = settings.alerts
    if alerts.heartbeat_url is None:
        return None
    return Heartbeat(alerts.heartbeat_url, timedelta(seconds=alerts.heartbeat_seconds), database, clock)


def _work_on(database: Database, clock: Clock, hub: Hub) -> Work:
    """The engine for one process on a file, or for any number (decision 0002)."""
    return DistributedWork(database, clock, hub) if database.is_shared else EmbeddedWork(clock)


def _health(settings: Settings, database: Database, parts: Parts) -> Health:
    silent = max(SILENT, 3 * timedelta(seconds=settings.work.beat_seconds))
    return Health(lambda: database.written_at, silent, NOT_LOOKED if Part.WORKER in parts else None)


def _beating(
    settings: Settings, database: Database, clock: HostClock, work: Work, lanes: Lanes, parts: Parts, health: Health
) -> WorkerPresence:
    every = timedelta(seconds=settings.work.beat_seconds)
    silent = timedelta(seconds=settings.work.silent_seconds)
    pulse = WorkerPulse(database, clock, lanes.owner, ",".join(sorted(parts)), settings.suspension.outages_from)
    return WorkerPresence(database, clock, work, pulse, every, silent, health)


def _installation(database: Database, root: RootKey, tokens: TokenMaker) -> str:
    """The installation's name. Raises :class:`ConfigError` for another secret key than the database's, unless that
    is among the previous ones: no issued link would work any more, and the event log would look forged."""
    check = root.check
    with database.engine.begin() as conn:
        tx = Tx(conn)
        if not installation.key_check(tx, check):
            if not any(installation.key_check(tx, old.check) for old in root.previous):
                raise ConfigError(
                    "secret_key is not the one that this database was made with. Put the old key "
                    "back, or into secret_key_previous to change to the new one."
                )
            store_tokens.renew(tx, tokens)  # first: done again, should we end here
            installation.renew_key_check(tx, check)
            log.warning("secret_key.changed")
        return installation.installation_id(tx)


def _platform_policy(settings: Settings) -> JsonObject:
    policy = settings.suspension.default_retry_policy
    return {} if policy is None else policy.model_dump(mode="json", exclude_none=True)
