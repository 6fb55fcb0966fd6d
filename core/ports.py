"""Ports: what core asks of the world. Channels, agents, responders, the clock, the work engine, and an observer.

A send never raises for what the wire did. It returns one of four outcomes (delivered, deferred, ambiguous, refused),
and only :class:`Deferred` is repeated blindly.

An :class:`Observer` is told what has happened, for metrics and logs. It is told after the commit (what was rolled back
has not happened) and in the event loop. It is quick, keeps what it hears to itself, and never raises.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import JsonValue

from core.domain.notice import Ending, Message, Notice
from core.domain.people import Actor, Address, Person
from core.domain.suspension import Cut

if TYPE_CHECKING:  # channels know the ports, and need no database
    from core.database.database import Tx
from core.domain.vocabulary import Outcome

Receipt = Mapping[str, str]
"""What a channel needs to find its message again, in its own words (``{"channel": "C…", "ts": "…"}``)."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The other side has accepted it. ``receipt`` finds the message again.

    ``remark`` is a stable code that the timeline shows. ``then`` are short messages that are to follow, each in a row
    of its own with tries of its own. ``amiss`` is a stable code for what is not as set up, of which the operators are
    told, though it went out all the same. ``awaits`` is the ref of a question that the channel's door will have seen
    once the message has really arrived, where it is told of that (:mod:`core.delivery.confirmation`); of a withdrawal,
    one that is withdrawn again unless it is seen to be gone (:mod:`core.delivery.lost_withdrawals`).
    """

    receipt: Receipt
    remark: str | None = None
    then: tuple[tuple[Message, Address], ...] = ()
    awaits: str | None = None
    amiss: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Deferred:
    """Surely not sent; try again, not before ``until`` if it is given. ``reason`` is a stable code. With ``fault``
    somebody has to mend something first, and is told."""

    reason: str
    until: datetime | None = None
    fault: RefusalCause | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """It may have been sent. The next try says so (:attr:`Sending.ambiguous`), and the channel reconciles first; not
    before ``until`` if it is given."""

    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """Nobody can say whether it is there. ``receipt`` takes it back if it is, and does nothing if it is not."""

    receipt: Receipt


class RefusalCause(StrEnum):
    """What has to be mended before the like of a refused message is accepted."""

    MESSAGE = "message"
    """This message, or whom it was for."""
    SETUP = "setup"
    """How the channel is set up: no other message would fare better."""
    PLACE = "place"
    """The place or the account it was for: nothing else gets through there either."""
    CONTENT = "content"
    """What we made of it: the channel can't show it."""
    AWAY = "away"
    """The other side can't be reached, or is about to be again: worth a word once it lasts."""
    LIMITED = "limited"
    """The other side has had too much of us, and says when it takes more: worth a word if that is long."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It will never be accepted like this. ``reason`` is a stable code."""

    reason: str
    fault: RefusalCause = field(default=RefusalCause.MESSAGE, compare=False)


Delivery = Delivered | Deferred | Ambiguous | Refused


@dataclass(frozen=True, slots=True)
class Sending:
    """One row of the outbox on its way out.

    ``id`` is stable over every try: it is in the mail's Message-ID and in the Slack message's metadata. ``tries``
    counts this one, from 1. ``ambiguous`` says that an earlier try may have got through. ``since`` is when the row
    was written. ``earlier`` are the receipts of the question's earlier attempts on this channel, oldest first, where
    the channel follows them up.
    """

    id: str
    tries: int
    ambiguous: bool
    since: datetime
    earlier: tuple[Receipt, ...] = ()


class Channel(Protocol):
    """A way to reach people. ``name`` is the ``channel_hint`` it answers to.

    A class that inherits from it says only what differs: as it stands here, messages are sent, and left as they are.
    """

    name: str
    lanes: int = 4
    """How many sends may be under way at once."""
    lane_width: int | None = None
    """How many of them to one place; ``None`` if all places share them (``core/delivery/turns.py``)."""
    withdraws: bool = False
    """Whether an ended question's messages can be changed or taken back."""
    tells_endings: bool = False
    """Whether somebody is told there, by one more message, how a question ended that nothing there says of."""
    follows_up: bool = False
    """Whether a reminder is joined to what was sent before (:attr:`Sending.earlier`)."""
    reaches_one_person: bool = True
    """Whether a message to somebody reaches them, and not whoever is on call."""
    takes_replies: bool = False
    """Whether a message can be replied to at an address of its own (``Links.reply_token``)."""
    takes_messages: bool = True
    """Whether it goes out to people, and so can tell them something beside a question (:meth:`tell`)."""
    one_way: bool = False
    """Whether nothing shows that a notice has reached anybody. A veto counts such a one only once its page was
    opened."""

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivery: ...

    def cut(self, notice: Notice) -> Cut:
        """What of the agent's words is left out of what it sends. It goes by these words alone, so that it is the same
        when it is sent and when an answer comes in. As it stands here, the question alone is shown."""
        return Cut.WORDS if notice.context else Cut.NOTHING if notice.action is None else Cut.ACTION

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivery:
        """Show everybody how it ended, at the message that ``receipt`` names."""
        return Refused("not_withdrawn", RefusalCause.MESSAGE)

    async def recover(self, ref: str, to: Address, sending: Sending) -> Delivery | Unconfirmed:
        """What an earlier, doubtful try of a notice has left at ``to``; sends nothing.

        ``Delivered`` with the message's receipt, ``Refused`` if there is nothing, ``Unconfirmed`` if there is no
        telling: asked once the question has ended, so that nothing is left behind that still asks.
        """
        return Refused("not_found", RefusalCause.MESSAGE)

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivery: ...

    async def close(self) -> None: ...


