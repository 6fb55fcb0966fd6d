"""The directory: who people are, where they are reached, and whom this service may ask. Its only network call asks who
is on call.

Everybody in ``people`` is in it, and everybody whom a group of ``groups`` names, who is then known by e-mail alone.
Where they are on a channel, its vendor's addresses say (``bot.vendors.description.Addresses``).

Source: API.md §2, "Whom to ask" and "Who may answer"; RFC-0026 §11.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from types import MappingProxyType
from typing import assert_never
from zoneinfo import ZoneInfo

from bot.config.people_and_keys import ApiKey
from bot.config.settings import Settings
from bot.people.allow_list import allow_list
from bot.people.on_call import OnCalls, OnCallUser
from bot.vendors.description import Addresses, Source
from bot.vendors.installed import vendors
from core.domain.channels import RecipientKind, prefixes_of
from core.domain.hours import Hours
from core.domain.people import (
    GROUP,
    Actor,
    Address,
    Person,
    Recipient,
    Role,
    canonical,
    parse_recipient,
)
from core.errors import InvalidRecipient
from core.ports import PeopleUnknown, RefusalCause, Refused

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
    there: Mapping[str, Addresses]
    """Where people are, by channel; of channels that are not set up as well, since references may name them."""
    on_calls: OnCalls | None
    people: Mapping[str, Person]
    owners: Mapping[str, str]
    """Whose each further address is (``people[].aliases``), by its canonical form."""
    groups: Mapping[str, Sequence[str]]
    hours: Mapping[str, Hours | None]
    zones: Mapping[str, ZoneInfo]
    languages: Mapping[str, str]
    keys: Mapping[str, Sequence[ApiKey]]
    allows: Callable[[str], bool] | None
    """Whether a reference may be asked by ``recipients.allow``, ``None`` if that is not set."""
    configured: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, sources: Mapping[str, Source], directory: Directory) -> _Contents:
        owners = {canonical(alias): canonical(one.email) for one in settings.people for alias in one.aliases}
        people, groups = _read(settings, owners)
        there = {one.name: one.addresses(settings, people, sources.get(one.name), directory) for one in vendors()}
        allow = settings.recipients.allow
        configured = frozenset(_configured(settings, there))
        return cls(
            settings,
            there,
            next((source.on_calls for source in sources.values() if source.on_calls is not None), None),
            people,
            owners,
            groups,
            hours={canonical(entry.email): entry.opening_hours for entry in settings.people},
            zones={canonical(one.email): ZoneInfo(one.time_zone) for one in settings.people if one.time_zone},
            languages={canonical(one.email): one.language for one in settings.people if one.language},
            keys=_keys_of(settings, owners),
            allows=None if allow is None else allow_list(allow, configured, people, owners),
            configured=configured,
        )


_NOWHERE = Addresses()


class Directory:
    """The ``Responders`` port over the configuration. References are parsed; unknown forms raise
    :class:`InvalidRecipient`."""

    def __init__(
        self,
        settings: Settings,
        stored_roles: StoredRoles = lambda _name: frozenset(),
        stored_names: StoredNames = tuple,
        sources: Mapping[str, Source] = MappingProxyType({}),
        shut_out: ShutOut = lambda _name: False,
    ) -> None:
        self._stored_roles = stored_roles
        self._stored_names = stored_names
        self._shut_out = shut_out
        self._now = _Contents.of(settings, sources, self)

    def become(self, settings: Settings, sources: Mapping[str, Source] = MappingProxyType({})) -> None:
        """Hold what ``settings`` say, from now on and all at once: transactions read it from threads of their own."""
        self._now = _Contents.of(settings, sources, self)

    def _at(self, channel: str) -> Addresses:
        return self._now.there.get(channel, _NOWHERE)

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
        """Where ``reference`` is reached on ``channel``, each place once; empty if it is not."""
        recipient, there = parse_recipient(reference), self._at(channel)
        found: Iterable[Address | None]
        match recipient.kind:
            case RecipientKind.PERSON:
                found = [self._of_person(recipient.value, there)]
            case RecipientKind.GROUP:
                members = (self._of_person(one, there) for one in self._now.groups.get(recipient.value, ()))
                found = (there.as_member(address) for address in members if address is not None)
            case RecipientKind.SCHEDULE:  # means the person on call when it is sent
                found = [Address(channel, str(recipient))] if self.asks_elsewhere and there.reaches_on_call else []
            case RecipientKind.MAILBOX | RecipientKind.PLACE:
                found = [there.at(recipient.value)] if recipient.channel == channel else []
            case _ as unknown:
                assert_never(unknown)
        return tuple(dict.fromkeys(address for address in found if address is not None))

    def _of_person(self, written: str, there: Addresses) -> Address | None:
        identity = self.identity_of(written)
        person = self._now.people.get(identity)
        return there.of_person(identity, person, written if person is None else person.mail_to)

    def surely_asks(self, reference: str, channel: str) -> bool:
        return self._at(channel).surely_asks(parse_recipient(reference))

    def defaults(self, channel: str) -> Sequence[str]:
        there = self._at(channel)
        found = there.defaults()
        return self._operators_at(channel) if there.asks_operators and not found else found

    def _operators_at(self, channel: str) -> Sequence[str]:
        """Every operator who is reached there and may be asked."""
        named = sorted(one for one in self.operators() if "@" in one)
        return [one for one in named if self.allowed(one) and self.addresses(one, channel)]

    def answers_to(self, reference: str, actor: Actor) -> bool:
        """Whether ``reference`` means ``actor``, as far as it was said lately who is behind it; or whom the door has
        just found behind it (:attr:`Actor.proven`)."""
        recipient = parse_recipient(reference)
        return str(recipient) in actor.proven or self._means(recipient, actor)

    def _means(self, recipient: Recipient, actor: Actor) -> bool:
        match recipient.kind:
            case RecipientKind.PERSON:
                return self.identity_of(recipient.value) == actor.identity
            case RecipientKind.GROUP:
                return actor.identity in self._now.groups.get(recipient.value, ())
            case RecipientKind.MAILBOX | RecipientKind.PLACE:
                return self._at(recipient.channel).means(recipient.value, actor.identity)
            case RecipientKind.SCHEDULE:
                on_calls = self._now.on_calls
                known = on_calls.known(recipient.value) if on_calls is not None else ()
                return actor.identity in map(self.identity_of, self._named(known))
            case _ as unknown:
                assert_never(unknown)

    def references_to(self, actor: Actor) -> Collection[str]:
        """What a reference that means ``actor`` may begin with: :meth:`answers_to` says yes to no other. Who is on
        call only somebody else knows: any schedule may mean them."""
        identity, person = actor.identity, self._now.people.get(actor.identity)
        called = sorted(person.identities) if person is not None else (identity,)
        mailboxes = [one for name in called for one in _beginnings(name)]
        groups = (f"{GROUP}:{name}" for name, members in self._now.groups.items() if identity in members)
        places = (one for there in self._now.there.values() for one in there.references(identity, person))
        return (*mailboxes, *groups, *places, *prefixes_of(RecipientKind.SCHEDULE))

    def people(self, reference: str) -> Collection[str]:
        """Whom :meth:`answers_to` would say yes to, as far as it was ever said who is behind it."""
        recipient = parse_recipient(reference)
        match recipient.kind:
            case RecipientKind.PERSON:
                return (self.identity_of(recipient.value),)
            case RecipientKind.GROUP:
                return self._now.groups.get(recipient.value, ())
            case RecipientKind.MAILBOX | RecipientKind.PLACE:
                return self._at(recipient.channel).people(recipient.value)
            case RecipientKind.SCHEDULE:  # counts as one person if unknown
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
            if reference.startswith(prefixes_of(RecipientKind.SCHEDULE)):
                await on_calls.refresh(parse_recipient(reference).value)

    async def on_call(self, reference: str) -> Sequence[str]:
        on_calls = self._now.on_calls
        if on_calls is None:
            raise PeopleUnknown(Refused("on_call_not_configured", RefusalCause.SETUP))
        users = await on_calls.now_on(parse_recipient(reference).value)
        people = self._named(users)
        if users and not people:
            raise PeopleUnknown(Refused("on_call_not_allowed", RefusalCause.PLACE))
        return people

    def known_on_call(self, reference: str) -> Collection[str] | None:
        on_calls, schedule = self._now.on_calls, parse_recipient(reference).value
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
        channel = on_call.channel
        named = self._at(channel).identity_at(on_call.user)
        if named is not None:
            return named
        other = self._now.people.get(self.identity_of(on_call.email)) if on_call.email is not None else None
        if other is None:
            return on_call.email
        return None if other.account_on(channel) else other.email

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
        """Whoever is known by ``address``. A mailbox is an identity by itself; other addresses need the directory."""
        identity = self._at(channel).identity_at(address)
        return None if identity is None else self.actor(identity)

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
        """Whether the directory has it: a person by any of their addresses, a group, a place of a channel's."""
        match recipient.kind:
            case RecipientKind.PERSON:
                return self.identity_of(recipient.value) in self._now.people
            case RecipientKind.GROUP:
                return recipient.value in self._now.groups
            case RecipientKind.MAILBOX | RecipientKind.PLACE:
                return self._at(recipient.channel).is_known(recipient.value, self._now.people.keys())
            case RecipientKind.SCHEDULE:
                return False  # the directory names none
            case _ as unknown:
                assert_never(unknown)


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
        accounts = tuple((one.name, found) for one in vendors() if (found := one.account_in(entry)) is not None)
        people[identity] = replace(_person(entry.email, entry.name), accounts=accounts, aliases=entry.aliases)
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


def _person(mailbox: str, name: str) -> Person:
    identity = canonical(mailbox)
    return Person(identity, name, mailbox=None if mailbox == identity else mailbox)


def _keys_of(settings: Settings, owners: Mapping[str, str]) -> Mapping[str, Sequence[ApiKey]]:
    """The keys of the configuration by owner."""
    found: dict[str, list[ApiKey]] = {}
    for entry in settings.api_keys:
        name = canonical(entry.name)
        found.setdefault(owners.get(name, name), []).append(entry)
    return found


def _configured(settings: Settings, there: Mapping[str, Addresses]) -> Iterable[str]:
    """Everybody whom the configuration itself would ask, in canonical form."""
    for channel in settings.channels:
        yield from there[channel].defaults()
    for rung in settings.suspension.policy.escalation_ladder or ():
        if rung.notify_to is not None:
            yield rung.notify_to
