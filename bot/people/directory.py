"""The directory: who people are, where they are reached, and whom this service may ask. Its only network call asks who
is on call.

It has everybody in ``people``, and everybody whom a group in ``groups`` names, who are known only by e-mail. A person
without a ``slack_user_id`` is reached in Slack once Slack has said which account has their e-mail
(``bot.people.slack_accounts``).

Source: API.md §2, "Whom to ask" and "Who may answer"; RFC-0026 §11.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import assert_never
from zoneinfo import ZoneInfo

from bot.config import Settings
from bot.config.channels import DEFAULT_SERVICE
from bot.config.people_and_keys import ApiKey
from bot.people.allow_list import allow_list
from bot.people.on_call import OnCalls, OnCallUser
from bot.people.slack_accounts import Accounts, NoAccounts
from core.domain.hours import Hours
from core.domain.people import (
    Actor,
    Address,
    Person,
    Recipient,
    RecipientKind,
    Role,
    canonical,
    parse_recipient,
)
from core.errors import InvalidRecipient
from core.ports import PeopleUnknown, RefusalCause, Refused

ON_CALL = f"{RecipientKind.SCHEDULE}:"

StoredRoles = Callable[[str], frozenset[Role]]
"""The roles of the key of that name which was made on the command line; none if there is no such key."""

StoredNames = Callable[[], Collection[str]]
"""The names of the keys that were made on the command line."""

ShutOut = Callable[[str], bool]
"""Whether the configuration's key of that name was revoked, or replaced by a stored one."""


@dataclass(frozen=True, slots=True)
class _Contents:
    """The configuration's facts about people, indexed. Read and replaced as a whole."""

    settings: Settings
    accounts: Accounts
    on_calls: OnCalls | None
    people: Mapping[str, Person]
    owners: Mapping[str, str]
    """Whose each further address is (``people[].aliases``), by its canonical form."""
    groups: Mapping[str, Sequence[str]]
    by_slack: Mapping[str, Person]
    by_pagerduty: Mapping[str, Person]
    hours: Mapping[str, Hours | None]
    zones: Mapping[str, ZoneInfo]
    languages: Mapping[str, str]
    services: frozenset[str]
    pagers: frozenset[str]
    keys: Mapping[str, Sequence[ApiKey]]
    allows: Callable[[str], bool] | None
    """Whether a reference may be asked by ``recipients.allow``, ``None`` if that is not set."""
    configured: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, accounts: Accounts | None, on_calls: OnCalls | None) -> _Contents:
        owners = {canonical(alias): canonical(one.email) for one in settings.people for alias in one.aliases}
        people, groups = _read(settings, owners)
        allow = settings.recipients.allow
        services = frozenset(settings.pagerduty.routing_keys if settings.pagerduty else ())
        configured = frozenset(_configured(settings, services))
        return cls(
            settings,
            accounts or NoAccounts(),
            on_calls,
            people,
            owners,
            groups,
            by_slack={person.slack_user_id: person for person in people.values() if person.slack_user_id},
            by_pagerduty={person.pagerduty_user_id: person for person in people.values() if person.pagerduty_user_id},
            hours={canonical(entry.email): entry.opening_hours for entry in settings.people},
            zones={canonical(one.email): ZoneInfo(one.time_zone) for one in settings.people if one.time_zone},
            languages={canonical(one.email): one.language for one in settings.people if one.language},
            services=services,
            pagers=frozenset(settings.own_routing_keys),
            keys=_keys_of(settings, owners),
            allows=None if allow is None else allow_list(allow, configured, people, owners),
            configured=configured,
        )