@runtime_checkable
class Refreshing(Protocol):
    """A :class:`Channel` whose messages can also be changed while their question is open."""

    async def refresh(self, notice: Notice, to: Address, receipt: Receipt, delivery: str, sending: Sending) -> Delivery:
        """Show what has become of the question at the message that ``receipt`` names and ``delivery`` has left."""
        ...


@runtime_checkable
class Sweepable(Protocol):
    """A :class:`Channel` on which an ended question may go on asking although its withdrawal was accepted."""

    async def left_open(self) -> Collection[str] | None:
        """The refs of the questions that still ask there; ``None`` if the other side can't say."""
        ...


@dataclass(frozen=True, slots=True)
class Callback:
    """One signed POST to a waiting agent. ``body`` is frozen when the suspension ends; ``id`` is the ``webhook-id``.

    ``ref`` names the question in public, and ``traceparent`` the span in which it was asked for; a callback that an
    older version has written has neither.
    """

    id: str
    url: str
    key: str
    body: Mapping[str, JsonValue]
    tries: int
    ref: str | None = None
    traceparent: str | None = None


class Agents(Protocol):
    """Calls the waiting agent back."""

    lanes: int
    """How many calls may be under way at once."""
    lane_width: int
    """How many of them to one origin of one key."""
    event_lanes: int
    """As :attr:`lanes`, for events to subscribers, which so never take an agent's turn."""
    event_lane_width: int

    def may_call(self, key: str, url: str) -> str | None:
        """Why ``key`` may not be called back at ``url``, as one sentence; ``None`` if it may. No network call."""
        ...

    async def resume(self, callback: Callback) -> Delivery: ...

    async def send_event(self, callback: Callback) -> Delivery:
        """Tell a subscriber of an event. Nobody waits for it, and there is no receipt in it."""
        ...

    async def close(self) -> None: ...


class PeopleUnknown(Exception):
    """Whoever has to say who somebody is gives no answer. ``outcome`` is what that means for what waits for it."""

    def __init__(self, outcome: Deferred | Refused) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


