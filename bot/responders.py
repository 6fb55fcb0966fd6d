"""The directory: who people are, where they are reached, and whom this service may ask. No network call, but to ask
who is on call.

Everybody in ``people`` is in it, and everybody whom a group of ``groups`` names, who is then known by e-mail alone.
Whoever has no ``slack_user_id`` there is reached in Slack as soon as Slack has said which account has their e-mail
(``bot.slack_accounts``).

Source: API.md §2, "Whom to ask" and "Who may answer"; RFC-0026 §11.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from fnmatch import fnmatchcase
from typing import assert_never
from zoneinfo import ZoneInfo

from bot.config import Settings
from bot.config.channels import DEFAULT_SERVICE
from bot.on_call import OnCalls, OnCallUser
from bot.slack_accounts import Accounts, NoAccounts
from core.domain.people import Actor, Address, Person, Recipient, RecipientKind, Role, canonical, parse_recipient
from core.errors import InvalidRecipient
from core.ports import Fault, PeopleUnknown, Refused

ON_CALL = f"{RecipientKind.SCHEDULE}:"

StoredRoles = Callable[[str], frozenset[Role]]
"""The roles of the key of that name which was made on the command line; none where there is no such key."""


def _no_stored_roles(_name: str) -> frozenset[Role]:
    return frozenset()


StoredNames = Callable[[], Collection[str]]
"""The names of the keys that were made on the command line."""


class Directory:
    """The ``Responders`` port over the configuration. References are parsed; unknown forms raise
    :class:`InvalidRecipient`."""

    def __init__(
        self,
        settings: Settings,
        stored_roles: StoredRoles = _no_stored_roles,
        stored_names: StoredNames = tuple,
        accounts: Accounts | None = None,
        on_calls: OnCalls | None = None,
    ) -> None:
        self._settings = settings
        self._on_calls = on_calls
        self._accounts = accounts or NoAccounts()
        self._people, self._groups = _read(settings)
        self._by_slack = {person.slack_user_id: person for person in self._people.values() if person.slack_user_id}
        self._by_pagerduty = {
            person.pagerduty_user_id: person for person in self._people.values() if person.pagerduty_user_id
        }
        self._hours = {entry.email: entry.opening_hours for entry in settings.people}
        self._zones = {entry.email: ZoneInfo(entry.time_zone) for entry in settings.people if entry.time_zone}
        self._services = frozenset(settings.pagerduty.routing_keys if settings.pagerduty else ())
        self._pagers = frozenset(settings.own_routing_keys)
        self._roles = {entry.name: entry.roles for entry in settings.api_keys}
        self._stored_roles = stored_roles
        self._stored_names = stored_names
        self._configured = frozenset(_configured(self, settings))

    def allowed(self, reference: str) -> bool:
        """Whether this service may ask ``reference``, by ``recipients.allow`` or, absent that, by the directory.

        Patterns match the canonical form whatever the case. ``*@example.com`` covers ``email:`` forms too, since
        whoever may be asked everywhere may be asked by mail; ``email:*@example.com`` covers mail alone, not the
        person. What the configuration itself names (a channel's default, a rung of the platform's ladder) always is.
        """
        recipient = parse_recipient(reference)
        if str(recipient) in self._configured:
            return True
        patterns = self._settings.recipients.allow
        if patterns is None:
            return self._is_known(recipient)
        forms = {str(recipient)} | ({recipient.value} if recipient.kind is RecipientKind.EMAIL else set())
        return any(fnmatchcase(form.lower(), pattern.lower()) for form in forms for pattern in patterns)

    def addresses(self, reference: str, channel: str) -> Sequence[Address]:
        """Where ``reference`` is reached on ``channel``, each place once; empty where it is not.

        Any mailbox is reached by mail, in the directory or not. On PagerDuty a person is their own integration where
        the directory has its routing key; else the default service, which pages whoever is on call, as it does for a
        group, and is nobody's in particular then.
        """
        recipient = parse_recipient(reference)
        found: Iterable[Address | None]
        match recipient.kind:
            case RecipientKind.PERSON:
                found = [self._of_person(recipient.value, channel)]
            case RecipientKind.GROUP:
                members = self._groups.get(recipient.value, ())
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
        return self._on_calls is not None and (channel != "pagerduty" or DEFAULT_SERVICE in self._services)

    def _of_person(self, email: str, channel: str) -> Address | None:
        person = self._people.get(email)
        match channel:
            case "slack" if person is not None and person.slack_user_id:
                return Address(channel, person.slack_user_id, email)
            case "slack" if person is not None and self._accounts.known_user(email):
                return Address(channel, email, email)
            case "email":
                return Address(channel, email, email)
            case "pagerduty" if email in self._pagers:
                return Address(channel, email, email)
            case "pagerduty" if DEFAULT_SERVICE in self._services:
                return Address(channel, DEFAULT_SERVICE, email)
        return None

    def surely_asks(self, reference: str, channel: str) -> bool:
        """On PagerDuty a person without an integration of their own is called to the incident, where that is set up.
        Whoever is on call may have no account in Slack; everybody has a mailbox."""
        recipient, pager = parse_recipient(reference), self._settings.pagerduty
        is_schedule = recipient.kind is RecipientKind.SCHEDULE
        if channel == "slack":
            return not is_schedule
        if channel == "email" or not (is_schedule or recipient.kind is RecipientKind.PERSON):
            return True
        return recipient.value in self._pagers or (pager is not None and pager.writes_to_incidents)

    def _at(self, recipient: Recipient) -> Address | None:
        """An address that was written as one."""
        channel, value = recipient.kind.value, recipient.value
        match recipient.kind:
            case RecipientKind.SLACK if value.startswith("S"):  # is mentioned in the default channel, if there is one
                place = self._settings.slack.default_channel if self._settings.slack else None
                return Address(channel, value) if place is not None and place[0] in "CG" else None
            case RecipientKind.SLACK:
                return Address(channel, value, self._slack_identity(value))
            case RecipientKind.EMAIL:
                return Address(channel, value, value)
            case RecipientKind.PAGERDUTY if value in self._services:
                return Address(channel, value)
        return None

    def defaults(self, channel: str) -> Sequence[str]:
        settings = self._settings
        match channel:
            case "slack" if settings.slack and settings.slack.default_channel:
                return (f"slack:{settings.slack.default_channel}",)
            case "email" if settings.email:
                return tuple(f"email:{mailbox}" for mailbox in dict.fromkeys(settings.email.default_to))
            case "pagerduty" if DEFAULT_SERVICE in self._services:
                return (f"pagerduty:{DEFAULT_SERVICE}",)
        return ()

    def answers_to(self, reference: str, actor: Actor) -> bool:
        """Whether ``reference`` means ``actor``. A Slack channel and a PagerDuty service mean nobody; a Slack user
        group its members of the last minute, so see to it before that they are known; or whom the door has just found
        in it (:attr:`Actor.proven`)."""
        recipient = parse_recipient(reference)
        return str(recipient) in actor.proven or self._means(recipient, actor)

    def _means(self, recipient: Recipient, actor: Actor) -> bool:
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.EMAIL:
                return recipient.value == actor.identity
            case RecipientKind.GROUP:
                return actor.identity in self._groups.get(recipient.value, ())
            case RecipientKind.SLACK if recipient.value.startswith("S"):
                members = self._accounts.known_members(recipient.value)
                return any(self._slack_identity(user) == actor.identity for user in members)
            case RecipientKind.SLACK:
                return self._slack_identity(recipient.value) == actor.identity
            case RecipientKind.PAGERDUTY:
                return False
            case RecipientKind.SCHEDULE:
                known = self._on_calls.known(recipient.value) if self._on_calls is not None else ()
                return actor.identity in self._named(known)
            case _ as unknown:
                assert_never(unknown)

    def references_to(self, actor: Actor) -> Collection[str]:
        """What a reference that means ``actor`` may begin with: :meth:`answers_to` says yes to no other. Who is in a
        Slack user group only Slack knows, who is on call only PagerDuty: any of them may be theirs."""
        identity, person = actor.identity, self._people.get(actor.identity)
        groups = (f"group:{name}" for name, members in self._groups.items() if identity in members)
        accounts = {person.slack_user_id if person is not None else None, self._accounts.known_user(identity)} - {None}
        return (identity, f"email:{identity}", *groups, *(f"slack:{one}" for one in accounts), "slack:S", ON_CALL)

    def people(self, reference: str) -> Collection[str]:
        """Whom :meth:`answers_to` would say yes to; of a Slack user group those who were in it when last seen."""
        recipient = parse_recipient(reference)
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.EMAIL:
                return (recipient.value,)
            case RecipientKind.GROUP:
                return self._groups.get(recipient.value, ())
            case RecipientKind.SLACK if recipient.value.startswith("S"):
                members = self._accounts.last_members(recipient.value)
                return tuple(one for one in map(self._slack_identity, sorted(members)) if one is not None)
            case RecipientKind.SLACK:
                identity = self._slack_identity(recipient.value)
                return () if identity is None else (identity,)
            case RecipientKind.PAGERDUTY:
                return ()
            case RecipientKind.SCHEDULE:  # somebody, whoever it is
                last = self._on_calls.last(recipient.value) if self._on_calls is not None else ()
                return self._named(last) or (str(recipient),)
            case _ as unknown:
                assert_never(unknown)

    @property
    def asks_elsewhere(self) -> bool:
        return self._on_calls is not None

    async def refresh(self, references: Iterable[str]) -> None:
        if self._on_calls is None:
            return
        for reference in dict.fromkeys(references):
            if reference.startswith(ON_CALL):
                await self._on_calls.refresh(reference.removeprefix(ON_CALL))

    async def on_call(self, reference: str) -> Sequence[str]:
        if self._on_calls is None:
            raise PeopleUnknown(Refused("on_call_not_configured", Fault.SETUP))
        users = await self._on_calls.now_on(reference.removeprefix(ON_CALL))
        people = self._named(users)
        if users and not people:
            raise PeopleUnknown(Refused("on_call_not_allowed", Fault.PLACE))
        return people

    def _named(self, on_call: Iterable[OnCallUser]) -> tuple[str, ...]:
        """Their identities: the directory's for the account, else its mailbox where that is nobody else's. Whoever runs
        PagerDuty says who is on call, and not whom this service may ask: a stranger has to be on its allow-list."""
        found = dict.fromkeys(identity for one in on_call if (identity := self._of_account(one)) is not None)
        return tuple(identity for identity in found if identity in self._people or self._may_be_asked(identity))

    def _may_be_asked(self, mailbox: str) -> bool:
        try:
            return self.allowed(mailbox)
        except InvalidRecipient:
            return False

    def _of_account(self, on_call: OnCallUser) -> str | None:
        person = self._by_pagerduty.get(on_call.user)
        if person is not None:
            return person.email
        other = self._people.get(on_call.email) if on_call.email is not None else None
        return None if other is not None and other.pagerduty_user_id else on_call.email

    def operators(self) -> Collection[str]:
        names = {canonical(name) for name in (*self._roles, *self._stored_names())}
        return frozenset(name for name in names if self.actor(name).has(Role.OPERATOR))

    def actor(self, identity: str) -> Actor:
        """Whoever has this identity, with the roles of the API key of that name: an operator is one in Slack too."""
        name = canonical(identity)
        roles = self._roles.get(name, frozenset()) | self._stored_roles(name)
        return Actor(name, roles, person=self._people.get(name))

    def actor_at(self, channel: str, address: str) -> Actor | None:
        """Whoever is known by ``address``. A mailbox is an identity by itself; other addresses need the directory."""
        match channel:
            case "slack":
                identity = self._slack_identity(address)
                return None if identity is None else self.actor(identity)
            case "pagerduty":
                person = self._by_pagerduty.get(address)
            case "email":
                return self._with_mailbox(address)
            case _:
                return None
        return None if person is None else self.actor(person.email)

    def _slack_identity(self, user_id: str) -> str | None:
        """Whoever has this Slack account, as far as the directory or a key names them."""
        person = self._by_slack.get(user_id)
        if person is not None:
            return person.email
        email = self._accounts.known_email(user_id)
        known = email is not None and (self.actor(email).roles or email in self._people)
        return email if known else None

    @property
    def without_slack_account(self) -> Collection[str]:
        """The e-mails of everybody in the directory who has no ``slack_user_id`` there."""
        return tuple(email for email, person in self._people.items() if not person.slack_user_id)

    def _with_mailbox(self, address: str) -> Actor | None:
        try:
            recipient = parse_recipient(address)
        except InvalidRecipient:
            return None
        return self.actor(recipient.value) if recipient.kind is RecipientKind.PERSON else None

    def known_group(self, name: str) -> bool:
        return name in self._groups

    def everybody(self) -> Sequence[Person]:
        """The people of the directory, by name."""
        return sorted(self._people.values(), key=lambda person: (person.name.casefold(), person.email))

    def next_opening(self, identity: str, at: datetime) -> datetime | None:
        hours = self._hours.get(canonical(identity))
        return at if hours is None else hours.opening(at)

    def time_zone(self, identity: str) -> tzinfo | None:
        return self._zones.get(canonical(identity))

    def _is_known(self, recipient: Recipient) -> bool:
        """Whether the directory has it: a person by any of their addresses, a group, a PagerDuty service."""
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.EMAIL:
                return recipient.value in self._people
            case RecipientKind.GROUP:
                return recipient.value in self._groups
            case RecipientKind.SLACK:
                return self._slack_identity(recipient.value) in self._people
            case RecipientKind.PAGERDUTY:
                return recipient.value in self._services
            case RecipientKind.SCHEDULE:
                return False  # the directory names none
            case _ as unknown:
                assert_never(unknown)


def _shared(address: Address) -> Address:
    """As a member of a group has it: a pager of one's own stays one's own."""
    return address if address.value == address.person else replace(address, person=None)


def _read(settings: Settings) -> tuple[Mapping[str, Person], Mapping[str, Sequence[str]]]:
    """People by e-mail, and the e-mails of each group's members, in the order of the configuration."""
    groups: dict[str, dict[str, None]] = {}
    for entry in settings.people:
        for group in entry.groups:
            groups.setdefault(group, {})[entry.email] = None
    for group, emails in settings.groups.items():
        groups.setdefault(group, {}).update(dict.fromkeys(emails))
    people = {
        entry.email: Person(entry.email, entry.name, entry.slack_user_id, entry.pagerduty_user_id)
        for entry in settings.people
    }
    for email in (email for members in groups.values() for email in members):
        person = people.setdefault(email, Person(email, email))
        people[email] = replace(person, groups=frozenset(name for name, members in groups.items() if email in members))
    return people, {name: tuple(members) for name, members in groups.items()}


def _configured(directory: Directory, settings: Settings) -> Iterable[str]:
    """Everybody whom the configuration itself would ask, in canonical form."""
    for channel in settings.channels:
        yield from directory.defaults(channel)
    for rung in settings.suspension.policy.escalation_ladder or ():
        if rung.notify_to is not None:
            yield rung.notify_to
