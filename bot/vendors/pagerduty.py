"""PagerDuty: its settings, its recipients, its door, and what doctor asks about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from bot.config.sections import PersonSection, Place, Said, Section
from bot.config.values import Flag, HttpUrl, Listed, Mail, Text, Word, between, matching
from bot.vendors.description import (
    Addresses,
    Around,
    Door,
    Hook,
    Inside,
    Known,
    Source,
    Vendor,
)
from core.domain.channels import RecipientForm, RecipientKind
from core.domain.people import Address, Person, Recipient, canonical

if TYPE_CHECKING:  # loaded only if PagerDuty is set up
    from starlette.requests import Request
    from starlette.responses import Response

    from bot.config.settings import Settings
    from bot.doctor.examination import Check
    from bot.inbound.pagerduty.events import PagerDutyMeaning
    from bot.inbound.pagerduty.identity import PagerDutyAccounts
    from bot.inbound.pagerduty.parking import PagerDutyParking
    from bot.inbound.pagerduty.webhook import PagerDutyDoor
    from bot.people.on_call import OnCalls
    from channels.pagerduty.channel import PagerDutyChannel
    from channels.pagerduty.incidents import IncidentsApi
    from channels.pagerduty.rest import PagerDutyApi

NAME = "pagerduty"
PATH = "/pagerduty/webhooks"
DEFAULT_SERVICE = "default"
"""What ``pagerduty.routing_key`` is called in ``pagerduty:default``."""

PagerDutyUser = Annotated[Text, matching(r"[A-Z0-9]+", "be a PagerDuty user id, such as PABC123")]
RoutingKey = Annotated[Text, matching(r"[A-Za-z0-9]{32}", "be the 32 letters and digits of an integration key")]
"""Source: developer.pagerduty.com/docs/events-api-v2/overview (``routing_key``, 32 characters)."""


class PagerDuty(Section):
    """PagerDuty is set up by a routing key for the default service, or by named ``services``. Without
    ``webhook_secrets`` nothing that happens in PagerDuty is heard."""

    region: Annotated[Literal["us", "eu"], Word] = "us"
    """The service region of the account. Both URLs follow from it."""
    routing_key: RoutingKey | None = Field(None, repr=False)
    """The integration key of the service that is paged by default (Events API v2)."""
    services: dict[str, RoutingKey] = Field(default_factory=dict, repr=False)
    """The integration keys of other services, by the name that stands in ``pagerduty:NAME``."""
    events_url: HttpUrl = Field(default_factory=lambda data: _at_pagerduty("events", data["region"]))
    """Where pages are sent. By default PagerDuty's own address for the region."""
    api_url: HttpUrl = Field(default_factory=lambda data: _at_pagerduty("api", data["region"]))
    """Where PagerDuty's REST API is. By default PagerDuty's own address for the region."""
    api_token: Text | None = Field(None, repr=False)
    """The REST API token that reads incidents, users and who is on call."""
    from_email: Mail | None = None
    """The login of a user of the account, in whose name notes are written and people are called to incidents. Needs
    ``api_token``."""
    retry_seconds: Annotated[tuple[Annotated[int, between(1, 3600)], ...], Listed, Field(min_length=1)] = (
        30,
        60,
        120,
        300,
    )
    """How many seconds to wait, at least, after each try that PagerDuty did not take. The last holds for all that
    follow."""
    webhook_secrets: Annotated[tuple[Text, ...], Listed] = Field((), repr=False)
    """The secrets that sign PagerDuty's webhooks; several while one is being replaced."""
    claim_seconds: Annotated[int, between(60, 86_400)] = 1800
    """How many seconds an acknowledgement holds further attempts back."""
    retrigger_when_resolved: Flag = False
    """Whether an open question pages once more if somebody resolves its incident."""
    decision_field: Text | None = None
    """The custom field of incidents, by name or id, whose value answers."""
    assignees_may_answer: Flag = False
    """Whether everybody to whom an incident is assigned may answer what it asks."""

    @property
    def routing_keys(self) -> dict[str, str]:
        """Every service's routing key by the service's name."""
        return {**({DEFAULT_SERVICE: self.routing_key} if self.routing_key else {}), **self.services}

    @property
    def writes_to_incidents(self) -> bool:
        """Whether notes can be written and people be called: PagerDuty wants to know by whose hand."""
        return self.api_token is not None and self.from_email is not None