class Responders(Protocol):
    """Identity → address, groups and the allow-list (RFC-0026 §11). Only what is awaited makes network calls."""

    def allowed(self, reference: str) -> bool: ...

    def addresses(self, reference: str, channel: str) -> Sequence[Address]:
        """Where ``reference`` is reached on ``channel``, empty if it is not."""
        ...

    def defaults(self, channel: str) -> Sequence[str]:
        """The recipients that the configuration names for ``channel``."""
        ...

    def answers_to(self, reference: str, actor: Actor) -> bool:
        """Whether ``reference`` (a person, a group, an address) means ``actor``."""
        ...

    def surely_asks(self, reference: str, channel: str) -> bool:
        """Whether a message to ``reference`` on ``channel`` reaches whom it means, and not only whoever is on call."""
        ...

    def references_to(self, actor: Actor) -> Collection[str]:
        """What a reference that means ``actor`` may begin with: :meth:`answers_to` says yes to no other."""
        ...

    def people(self, reference: str) -> Collection[str]:
        """The identities that ``reference`` means, as of now; none for a shared place."""
        ...

    def operators(self) -> Collection[str]:
        """The identities of everybody whose key makes them an operator, as of now."""
        ...

    def identity_of(self, name: str) -> str:
        """Whose an address or a name is, as of now: its canonical form, but a person's identity for each further
        address of theirs. Every comparison of two people is one of these."""
        ...

    def is_known(self, identity: str) -> bool:
        """Whether a person of the directory or a key has this identity. Nobody else is handed a question, or counts
        if several answers are needed."""
        ...

    def actor(self, identity: str) -> Actor:
        """Whoever has this identity, by whichever of their addresses; in the directory or not."""
        ...

    def actor_at(self, channel: str, address: str) -> Actor | None:
        """Whoever is known by ``address`` on ``channel`` (a Slack user id, a mailbox, a PagerDuty user id)."""
        ...

    @property
    def asks_elsewhere(self) -> bool:
        """Whether there may be references whose people somebody else has to name: on-call schedules."""
        ...

    async def refresh(self, references: Iterable[str]) -> None:
        """See to it, by asking if that is needed, that :meth:`answers_to` knows who is behind ``references`` now.
        Where nobody answers it goes by what was said last, for a bounded time."""
        ...

    async def on_call(self, reference: str) -> Sequence[str]:
        """The identities behind a schedule now, none if nobody is. Raises :class:`PeopleUnknown`."""
        ...

    def known_on_call(self, reference: str) -> Collection[str] | None:
        """The identities behind a schedule now, as far as it was said lately who they are; ``None`` if it was not."""
        ...

    def known_group(self, name: str) -> bool: ...

    def everybody(self) -> Sequence[Person]:
        """The people of the directory, by name."""
        ...

    def next_opening(self, identity: str, at: datetime) -> datetime | None:
        """When ``identity`` works, from ``at`` on: ``at`` itself for whoever keeps no hours, ``None`` for never."""
        ...

    def time_zone(self, identity: str) -> tzinfo | None:
        """Where ``identity`` lives, as far as the directory says."""
        ...

    def language(self, identity: str) -> str | None:
        """What ``identity`` writes, as a code of two letters, as far as the directory says."""
        ...


class Clock(Protocol):
    """The one source of time. Instants are aware and UTC."""

    def now(self) -> datetime: ...


class HostClock(Clock, Protocol):
    """A clock on a host. Setting the host's clock does not set this one, until :meth:`follow` does."""

    def ahead(self, shared: datetime | None) -> timedelta:
        """By how much the time that counts is ahead of this clock; negative if it is behind.

        That is ``shared``, where several hosts go by one clock, else what this host's own clock says.
        """
        ...

    def follow(self, by: timedelta) -> None:
        """Go on from that much later, or earlier."""
        ...


class Alarm(Protocol):
    """Sees to it that somebody looks in time."""

    def nudge(self, at: datetime) -> None:
        """Something will be due at ``at``: look then, at the latest. Known to this process alone."""
        ...

    def within(self, tx: Tx, at: datetime) -> None:
        """As :meth:`nudge`, for what ``tx`` writes and for every process that works: it stands or falls with it.
        Called from the transaction's thread."""
        ...


class Work(Alarm, Protocol):
    """When to look again. The engine behind it only ever says "look"; looking twice is harmless."""

    async def start(self, look: Callable[[], Awaitable[datetime | None]]) -> None:
        """Begin calling ``look`` whenever something may be due. It does all due work and returns the next instant."""
        ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between tries: ``first`` doubling to ``longest``, given up ``give_up_after`` the row was written."""

    first: timedelta
    longest: timedelta
    give_up_after: timedelta


class Observer(Protocol):
    """Hears of every transition, look and try of this process."""

    def moved(self, outcome: Outcome) -> None:
        """A suspension was opened or has moved; ``outcome`` is as it was written."""
        ...

    def looked(self, late: timedelta) -> None:
        """A suspension that was due was looked at, so long after it was due."""
        ...

    def tried(self, channel: str, outcome: str, late: timedelta) -> None:
        """The relay has tried to send something that was due ``late`` ago. ``outcome`` is one of ``delivered``,
        ``deferred``, ``ambiguous``, ``refused`` and ``dropped``."""
        ...

    def callback_died(self, ref: str, reason: str) -> None:
        """The callback about question ``ref`` was given up, for ``reason``: its agent will not hear by itself."""
        ...

    def received(self, channel: str, door: str, kind: str) -> None:
        """Something has come in by ``door`` of ``channel`` and was read; ``kind`` says what it is."""
        ...

    def quarantined(self, channel: str, reason: str) -> None:
        """Something that came in could not be read, and is kept."""
        ...


class _Nobody:
    def moved(self, outcome: Outcome) -> None:
        pass

    def looked(self, late: timedelta) -> None:
        pass

    def tried(self, channel: str, outcome: str, late: timedelta) -> None:
        pass

    def callback_died(self, ref: str, reason: str) -> None:
        pass

    def received(self, channel: str, door: str, kind: str) -> None:
        pass

    def quarantined(self, channel: str, reason: str) -> None:
        pass


UNOBSERVED: Observer = _Nobody()
"""Where nobody wants to know."""
