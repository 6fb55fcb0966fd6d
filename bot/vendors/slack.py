"""Slack: its settings, its recipients, its door, and what doctor asks about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from bot.config.sections import PersonSection, Place, Said, Section
from bot.config.values import Flag, HttpUrl, SlackTeam, Text, matching
from bot.vendors.description import (
    Addresses,
    Around,
    Door,
    Handover,
    Hook,
    Inside,
    Known,
    Source,
    Vendor,
)
from bot.vendors.slack_accounts import Accounts, AccountSearch, NoAccounts
from core.domain.channels import RecipientForm, RecipientKind
from core.domain.people import Address, Person, Recipient

if TYPE_CHECKING:  # Slack's libraries are loaded only if Slack is set up
    from starlette.requests import Request
    from starlette.responses import Response

    from bot.config.settings import Settings
    from bot.doctor.examination import Check
    from bot.inbound.slack.answers import PersonalLink
    from bot.inbound.slack.app import SlackApp
    from channels.slack.channel import SlackChannel
    from channels.slack.people import SlackPeople

NAME = "slack"
PATH = "/slack/events"

AppToken = Annotated[
    Text, matching(r"xapp-[A-Za-z0-9-]+", "be an app-level token, xapp-…, with the scope connections:write")
]
SlackPlace = Annotated[
    Text, matching(r"[CGDUW][A-Z0-9]+", "be the id of a channel or a person, such as C0123456789, not a name")
]
SlackUser = Annotated[Text, matching(r"[UW][A-Z0-9]+", "be a Slack user id, such as U0123456789")]
SlackAppId = Annotated[Text, matching(r"A[A-Z0-9]+", "be a Slack app id, such as A0123456789")]


class Slack(Section):
    """Slack is set up by a bot token and at least one way in: ``app_token`` (Socket Mode) or ``signing_secret`` (HTTP
    mode). With both, both ways are open."""

    bot_token: Text = Field(repr=False)
    """The bot's token, ``xoxb-…``, of the app that is installed in your workspace."""
    app_token: AppToken | None = Field(None, repr=False)
    """The app-level token, ``xapp-…``, by which Slack's events come over sockets. Slack needs no URL of yours then."""
    signing_secret: Text | None = Field(None, repr=False)
    """The app's signing secret. With it ``/slack/events`` takes what Slack sends by HTTP."""
    api_url: HttpUrl = "https://slack.com/api"
    """Where Slack's Web API is."""
    default_channel: SlackPlace | None = None
    """The id of the channel, or of the person, that is asked if a question names nobody."""
    team_id: SlackTeam | None = None
    """The workspace or organisation whose people count. Slack says which one it is if this is absent."""
    app_id: SlackAppId | None = None
    """The app's id. With it, what Slack sends for another app answers nothing."""
    require_open_when_cut: Flag = False
    """The older name of ``answers.require_open_when_cut``. It holds for every channel."""
    answer_in_thread: Flag = False
    """Whether a reply in a question's thread answers it, if the question asks for a text."""


class SlackPerson(PersonSection):
    slack_user_id: SlackUser | None = None
    """Their Slack account. Slack is asked by e-mail if this is absent."""