def _at_pagerduty(host: str, region: str) -> str:
    """Source: https://support.pagerduty.com/docs/service-regions."""
    return f"https://{host}.eu.pagerduty.com" if region == "eu" else f"https://{host}.pagerduty.com"


class PagerDutyPerson(PersonSection):
    pagerduty_user_id: PagerDutyUser | None = None
    """Their PagerDuty account. PagerDuty is asked by e-mail if this is absent and there is an ``api_token``."""
    pagerduty_routing_key: RoutingKey | None = Field(None, repr=False)
    """The key of an Events API integration that pages this person alone."""


def own_routing_keys(settings: Settings) -> dict[str, str]:
    """By e-mail, the integrations that page one person; none if PagerDuty is not set up."""
    people = settings.people_as(PagerDutyPerson) if settings.of(PagerDuty) is not None else ()
    return {canonical(one.email): one.pagerduty_routing_key for one in people if one.pagerduty_routing_key}


class PagerDutyAddresses(Addresses):
    """A person is their own integration if the directory has its routing key; else the default service, which pages
    whoever is on call, as it does for a group, and is nobody's in particular then."""

    def __init__(self, settings: Settings, people: Mapping[str, Person], known: Known) -> None:
        section = settings.of(PagerDuty)
        self._services = frozenset(section.routing_keys if section is not None else ())
        self._writes = section is not None and section.writes_to_incidents
        self._pagers = frozenset(own_routing_keys(settings))
        self._named = {user: one for one in people.values() if (user := one.account_on(NAME)) is not None}
        self._known = known
        self.reaches_on_call = DEFAULT_SERVICE in self._services

    def of_person(self, identity: str, person: Person | None, mailbox: str) -> Address | None:
        if identity in self._pagers:
            return Address(NAME, identity, identity)
        return Address(NAME, DEFAULT_SERVICE, identity) if DEFAULT_SERVICE in self._services else None

    def as_member(self, address: Address) -> Address:
        """A pager of one's own stays one's own."""
        return address if address.value == address.person else replace(address, person=None)

    def at(self, value: str) -> Address | None:
        return Address(NAME, value) if value in self._services else None

    def defaults(self) -> Sequence[str]:
        return (f"{NAME}:{DEFAULT_SERVICE}",) if DEFAULT_SERVICE in self._services else ()

    def identity_at(self, value: str) -> str | None:
        person = self._named.get(value)
        return None if person is None else person.email

    def means(self, value: str, identity: str) -> bool:
        """A service means nobody."""
        return False

    def people(self, value: str) -> Collection[str]:
        return ()

    def is_known(self, value: str, people: Collection[str]) -> bool:
        return value in self._services

    def surely_asks(self, recipient: Recipient) -> bool:
        """A person without an integration of their own is called to the incident, if that is set up."""
        if recipient.kind not in {RecipientKind.SCHEDULE, RecipientKind.PERSON}:
            return True
        return self._known.identity_of(recipient.value) in self._pagers or self._writes


class PagerDutySource(Source):
    """Accounts, and who is on call."""

    def __init__(self, api: PagerDutyApi, accounts: PagerDutyAccounts, on_calls: OnCalls | None) -> None:
        self.api = api
        self.accounts = accounts
        self.on_calls = on_calls

    async def close(self) -> None:
        await self.api.close()