class Directory:
    """The ``Responders`` port over the configuration. References are parsed; unknown forms raise
    :class:`InvalidRecipient`."""

    def __init__(
        self,
        settings: Settings,
        stored_roles: StoredRoles = lambda _name: frozenset(),
        stored_names: StoredNames = tuple,
        accounts: Accounts | None = None,
        on_calls: OnCalls | None = None,
        shut_out: ShutOut = lambda _name: False,
    ) -> None:
        self._stored_roles = stored_roles
        self._stored_names = stored_names
        self._shut_out = shut_out
        self._now = _Contents.of(settings, accounts, on_calls)

    def become(self, settings: Settings, accounts: Accounts | None = None, on_calls: OnCalls | None = None) -> None:
        """Use ``settings`` from now on, all at once: transactions read them from their own threads."""
        self._now = _Contents.of(settings, accounts, on_calls)

    def identity_of(self, name: str) -> str:
        identity = canonical(name)
        return self._now.owners.get(identity, identity)

    def allowed(self, reference: str) -> bool:
        """Whether this service may ask ``reference``, by ``recipients.allow`` or, without one, by the directory. A
        reference in the configuration itself (a channel's default, a rung of the platform's ladder) is always
        allowed."""
        now = self._now
        if now.allows is not None:
            return now.allows(reference)
        recipient = parse_recipient(reference)
        return str(recipient) in now.configured or self._is_known(recipient)

    def addresses(self, reference: str, channel: str) -> Sequence[Address]:
        """Where ``reference`` is reached on ``channel``, each place once; empty if it is not.

        Any mailbox is reached by mail, in the directory or not. A person of the directory gets it at the mailbox there,
        whatever sub-address was written. On PagerDuty a person is their own integration if the directory has its
        routing key. Otherwise it is the default service, as for a group: it pages the person on call, and belongs to
        nobody in particular.
        """
        recipient = parse_recipient(reference)
        found: Iterable[Address | None]
        match recipient.kind:
            case RecipientKind.PERSON:
                found = [self._of_person(recipient.value, channel)]
            case RecipientKind.GROUP:
                members = self._now.groups.get(recipient.value, ())
                found = (self._of_person(email, channel) for email in members)
                if channel == "pagerduty":
                    found = (_shared(address) for address in found if address is not None)
            case RecipientKind.SLACK | RecipientKind.EMAIL | RecipientKind.PAGERDUTY:
                found = [self._at(recipient)] if recipient.kind.value == channel else []
            case RecipientKind.SCHEDULE:  # stands for whoever is on call when it is sent
                found = [Address(channel, str(recipient))] if self._reaches_whoever_is_on_call(channel) else []
            case _ as unknown:
                assert_never(unknown)
        return tuple(dict.fromkeys(address for address in found if address is not None))

    def _reaches_whoever_is_on_call(self, channel: str) -> bool:
        return self._now.on_calls is not None and (channel != "pagerduty" or DEFAULT_SERVICE in self._now.services)

    def _of_person(self, written: str, channel: str) -> Address | None:
        identity = self.identity_of(written)
        person = self._now.people.get(identity)
        mailbox = written if person is None else person.mail_to
        match channel:
            case "slack" if person is not None:
                account = person.slack_user_id or self._slack_mailbox(person)
                return None if account is None else Address(channel, account, identity)
            case "email":
                return Address(channel, mailbox, identity)
            case "pagerduty" if identity in self._now.pagers:
                return Address(channel, identity, identity)
            case "pagerduty" if DEFAULT_SERVICE in self._now.services:
                return Address(channel, DEFAULT_SERVICE, identity)
        return None

    def surely_asks(self, reference: str, channel: str) -> bool:
        """On PagerDuty a person without their own integration is called to the incident, if that is set up. A person
        on call may have no account in Slack; everybody has a mailbox."""
        recipient, pager = parse_recipient(reference), self._now.settings.pagerduty
        is_schedule = recipient.kind is RecipientKind.SCHEDULE
        if channel == "slack":
            return not is_schedule
        if channel == "email" or not (is_schedule or recipient.kind is RecipientKind.PERSON):
            return True
        return self.identity_of(recipient.value) in self._now.pagers or (
            pager is not None and pager.writes_to_incidents
        )

    def _at(self, recipient: Recipient) -> Address | None:
        """The address that was written as one."""
        channel, value = recipient.kind.value, recipient.value
        match recipient.kind:
            case RecipientKind.SLACK if value.startswith("S"):  # is mentioned in the default channel, if there is one
                slack = self._now.settings.slack
                place = slack.default_channel if slack is not None else None
                return Address(channel, value) if place is not None and place[0] in "CG" else None
            case RecipientKind.SLACK:
                return Address(channel, value, self._slack_identity(value))
            case RecipientKind.EMAIL:
                return Address(channel, value, self.identity_of(value))
            case RecipientKind.PAGERDUTY if value in self._now.services:
                return Address(channel, value)
        return None

    def defaults(self, channel: str) -> Sequence[str]:
        return _defaults(self._now.settings, self._now.services, channel)

    def answers_to(self, reference: str, actor: Actor) -> bool:
        """Whether ``reference`` means ``actor``. A Slack channel and a PagerDuty service mean nobody. A Slack user
        group means its members of the last minute, which have to be loaded before, or a person just found in it
        (:attr:`Actor.proven`)."""
        recipient = parse_recipient(reference)
        return str(recipient) in actor.proven or self._means(recipient, actor)

    def _means(self, recipient: Recipient, actor: Actor) -> bool:
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.EMAIL:
                return self.identity_of(recipient.value) == actor.identity
            case RecipientKind.GROUP:
                return actor.identity in self._now.groups.get(recipient.value, ())
            case RecipientKind.SLACK if recipient.value.startswith("S"):
                members = self._now.accounts.known_members(recipient.value)
                return any(self._slack_identity(user) == actor.identity for user in members)
            case RecipientKind.SLACK:
                return self._slack_identity(recipient.value) == actor.identity
            case RecipientKind.PAGERDUTY:
                return False
            case RecipientKind.SCHEDULE:
                on_calls = self._now.on_calls
                known = on_calls.known(recipient.value) if on_calls is not None else ()
                return actor.identity in map(self.identity_of, self._named(known))
            case _ as unknown:
                assert_never(unknown)

    def references_to(self, actor: Actor) -> Collection[str]:
        """The possible beginnings of a reference that means ``actor``: :meth:`answers_to` says yes to no other. Only
        Slack knows a user group's members, and only PagerDuty who is on call: any of these references may be theirs."""
        identity, person = actor.identity, self._now.people.get(actor.identity)
        called = sorted(person.identities) if person is not None else (identity,)
        mailboxes = [one for name in called for one in _beginnings(name)]
        groups = (f"group:{name}" for name, members in self._now.groups.items() if identity in members)
        accounts = {person.slack_user_id if person is not None else None, *self._known_users(identity)} - {None}
        mails = (f"email:{one}" for one in mailboxes)
        return (*mailboxes, *mails, *groups, *(f"slack:{one}" for one in accounts), "slack:S", ON_CALL)

    def _known_users(self, identity: str) -> Iterable[str | None]:
        person = self._now.people.get(identity)
        return map(self._now.accounts.known_user, (identity,) if person is None else person.mailboxes)

    def _slack_mailbox(self, person: Person) -> str | None:
        """The first of their mailboxes with a known account in Slack."""
        return next((one for one in person.mailboxes if self._now.accounts.known_user(one)), None)

    def people(self, reference: str) -> Collection[str]:
        """The people for whom :meth:`answers_to` says yes; of a Slack user group its last known members."""
        recipient = parse_recipient(reference)
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.EMAIL:
                return (self.identity_of(recipient.value),)
            case RecipientKind.GROUP:
                return self._now.groups.get(recipient.value, ())
            case RecipientKind.SLACK if recipient.value.startswith("S"):
                members = self._now.accounts.last_members(recipient.value)
                return tuple(one for one in map(self._slack_identity, sorted(members)) if one is not None)
            case RecipientKind.SLACK:
                identity = self._slack_identity(recipient.value)
                return () if identity is None else (identity,)
            case RecipientKind.PAGERDUTY:
                return ()
            case RecipientKind.SCHEDULE:  # somebody, whoever it is
                on_calls = self._now.on_calls
                last = on_calls.last(recipient.value) if on_calls is not None else ()
                return tuple(map(self.identity_of, self._named(last))) or (str(recipient),)
            case _ as unknown:
                assert_never(unknown)

    @property
    def asks_elsewhere(self) -> bool:
        return self._now.on_calls is not None

    async def refresh(self, references: Iterable[str]) -> None:
        on_calls = self._now.on_calls
        if on_calls is None:
            return
        for reference in dict.fromkeys(references):
            if reference.startswith(ON_CALL):
                await on_calls.refresh(reference.removeprefix(ON_CALL))

    async def on_call(self, reference: str) -> Sequence[str]:
        on_calls = self._now.on_calls
        if on_calls is None:
            raise PeopleUnknown(Refused("on_call_not_configured", RefusalCause.SETUP))
        users = await on_calls.now_on(reference.removeprefix(ON_CALL))
        people = self._named(users)
        if users and not people:
            raise PeopleUnknown(Refused("on_call_not_allowed", RefusalCause.PLACE))
        return people

    def known_on_call(self, reference: str) -> Collection[str] | None:
        on_calls, schedule = self._now.on_calls, reference.removeprefix(ON_CALL)
        if on_calls is None or not on_calls.is_known(schedule):
            return None
        return self._named(on_calls.known(schedule))

    def _named(self, on_call: Iterable[OnCallUser]) -> tuple[str, ...]:
        """Their identities: the directory's person for the account, else its mailbox if no other person has it.

        PagerDuty's administrators say who is on call, and not whom this service may ask: a stranger has to be on its
        allow-list.
        """
        found = dict.fromkeys(named for one in on_call if (named := self._of_account(one)) is not None)
        return tuple(named for named in found if named in self._now.people or self._may_be_asked(named))

    def _may_be_asked(self, mailbox: str) -> bool:
        try:
            return self.allowed(mailbox)
        except InvalidRecipient:
            return False

    def _of_account(self, on_call: OnCallUser) -> str | None:
        person = self._now.by_pagerduty.get(on_call.user)
        if person is not None:
            return person.email
        other = self._now.people.get(self.identity_of(on_call.email)) if on_call.email is not None else None
        if other is None:
            return on_call.email
        return None if other.pagerduty_user_id else other.email

    def operators(self) -> Collection[str]:
        names = {*self._now.keys, *map(self.identity_of, self._stored_names())}
        return frozenset(name for name in names if self.actor(name).has(Role.OPERATOR))

    def is_known(self, identity: str) -> bool:
        actor = self.actor(identity)
        return actor.person is not None or bool(actor.roles)

    def actor(self, identity: str) -> Actor:
        """The actor with this identity and the roles of the API key of that name: an operator is one in Slack too."""
        name = self.identity_of(identity)
        now = self._now
        person = now.people.get(name)
        configured = (entry.roles for entry in now.keys.get(name, ()) if not self._shut_out(entry.name))
        stored = map(self._stored_roles, (name,) if person is None else person.identities)
        roles = frozenset[Role]().union(*stored, *configured)
        reads_own = now.settings.answers.operators_read == "own_groups"
        return Actor(name, roles, person=person, reads_own=reads_own)

    def actor_at(self, channel: str, address: str) -> Actor | None:
        """The actor with ``address``. A mailbox is an identity by itself; other addresses need the directory."""
        match channel:
            case "slack":
                identity = self._slack_identity(address)
                return None if identity is None else self.actor(identity)
            case "pagerduty":
                person = self._now.by_pagerduty.get(address)
            case "email":
                return self._with_mailbox(address)
            case _:
                return None
        return None if person is None else self.actor(person.email)

    def _slack_identity(self, user_id: str) -> str | None:
        """The owner of this Slack account, if the directory or a key names it."""
        person = self._now.by_slack.get(user_id)
        if person is not None:
            return person.email
        email = self._now.accounts.known_email(user_id)
        return self.identity_of(email) if email is not None and self.is_known(email) else None

    @property
    def without_slack_account(self) -> Collection[str]:
        """Every mailbox of every person in the directory without a ``slack_user_id``."""
        people = (person for person in self._now.people.values() if not person.slack_user_id)
        return tuple(mailbox for person in people for mailbox in person.mailboxes)

    def _with_mailbox(self, address: str) -> Actor | None:
        try:
            recipient = parse_recipient(address)
        except InvalidRecipient:
            return None
        return self.actor(recipient.value) if recipient.kind is RecipientKind.PERSON else None

    def known_group(self, name: str) -> bool:
        return name in self._now.groups

    def everybody(self) -> Sequence[Person]:
        """The people of the directory, by name."""
        return sorted(self._now.people.values(), key=lambda person: (person.name.casefold(), person.email))

    def next_opening(self, identity: str, at: datetime) -> datetime | None:
        hours = self._now.hours.get(self.identity_of(identity))
        return at if hours is None else hours.opening(at)

    def time_zone(self, identity: str) -> tzinfo | None:
        return self._now.zones.get(self.identity_of(identity))

    def language(self, identity: str) -> str | None:
        return self._now.languages.get(self.identity_of(identity))

    def _is_known(self, recipient: Recipient) -> bool:
        """Whether the directory has it: a person by any of their addresses, a group, a PagerDuty service."""
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.EMAIL:
                return self.identity_of(recipient.value) in self._now.people
            case RecipientKind.GROUP:
                return recipient.value in self._now.groups
            case RecipientKind.SLACK:
                return self._slack_identity(recipient.value) in self._now.people
            case RecipientKind.PAGERDUTY:
                return recipient.value in self._now.services
            case RecipientKind.SCHEDULE:
                return False  # the directory names none
            case _ as unknown:
                assert_never(unknown)