class SlackAddresses(Addresses):
    """Accounts that the directory names, and those that Slack has for a mailbox. A channel is nobody's; a user group is
    its members'."""

    def __init__(self, place: str | None, people: Mapping[str, Person], accounts: Accounts, known: Known) -> None:
        self._place = place
        self._accounts = accounts
        self._known = known
        self._named = {user: one for one in people.values() if (user := one.account_on(NAME)) is not None}

    def of_person(self, identity: str, person: Person | None, mailbox: str) -> Address | None:
        if person is None:
            return None
        found = next((one for one in person.mailboxes if self._accounts.known_user(one)), None)
        account = person.account_on(NAME) or found
        return None if account is None else Address(NAME, account, identity)

    def at(self, value: str) -> Address | None:
        """A user group is mentioned in the default channel, if there is one."""
        if not value.startswith("S"):
            return Address(NAME, value, self.identity_at(value))
        return Address(NAME, value) if self._place is not None and self._place[0] in "CG" else None

    def defaults(self) -> Sequence[str]:
        return () if self._place is None else (f"{NAME}:{self._place}",)

    def identity_at(self, value: str) -> str | None:
        """Whoever has this account, as far as the directory or a key names them."""
        person = self._named.get(value)
        if person is not None:
            return person.email
        email = self._accounts.known_email(value)
        return self._known.identity_of(email) if email is not None and self._known.is_known(email) else None

    def means(self, value: str, identity: str) -> bool:
        """A user group means its members of the last minute, so see to it before that they are known."""
        if not value.startswith("S"):
            return super().means(value, identity)
        return any(self.identity_at(user) == identity for user in self._accounts.known_members(value))

    def people(self, value: str) -> Collection[str]:
        if not value.startswith("S"):
            return super().people(value)
        members = sorted(self._accounts.last_members(value))
        return tuple(one for one in map(self.identity_at, members) if one is not None)

    def references(self, identity: str, person: Person | None) -> Iterable[str]:
        """Who is in a user group only Slack knows: any of them may be theirs."""
        mailboxes = (identity,) if person is None else person.mailboxes
        accounts = {person.account_on(NAME) if person is not None else None, *map(self._accounts.known_user, mailboxes)}
        return (*(f"{NAME}:{one}" for one in accounts if one is not None), f"{NAME}:S")

    def surely_asks(self, recipient: Recipient) -> bool:
        """Whoever is on call may have no account."""
        return recipient.kind is not RecipientKind.SCHEDULE

    reaches_on_call = True


class _EveryAccount(NoAccounts):
    """As if Slack knew everybody by their e-mail."""

    def known_user(self, email: str) -> str | None:
        return email


class SlackAccounts(Source):
    """Accounts that are known."""

    def __init__(self, accounts: Accounts) -> None:
        self.accounts = accounts


class SlackSource(SlackAccounts):
    """Who is who in the workspace."""

    def __init__(self, people: SlackPeople) -> None:
        super().__init__(people)
        self.people = people
        self.search: AccountSearch | None = None

    async def follow(self, people: Sequence[Person]) -> None:
        mailboxes = [one for person in people if person.account_on(NAME) is None for one in person.mailboxes]
        before, self.search = self.search, AccountSearch(self.people, mailboxes)
        await self.search.start()
        if before is not None:
            await before.stop()

    async def close(self) -> None:
        if self.search is not None:
            await self.search.stop()


class SlackDoor(Door):
    """Sockets, and the events that Slack posts."""

    handover = Handover.OVERLAPPING

    def __init__(self, app: SlackApp) -> None:
        described = {"summary": "Slack, in HTTP mode", "include_in_schema": False}
        super().__init__(NAME, Hook(PATH, described) if app.speaks_http else None)
        self.app = app

    @property
    def standing(self) -> str | None:
        return self.app.standing

    async def handle(self, request: Request) -> Response:
        return await self.app.handle(request)

    async def start(self) -> None:
        self.app.start()

    async def stop_taking(self) -> None:
        await self.app.stop_taking()

    async def close(self) -> None:
        await self.app.close()