class PagerDutyDoorway(Door):
    """PagerDuty's webhooks. What came too early is parked, and looked at by the clock."""

    def __init__(self, door: PagerDutyDoor, parking: PagerDutyParking, *, is_open: bool) -> None:
        from bot.web.hooks import signed

        said = """PagerDuty calls it. Acknowledging, resolving and notes on an incident become claims and answers."""
        pattern = r"^\s*v1=[0-9a-f]{64}(\s*,\s*v1=[0-9a-f]{64})*\s*$"
        about = "A webhook of PagerDuty's. Whatever else is signed is accepted too, and ignored."
        described = signed(
            "PagerDuty's V3 webhooks",
            said,
            header="X-PagerDuty-Signature",
            pattern=pattern,
            types=("application/json",),
            body=about,
        )
        super().__init__(NAME, Hook(PATH, described) if is_open else None)
        self.door = door
        self.parking = parking

    async def handle(self, request: Request) -> Response:
        raw = await request.body() if self.door.may_be_signed(request.headers) else b""
        return self.told(await self.door.receive(raw, request.headers))

    async def look(self) -> datetime | None:
        return await self.parking.look()

    async def stop_looking(self) -> None:
        await self.parking.stop()


class PagerDutyVendor(Vendor[PagerDuty]):
    name = NAME
    display = "PagerDuty"
    how = "through PagerDuty"
    section = PagerDuty
    needed = "routing_key"
    person = PagerDutyPerson
    account = "pagerduty_user_id"
    unique = ("pagerduty_routing_key", "pagerduty_user_id")
    reached_by = "pagerduty_routing_key (or pagerduty.routing_key)"
    default_setting = "pagerduty.routing_key"
    forms = (
        RecipientForm(NAME, "pagerduty:SERVICE", NAME),
        RecipientForm(
            "pagerduty-schedule", "pagerduty-schedule:ID", NAME, RecipientKind.SCHEDULE, value="[A-Za-z0-9]{1,64}"
        ),
    )
    ways_in: ClassVar = {"webhook_secrets": ()}
    door_setting = "webhook_secrets"

    def misfits(self, section: PagerDuty) -> Iterator[Said]:
        if not (section.routing_key or section.services):
            yield ("routing_key",), "is missing (or name a service in pagerduty.services)"
        if DEFAULT_SERVICE in section.services:
            yield ("services", DEFAULT_SERVICE), "must have another name: the default is pagerduty.routing_key"

    def is_deaf(self, section: PagerDuty) -> bool:
        return not section.webhook_secrets

    def secrets(self, section: PagerDuty) -> Iterator[tuple[Place, str, str]]:
        for number, secret in enumerate(section.webhook_secrets):
            yield ("webhook_secrets", number), secret, "take the one that the vendor shows"

    def warnings(self, section: PagerDuty) -> Iterator[str]:
        if section.api_token is not None and section.from_email is None:
            yield (
                "pagerduty.api_token is set without pagerduty.from_email: no note is written to an incident, and "
                "nobody is called to one. Set from_email to the login of a user of the PagerDuty account."
            )

    def is_rebuilt(self, section: PagerDuty, changed: Collection[str]) -> bool:
        """Its parts know people."""
        return "people" in changed

    def addresses(
        self, settings: Settings, people: Mapping[str, Person], source: Source | None, known: Known
    ) -> Addresses:
        return PagerDutyAddresses(settings, people, known)

    def source(self, section: PagerDuty, around: Around) -> PagerDutySource:
        from bot.inbound.pagerduty.identity import PagerDutyAccounts
        from bot.people.directory import Directory
        from bot.people.on_call import OnCalls
        from channels.pagerduty.rest import PagerDutyApi

        settings, clock = around.settings, around.clock
        api = PagerDutyApi(section.api_token, now=clock.now, api_url=section.api_url)
        accounts = PagerDutyAccounts(api, around.database, clock, Directory(settings).identity_of)
        named = [one.pagerduty_user_id for one in settings.people_as(PagerDutyPerson) if one.pagerduty_user_id]
        return PagerDutySource(api, accounts, OnCalls(api, accounts.email_of, named, clock) if api.can_ask else None)

    def channel(self, section: PagerDuty, around: Around, source: Source | None) -> PagerDutyChannel:
        from channels.pagerduty.channel import PagerDutyChannel

        return PagerDutyChannel(
            {**section.routing_keys, **own_routing_keys(around.settings)},
            instance=around.instance,
            clock=around.clock,
            events_url=section.events_url,
            incidents=_incidents(section, around),
            waits=[timedelta(seconds=seconds) for seconds in section.retry_seconds],
            proven=bool(section.webhook_secrets),
            when_cut=around.settings.when_cut,
        )

    def doors(self, section: PagerDuty, inside: Inside, source: Source | None) -> Iterable[Door]:
        if not section.webhook_secrets or not isinstance(source, PagerDutySource):
            return ()
        from bot.inbound.pagerduty.parking import PagerDutyParking
        from bot.inbound.pagerduty.webhook import PagerDutyDoor
        from bot.wiring.roles import Part

        around, meaning = inside.around, _meaning(section, source, inside)
        parking = PagerDutyParking(around.database, meaning, around.clock)
        door = PagerDutyDoor(inside.incoming, meaning, parking, secrets=section.webhook_secrets, clock=around.clock)
        return (PagerDutyDoorway(door, parking, is_open=Part.API in inside.parts),)

    def reports_arrivals(self, section: PagerDuty) -> bool:
        return bool(section.webhook_secrets)

    def checks(self) -> Sequence[tuple[str, Check]]:
        from bot.doctor.pager import EVENTS, pager

        return ((EVENTS, pager),)

    def clock_url(self, section: PagerDuty) -> str:
        return section.api_url


