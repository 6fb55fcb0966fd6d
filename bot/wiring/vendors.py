"""The channels and doors of the vendors that are set up; part of the composition root (``bot/wiring/composition.py``).

Each vendor's code is imported if it is set up: nobody's start waits for libraries that it does not need.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config import Settings
from bot.config.changes import CHANNELS
from bot.config.channels import Email, PagerDuty
from bot.config.values import mailbox_of
from bot.people.slack_accounts import AccountSearch
from bot.web.hooks import Doors
from bot.wiring.roles import Part, Parts
from core.database.database import Database
from core.database.locks import LockSlots
from core.delivery import alerts
from core.domain.people import canonical
from core.domain.root_key import RootKey
from core.engine.engine import Engine
from core.engine.signature_lines import SignatureLines
from core.engine.transitions import Transitions
from core.inbound.reports import Incoming
from core.inbound.settle import Correspondence
from core.ports import Channel, Clock, Observer
from core.work.health import Health

if TYPE_CHECKING:
    from bot.inbound.mail.imap import MailPoller
    from bot.inbound.mail.inbox import MailInbox
    from bot.inbound.mail.lmtp import MailListener
    from bot.inbound.mail.webhook import MailWebhook
    from bot.inbound.pagerduty.parking import PagerDutyParking
    from bot.inbound.slack.answers import PersonalLink
    from bot.inbound.slack.app import SlackApp
    from bot.wiring.pagerduty import PagerDutyParts, PagerDutySource
    from channels.pagerduty.incidents import IncidentsApi
    from channels.slack.people import SlackPeople


@dataclass(slots=True)
class Vendors:
    """What is built from the vendors' settings, and replaced if they change while the service runs. Whoever holds
    ``channels`` or ``doors`` holds the mapping, and sees that."""

    channels: dict[str, Channel]
    doors: Doors
    accounts: SlackPeople | None = None
    asking: PagerDutySource | None = None
    parking: PagerDutyParking | None = None
    searching: AccountSearch | None = None


_MAIL_RETURNS = "mail-returns"
"""The key by which a mail of ours is known when it comes back."""


def slack_people(settings: Settings, clock: Clock) -> SlackPeople | None:
    """Who is who in the workspace; one for the whole process, since it keeps what it was told."""
    if settings.slack is None:
        return None
    from channels.slack.client import web_client
    from channels.slack.people import SlackPeople

    return SlackPeople(web_client(settings.slack.bot_token, settings.slack.api_url), clock.now)


def channels_of(
    settings: Settings,
    folder: Path,
    clock: Clock,
    instance: str,
    root: RootKey,
    accounts: SlackPeople | None = None,
    only: Collection[str] = CHANNELS,
) -> dict[str, Channel]:
    """By name, in the order in which the first is the default; of those in ``only``. ``folder`` is the
    configuration's."""
    channels: dict[str, Channel] = {}
    if settings.slack is not None and "slack" in only:
        from channels.slack.channel import SlackChannel
        from channels.slack.client import web_client

        client = web_client(settings.slack.bot_token, settings.slack.api_url)
        channels["slack"] = SlackChannel(
            client,
            clock.now,
            people=accounts,
            default_channel=settings.slack.default_channel,
            when_cut=settings.when_cut,
        )
    if settings.email is not None and "email" in only:
        from bot.wiring.email import email_channel

        channels["email"] = email_channel(settings.email, folder, root.derive(_MAIL_RETURNS), settings.when_cut)
    if settings.pagerduty is not None and "pagerduty" in only:
        from channels.pagerduty.channel import PagerDutyChannel

        pager = settings.pagerduty
        channels["pagerduty"] = PagerDutyChannel(
            {**pager.routing_keys, **settings.own_routing_keys},
            instance=instance,
            clock=clock,
            events_url=pager.events_url,
            incidents=_incidents(settings, pager, clock),
            waits=[timedelta(seconds=seconds) for seconds in pager.retry_seconds],
            proven=bool(pager.webhook_secrets),
            when_cut=settings.when_cut,
        )
    return channels