def _shared(address: Address) -> Address:
    """The address as a group's member has it: a person's own pager stays their own."""
    return address if address.value == address.person else replace(address, person=None)


def _beginnings(name: str) -> Sequence[str]:
    """The beginnings of references to that name: an e-mail may have a sub-address there."""
    local, at, _ = name.rpartition("@")
    return (name, f"{local}+") if at else (name,)


def _read(settings: Settings, owners: Mapping[str, str]) -> tuple[Mapping[str, Person], Mapping[str, Sequence[str]]]:
    """People by identity, and the identities of each group's members, in the order of the configuration. Two
    spellings of one mailbox are one person, and so are two addresses with one owner in ``owners``."""
    groups: dict[str, dict[str, None]] = {}
    people = {}
    for entry in settings.people:
        identity = canonical(entry.email)
        person = _person(entry.email, entry.name, entry.slack_user_id, entry.pagerduty_user_id)
        people[identity] = replace(person, aliases=entry.aliases)
        for group in entry.groups:
            groups.setdefault(group, {})[identity] = None
    for group, emails in settings.groups.items():
        members = groups.setdefault(group, {})
        for email in emails:
            identity = owners.get(canonical(email), canonical(email))
            people.setdefault(identity, _person(email, email))
            members[identity] = None
    for identity, person in people.items():
        member_of = frozenset(name for name, members in groups.items() if identity in members)
        people[identity] = replace(person, groups=member_of)
    return people, {name: tuple(members) for name, members in groups.items()}