def _incidents(pager: PagerDuty, around: Around) -> IncidentsApi | None:
    """Who writes into incidents; nobody, where we may not or can't say by whose hand."""
    if pager.api_token is None or pager.from_email is None:
        return None
    from channels.pagerduty.incidents import IncidentsApi

    people = around.settings.people_as(PagerDutyPerson)
    user_ids = {canonical(one.email): one.pagerduty_user_id for one in people if one.pagerduty_user_id}
    aliases = {canonical(one.email): one.aliases for one in people if one.aliases}
    return IncidentsApi(
        pager.api_token,
        pager.from_email,
        user_ids=user_ids,
        aliases=aliases,
        now=around.clock.now,
        api_url=pager.api_url,
    )


def _meaning(section: PagerDuty, source: PagerDutySource, inside: Inside) -> PagerDutyMeaning:
    from bot.inbound.pagerduty.answers import PagerDutyAnswers
    from bot.inbound.pagerduty.events import PagerDutyMeaning, Rules
    from bot.inbound.pagerduty.identity import PagerDutyPeople
    from bot.inbound.pagerduty.incident_lookup import Lookup
    from core.inbound.correspondence import Correspondence
    from core.inbound.incidents import Incidents

    around, engine, incoming = inside.around, inside.engine, inside.incoming
    transitions, clock = inside.transitions, around.clock
    hold = timedelta(seconds=section.claim_seconds)
    incidents = Incidents(engine.database, engine.permissions, transitions, clock, NAME, hold)
    lookup = Lookup(engine.queries, source.api, around.instance, clock)
    people = PagerDutyPeople(source.accounts, engine.permissions.responders, incoming)
    rules = Rules(section.retrigger_when_resolved, section.assignees_may_answer)
    answers = PagerDutyAnswers(
        engine,
        engine.permissions,
        engine.channel_views,
        incoming,
        Correspondence(engine.database, transitions, clock),
        incidents,
        lookup,
        people,
        around.settings.public_url.rstrip("/"),
        section.decision_field,
        section.assignees_may_answer,
    )
    return PagerDutyMeaning(incidents, lookup, people, answers, rules)


VENDOR = PagerDutyVendor()
