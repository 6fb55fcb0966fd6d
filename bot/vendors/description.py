"""A vendor's description: everything that the rest of the service has to know of one way to reach people.

``bot.config.sections`` has what the configuration knows; what runs is added here. A vendor is a subclass of
:class:`Vendor` with one instance. What it does not say is left to the defaults. It is loaded whenever the configuration
is read, so it imports its libraries where it needs them.

Source: docs/decisions/0105; docs/how-to/a-channel-of-ones-own.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import JsonValue

from bot.config.sections import Description, S
from core.domain.answers import GivenAnswer
from core.domain.people import Actor, Address, Person, Recipient
from core.domain.suspension import Suspension, Via
from core.errors import envelope

if TYPE_CHECKING:  # nothing that runs is loaded with a description
    from starlette.requests import Request
    from starlette.responses import Response

    from bot.config.settings import Settings
    from bot.doctor.examination import Check
    from bot.people.on_call import OnCalls
    from bot.wiring.roles import Parts
    from core.database.database import Database
    from core.domain.reception import Reception, Unclaimed
    from core.domain.root_key import RootKey
    from core.engine.engine import Engine
    from core.engine.transitions import Transitions
    from core.inbound.reports import InboundReports
    from core.ports import Channel, Clock
    from core.work.health import Health


class Known(Protocol):
    """What a vendor may ask the directory."""

    def identity_of(self, name: str) -> str:
        """Whose an address or a name is."""
        ...

    def is_known(self, identity: str) -> bool:
        """Whether a person of the directory or a key has this identity."""
        ...


class Addresses:
    """Where people are on one channel, and who is behind a place there. No network call.

    As it stands here, nobody is reached, and nobody is behind anything.
    """

    reaches_on_call: bool = False
    """Whether it can ask whoever is on call by a schedule."""
    asks_operators: bool = False
    """Whether every operator is asked if a question names nobody, and :meth:`defaults` has nobody either."""

    def of_person(self, identity: str, person: Person | None, mailbox: str) -> Address | None:
        """Where somebody is reached. ``person`` is ``None`` for who is not in the directory."""
        return None

    def as_member(self, address: Address) -> Address:
        """The address of a person who is asked as one of a group."""
        return address

    def at(self, value: str) -> Address | None:
        """The place that a reference of this channel's names, ``None`` if there is no such place."""
        return None

    def defaults(self) -> Sequence[str]:
        """The references that are asked if a question names nobody."""
        return ()

    def identity_at(self, value: str) -> str | None:
        """Who is known by this account or mailbox."""
        return None

    def means(self, value: str, identity: str) -> bool:
        """Whether the place is ``identity``'s, or they are one of its people now."""
        return self.identity_at(value) == identity

    def people(self, value: str) -> Collection[str]:
        """The identities behind a place, as far as it was said lately who they are."""
        found = self.identity_at(value)
        return () if found is None else (found,)

    def references(self, identity: str, person: Person | None) -> Iterable[str]:
        """What references of this channel's begin with that may mean ``identity``."""
        return ()

    def is_known(self, value: str, people: Collection[str]) -> bool:
        """Whether the directory has what the reference names, so that it may be asked; ``people`` are its
        identities."""
        return self.identity_at(value) in people

    def surely_asks(self, recipient: Recipient) -> bool:
        """Whether a message to ``recipient`` reaches whom it means, and not only whoever is on call."""
        return True


class NamedAccounts(Addresses):
    """People by the accounts that the directory has for them."""

    def __init__(self, channel: str, people: Iterable[Person]) -> None:
        self._channel = channel
        self._identities = {account: one.email for one in people if (account := one.account_on(channel)) is not None}

    def of_person(self, identity: str, person: Person | None, mailbox: str) -> Address | None:
        account = None if person is None else person.account_on(self._channel)
        return None if account is None else Address(self._channel, account, identity)

    def at(self, value: str) -> Address | None:
        return Address(self._channel, value, self.identity_at(value))

    def identity_at(self, value: str) -> str | None:
        return self._identities.get(value)


class Source:
    """What is asked of the vendor beside sending, in one place for the whole process, since it keeps what it was
    told."""

    on_calls: OnCalls | None = None

    async def follow(self, people: Sequence[Person]) -> None:
        """Begin to learn who ``people`` are there, or go on with these. At the start, and once they are others."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Hook:
    """A route that the vendor calls. ``described`` are FastAPI's own words for the OpenAPI document."""

    path: str
    described: Mapping[str, Any] = field(default_factory=dict)
    largest: int | None = None
    """Bytes of a body, if they are more than elsewhere."""


class Handover(Enum):
    """How a door takes the place of an older one when the configuration is read anew."""

    AT_ONCE = "at_once"
    """Requests are its own from now on."""
    OVERLAPPING = "overlapping"
    """It begins before the older one ends."""
    IN_TURN = "in_turn"
    """It begins once the older one has ended."""