class SlackVendor(Vendor[Slack]):
    name = NAME
    display = "Slack"
    how = "on Slack"
    section = Slack
    needed = "bot_token"
    person = SlackPerson
    account = "slack_user_id"
    unique = ("slack_user_id",)
    reached_by = "slack_user_id"
    default_setting = "slack.default_channel"
    forms = (RecipientForm(NAME, "slack:C…|U…|S…", NAME, value="[CUSDGW][A-Za-z0-9]+"),)
    stays = frozenset({"require_open_when_cut"})
    ways_in: ClassVar = {"signing_secret": ()}
    doors_standing = (NAME,)

    def misfits(self, section: Slack) -> Iterator[Said]:
        if not (section.app_token or section.signing_secret):
            yield ("app_token",), "is missing (or set slack.signing_secret, for HTTP mode)"

    def secrets(self, section: Slack) -> Iterator[tuple[Place, str, str]]:
        if section.signing_secret is not None:
            yield ("signing_secret",), section.signing_secret, "take the one that the vendor shows"

    def addresses(
        self, settings: Settings, people: Mapping[str, Person], source: Source | None, known: Known
    ) -> Addresses:
        section = settings.of(Slack)
        accounts = source.accounts if isinstance(source, SlackAccounts) else NoAccounts()
        return SlackAddresses(section.default_channel if section is not None else None, people, accounts, known)

    def source(self, section: Slack, around: Around) -> SlackSource:
        from channels.slack.client import web_client
        from channels.slack.people import SlackPeople

        return SlackSource(SlackPeople(web_client(section.bot_token, section.api_url), around.clock.now))

    def everybody(self) -> Source:
        return SlackAccounts(_EveryAccount())

    def channel(self, section: Slack, around: Around, source: Source | None) -> SlackChannel:
        from channels.slack.channel import SlackChannel
        from channels.slack.client import web_client

        return SlackChannel(
            web_client(section.bot_token, section.api_url),
            around.clock.now,
            people=_people(source),
            default_channel=section.default_channel,
            when_cut=around.settings.when_cut,
        )

    def doors(self, section: Slack, inside: Inside, source: Source | None) -> Iterable[Door]:
        from bot.wiring.roles import Part

        return (SlackDoor(_app(section, inside, source)),) if Part.SLACK in inside.parts else ()

    def checks(self) -> Sequence[tuple[str, Check]]:
        from bot.doctor.slack import TOKEN, slack

        return ((TOKEN, slack),)

    def clock_url(self, section: Slack) -> str:
        return f"{section.api_url.rstrip('/')}/api.test"


def _people(source: Source | None) -> SlackPeople | None:
    return source.people if isinstance(source, SlackSource) else None


def _app(section: Slack, inside: Inside, source: Source | None) -> SlackApp:
    from bot.inbound.slack.app import add_sockets, build_slack_app
    from bot.inbound.slack.sockets import MOST_SOCKETS, SOCKETS
    from channels.slack.client import web_client
    from channels.slack.payloads import signer
    from core.database.locks import LockSlots
    from core.delivery import alerts
    from core.engine.collaboration import Collaboration

    around = inside.around
    settings, clock = around.settings, around.clock
    app = build_slack_app(
        inside.engine,
        inside.incoming,
        Collaboration(inside.engine, inside.engine.permissions, inside.engine.queries, inside.transitions),
        web_client(section.bot_token, section.api_url),
        signing_secret=section.signing_secret,
        sign=signer(around.root.derive("slack")),
        public_url=settings.public_url.rstrip("/"),
        now=clock.now,
        team_id=section.team_id,
        app_id=section.app_id,
        answer_in_thread=section.answer_in_thread,
        people=_people(source),
        when_cut=settings.when_cut,
        personal=_personal_links(around),
    )
    if section.app_token is not None:
        database, transitions = around.database, inside.transitions

        async def tell(reason: str) -> None:
            await database.write(lambda tx: alerts.way_in_lost(transitions, tx, NAME, reason, clock.now()))

        web = web_client(section.app_token, section.api_url)
        add_sockets(app, web, LockSlots(database, SOCKETS, MOST_SOCKETS), tell, clock.now, health=inside.health)
    return app


def _personal_links(around: Around) -> PersonalLink:
    """Sign-in links for people whom Slack vouches for."""
    from bot.inbound.slack.outcomes import SaidPrivately
    from bot.web.pages.cookies import Seal
    from bot.web.pages.signin import LINK_LIFE, SignInLinks
    from bot.web.pages.urls import Site
    from channels.slack.notes import personal_link

    links = SignInLinks(Seal(around.root.derive("pages")), Site(around.settings.public_url), around.clock)

    def personal(identity: str, leads_to: str) -> SaidPrivately:
        link = links.issue(identity, leads_to)
        return SaidPrivately(personal_link(link, LINK_LIFE.seconds // 60), link)

    return personal


VENDOR = SlackVendor()