def _incidents(settings: Settings, pager: PagerDuty, clock: Clock) -> IncidentsApi | None:
    """Who writes into incidents; nobody, where we may not or can't say by whose hand."""
    if pager.api_token is None or pager.from_email is None:
        return None
    from channels.pagerduty.incidents import IncidentsApi

    user_ids = {canonical(one.email): one.pagerduty_user_id for one in settings.people if one.pagerduty_user_id}
    aliases = {canonical(one.email): one.aliases for one in settings.people if one.aliases}
    return IncidentsApi(
        pager.api_token, pager.from_email, user_ids=user_ids, aliases=aliases, now=clock.now, api_url=pager.api_url
    )


def doors_of(
    settings: Settings,
    parts: Parts,
    engine: Engine,
    incoming: Incoming,
    transitions: Transitions,
    clock: Clock,
    root: RootKey,
    folder: Path,
    accounts: SlackPeople | None = None,
    pager: PagerDutyParts | None = None,
    health: Health | None = None,
    only: Collection[str] = CHANNELS,
) -> Doors:
    """A vendor's door is open only where it belongs to the ``parts`` that run here, and where what verifies its
    requests is configured; those of the vendors in ``only``. ``folder`` is the configuration's."""
    mail, slack = MailDoors(), None
    if Part.MAIL in parts and "email" in only:
        mail = _mail_doors(settings, engine, transitions, clock, root, folder, health)
    if Part.SLACK in parts and "slack" in only:
        slack = _slack_door(settings, engine, incoming, transitions, clock, root, accounts, health)
    return Doors(
        slack=slack,
        mail=mail.webhook,
        mail_listener=mail.listener,
        mail_poller=mail.poller,
        pagerduty=pager.door if pager is not None and Part.API in parts else None,
    )


def _slack_door(
    settings: Settings,
    engine: Engine,
    incoming: Incoming,
    transitions: Transitions,
    clock: Clock,
    root: RootKey,
    accounts: SlackPeople | None,
    health: Health | None,
) -> SlackApp | None:
    slack = settings.slack
    if slack is None:
        return None
    from bot.inbound.slack.app import add_sockets, build_slack_app
    from bot.inbound.slack.sockets import MOST_SOCKETS, SOCKETS
    from channels.slack.client import web_client
    from channels.slack.payloads import signer

    app = build_slack_app(
        engine,
        incoming,
        web_client(slack.bot_token, slack.api_url),
        signing_secret=slack.signing_secret,
        sign=signer(root.derive("slack")),
        public_url=settings.public_url.rstrip("/"),
        now=clock.now,
        team_id=slack.team_id,
        app_id=slack.app_id,
        answer_in_thread=slack.answer_in_thread,
        people=accounts,
        when_cut=settings.when_cut,
        personal=_personal_links(settings, clock, root),
    )
    if slack.app_token is not None:
        database = engine.database

        async def tell(reason: str) -> None:
            await database.write(lambda tx: alerts.way_in_lost(transitions, tx, "slack", reason, clock.now()))

        web = web_client(slack.app_token, slack.api_url)
        add_sockets(app, web, LockSlots(database, SOCKETS, MOST_SOCKETS), tell, clock.now, health=health)
    return app