def _person(mailbox: str, name: str, slack_user_id: str | None = None, pagerduty_user_id: str | None = None) -> Person:
    identity = canonical(mailbox)
    other = None if mailbox == identity else mailbox
    return Person(identity, name, slack_user_id, pagerduty_user_id, mailbox=other)


def _keys_of(settings: Settings, owners: Mapping[str, str]) -> Mapping[str, Sequence[ApiKey]]:
    """The keys of the configuration by owner."""
    found: dict[str, list[ApiKey]] = {}
    for entry in settings.api_keys:
        name = canonical(entry.name)
        found.setdefault(owners.get(name, name), []).append(entry)
    return found


def _configured(settings: Settings, services: Collection[str]) -> Iterable[str]:
    """Everybody whom the configuration itself would ask, in canonical form."""
    for channel in settings.channels:
        yield from _defaults(settings, services, channel)
    for rung in settings.suspension.policy.escalation_ladder or ():
        if rung.notify_to is not None:
            yield rung.notify_to


def _defaults(settings: Settings, services: Collection[str], channel: str) -> Sequence[str]:
    match channel:
        case "slack" if settings.slack and settings.slack.default_channel:
            return (f"slack:{settings.slack.default_channel}",)
        case "email" if settings.email:
            return tuple(f"email:{mailbox}" for mailbox in dict.fromkeys(settings.email.default_to))
        case "pagerduty" if DEFAULT_SERVICE in services:
            return (f"pagerduty:{DEFAULT_SERVICE}",)
    return ()