_TOLD = {
    401: ("unauthorized", "The signature is missing or wrong."),
    503: ("database_unavailable", "Try again: nothing was stored."),
}


class Door:
    """One way in. Its name is what ``/readyz`` calls it."""

    handover: ClassVar[Handover] = Handover.AT_ONCE

    def __init__(self, name: str, hook: Hook | None = None) -> None:
        self.name = name
        self.hook = hook
        """The route that leads to :meth:`handle`, if there is one."""

    @property
    def standing(self) -> str | None:
        """How it stands, of one that is not brought here by HTTP: ``connected``, ``connecting``, …"""
        return None

    async def handle(self, request: Request) -> Response:
        """One request by its hook, whose signature it checks: 401 if that is wrong."""
        raise NotImplementedError

    @staticmethod
    def told(status: int) -> Response:
        """Vendors read the status alone; people who try the door by hand get the envelope."""
        from starlette.responses import JSONResponse

        return JSONResponse(envelope(*_TOLD[status]) if status in _TOLD else {"accepted": True}, status)

    async def start(self) -> None:
        """Begin to ask for what is not brought here by HTTP. Raises :class:`core.errors.ConfigError`."""

    def become(self, other: Door) -> bool:
        """Go on as ``other`` would; ``False`` if ``other`` has to take its place."""
        return False

    async def stop_taking(self) -> None:
        """What has arrived is finished, and nothing more is asked for."""

    async def look(self) -> datetime | None:
        """Do what is due, where the clock runs; returns when the next thing is."""
        return None

    async def stop_looking(self) -> None:
        """End what :meth:`look` has begun."""

    async def close(self) -> None:
        """After the last request."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a vendor's parts are made from before anything runs. ``folder`` is the configuration's, ``instance`` the
    name of this installation."""

    settings: Settings
    folder: Path
    clock: Clock
    root: RootKey
    instance: str
    database: Database


@dataclass(frozen=True, slots=True)
class Inside:
    """What a vendor's doors answer with: the service that runs, as far as its ``parts`` run here."""

    around: Around
    parts: Parts
    engine: Engine
    incoming: InboundReports
    transitions: Transitions
    health: Health

    def answers(self, channel: str) -> AnswerPort:
        """The engine, as a door of ``channel`` needs it."""
        return AnswerPort(channel, self.engine)


@dataclass(frozen=True, slots=True)
class AnswerPort:
    """What a door does with what has come in."""

    channel: str
    engine: Engine

    async def question_of(self, ref: str) -> Suspension | None:
        """The question whose ``ref`` was in the notice."""
        return await self.engine.queries.find(ref)

    def person_of(self, account: str) -> Actor | None:
        """Whoever is known by this account."""
        return self.engine.permissions.responders.actor_at(self.channel, account)

    async def respond(self, question: Suspension, by: Actor, value: JsonValue) -> Reception:
        """Record an answer; never raises for an answer that does not count, but says why."""
        return await self.engine.respond(
            GivenAnswer(question.id, by, self.channel, value, via=Via(self.channel)), question
        )

    async def claim(self, question: Suspension, by: Actor) -> Suspension | Unclaimed:
        """Hold further attempts back: somebody is on it. Raises :class:`core.errors.NotAResponder`."""
        return await self.engine.claim(question.id, by, self.channel)


class Vendor(Description[S]):
    """One way to reach people."""

    def addresses(
        self, settings: Settings, people: Mapping[str, Person], source: Source | None, known: Known
    ) -> Addresses:
        """``people`` are those of the directory by identity. Without the section there is no channel, yet its
        recipients are understood. As it stands here, people are where :attr:`account` says."""
        return NamedAccounts(self.name, people.values())

    # --- What runs ------------------------------------------------------------------------------------------------

    def source(self, section: S, around: Around) -> Source | None:
        """Who is asked who is who."""
        return None

    def everybody(self) -> Source:
        """A source that takes everybody to be known by their e-mail, for doctor."""
        return Source()

    def channel(self, section: S, around: Around, source: Source | None) -> Channel:
        """Raises :class:`core.errors.ConfigError`."""
        raise NotImplementedError

    def doors(self, section: S, inside: Inside, source: Source | None) -> Iterable[Door]:
        """Those that are configured, and belong to the parts that run here."""
        return ()

    def reports_arrivals(self, section: S) -> bool:
        """Whether a door hears what has come of a message."""
        return False

    # --- Doctor ---------------------------------------------------------------------------------------------------

    def checks(self) -> Sequence[tuple[str, Check]]:
        """Each with the subject under which it is told that it took too long. Nothing is found if the section is
        absent."""
        return ()

    def clock_url(self, section: S) -> str | None:
        """An address of the vendor's whose answer has its time."""
        return None