def _personal_links(settings: Settings, clock: Clock, root: RootKey) -> PersonalLink:
    """Sign-in links for people whom Slack vouches for."""
    from bot.inbound.slack.outcomes import Told
    from bot.web.pages.cookies import Seal
    from bot.web.pages.signin import LINK_LIFE, SignInLinks
    from bot.web.pages.urls import Site
    from channels.slack.notes import personal_link

    links = SignInLinks(Seal(root.derive("pages")), Site(settings.public_url), clock)

    def personal(identity: str, leads_to: str) -> Told:
        link = links.issue(identity, leads_to)
        return Told(personal_link(link, LINK_LIFE.seconds // 60), link)

    return personal


@dataclass(frozen=True, slots=True)
class MailDoors:
    """Mail's ways in, one inbox behind all of them."""

    webhook: MailWebhook | None = None
    listener: MailListener | None = None
    poller: MailPoller | None = None


def _mail_doors(
    settings: Settings,
    engine: Engine,
    transitions: Transitions,
    clock: Clock,
    root: RootKey,
    folder: Path,
    health: Health | None,
) -> MailDoors:
    mail = settings.email
    if mail is None or not mail.has_door:
        return MailDoors()
    correspondence = Correspondence(engine.database, transitions, clock)
    signatures = SignatureLines.of(engine.database, transitions, root)
    inbox = _mail_inbox(mail, engine, correspondence, signatures, transitions.observer, clock, root)
    webhook = None
    if mail.inbound_secret is not None:
        from bot.inbound.mail.webhook import MailWebhook

        webhook = MailWebhook(inbox, clock, mail.inbound_secret)
    poller = _mail_poller(mail, inbox, correspondence, transitions, clock, folder, health)
    return MailDoors(webhook, _mail_listener(mail, inbox), poller)


def _mail_listener(mail: Email, inbox: MailInbox) -> MailListener | None:
    if mail.listen is None:
        return None
    from bot.inbound.mail.lmtp import MailListener
    from channels.email.lmtp_server import ListenAddress

    return MailListener(inbox, ListenAddress.parse(mail.listen), mailbox_of(mail.sender).rpartition("@")[2].lower())


def _mail_poller(
    mail: Email,
    inbox: MailInbox,
    correspondence: Correspondence,
    transitions: Transitions,
    clock: Clock,
    folder: Path,
    health: Health | None,
) -> MailPoller | None:
    if mail.imap_url is None:
        return None
    from bot.inbound.mail.imap import MAILBOX, MailPoller
    from channels.email.imap import ImapAccount, ImapServer
    from channels.email.mail_server import tls_context

    database = correspondence.database

    async def tell(reason: str) -> None:
        await database.write(lambda tx: alerts.way_in_lost(transitions, tx, "email", f"imap_{reason}", clock.now()))

    token_file = folder / mail.imap_token_file if mail.imap_token_file is not None else None
    trusted = tls_context(folder / mail.tls_ca) if mail.tls_ca is not None else None
    account = ImapAccount(ImapServer.parse(mail.imap_url), token_file, mail.imap_done_folder, trusted)
    every = timedelta(seconds=mail.imap_poll_seconds)
    return MailPoller(
        inbox, account, correspondence, LockSlots(database, MAILBOX, 1), tell, clock, every, health=health
    )


def _mail_inbox(
    mail: Email,
    engine: Engine,
    correspondence: Correspondence,
    signatures: SignatureLines,
    observer: Observer,
    clock: Clock,
    root: RootKey,
) -> MailInbox:
    from bot.inbound.mail.inbox import MailInbox
    from channels.email.addressing import Mailboxes
    from channels.email.authentication import SenderAuth
    from channels.email.inbound import MailRules
    from core.domain.redaction.patterns import compile_pattern

    rules = MailRules(
        Mailboxes.of(mail.sender, mail.reply_to, mail.bounces_to, key=root.derive(_MAIL_RETURNS)),
        SenderAuth(mail.sender_auth),
        mail.authserv_id,
        away_advances=mail.out_of_office_advances,
        quarantine=timedelta(days=mail.quarantine_days),
        gateway_lines=tuple(map(compile_pattern, mail.gateway_lines)),
    )
    return MailInbox(engine, correspondence, clock, rules, signatures, observer)


def pagerduty_source(settings: Settings, database: Database, clock: Clock) -> PagerDutySource | None:
    """Whom PagerDuty is asked about; one for the whole process."""
    if settings.pagerduty is None:
        return None
    from bot.wiring.pagerduty import pagerduty_source

    return pagerduty_source(settings, database, clock)


def pagerduty_parts(
    settings: Settings,
    source: PagerDutySource | None,
    engine: Engine,
    incoming: Incoming,
    transitions: Transitions,
    clock: Clock,
    instance: str,
) -> PagerDutyParts | None:
    """What understands PagerDuty's webhooks, where they can be verified."""
    if source is None or settings.pagerduty is None or not settings.pagerduty.webhook_secrets:
        return None
    from bot.wiring.pagerduty import pagerduty_parts

    public_url = settings.public_url.rstrip("/")
    return pagerduty_parts(settings.pagerduty, source, engine, incoming, transitions, clock, instance, public_url)
