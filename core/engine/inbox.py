"""The inbox: the number of questions that wait for one person, and one page of them, the soonest deadline first.

The number comes from a short text of every open question that may name the person. Records are read only for one page.
A page begins behind a position, not at a number, so that answered questions do not shift it.

Source: API.md §6, ``GET /inbox``; docs/decisions/0043, 0120.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import chain
from typing import NamedTuple

from core.database.database import Database
from core.domain.audience import Audience, audience_of
from core.domain.people import Actor, Role
from core.domain.suspension import Suspension
from core.engine.permissions import Permissions
from core.store import inbox as entries
from core.store.inbox import Entry, EntryCursor

FOREVER = datetime.max.replace(tzinfo=UTC)
"""The deadline of a question that has none: behind all others."""

PLACE = r"(?:r([0-4])-)?(never|[0-9]{1,16})-([0-9]{1,16})-([A-Za-z0-9-]{1,64})"
"""How a position is written: the risk if the order goes by it, deadline and asking in microseconds, and the ref."""

_AT_ONCE = 1000
_MOST_VERDICTS = 20_000
_NEVER = "never"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PLACE = re.compile(PLACE, re.ASCII)

Prove = Callable[[Actor, Collection[str]], Awaitable[Actor]]
"""The actor, and which of these references a channel has found them behind (:attr:`Actor.proven`)."""


class Order(StrEnum):
    """What comes first in an inbox."""

    DEADLINE = "deadline"
    """The soonest; what has none is last."""
    AGE = "age"
    """The oldest."""
    RISK = "risk"
    """The highest, and of those as by deadline."""


class Position(NamedTuple):
    """Where a question stands in every inbox of one :class:`Order`. By age ``deadline`` is when it was asked; ``risk``
    is 0 but by risk."""

    deadline: datetime
    asked_at: datetime
    ref: str
    risk: int = 0


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Which of the questions that wait are shown, and in what order. ``text`` has to stand in the question as people
    see it, which ``shows`` says of a question; a ``ref`` finds that one alone. ``risk`` is its rank."""

    text: str | None = None
    shows: Callable[[str], bool] | None = None
    ref: str | None = None
    risk: int | None = None
    order: Order = Order.DEADLINE

    def fits(self, entry: Entry) -> bool:
        if self.ref is not None and entry.ref != self.ref:
            return False
        if self.risk is not None and entry.risk != self.risk:
            return False
        return self.text is None or self.shows is None or self.shows(entry.question)

    def position(self, entry: Entry) -> Position:
        deadline = entry.suspended_at if self.order is Order.AGE else entry.expires_at or FOREVER
        return Position(deadline, entry.suspended_at, entry.ref, entry.risk if self.order is Order.RISK else 0)


ALL_THAT_WAITS = Narrowed()


def rank(place: Position) -> tuple[int, datetime, datetime, str]:
    """By what positions are compared."""
    return -place.risk, place.deadline, place.asked_at, place.ref


def written(place: Position) -> str:
    """``place`` for a link or a cursor; it stays what it is, whatever is answered meanwhile."""
    deadline = _NEVER if place.deadline == FOREVER else str(_micros(place.deadline))
    risk = f"r{place.risk}-" if place.risk else ""
    return f"{risk}{deadline}-{_micros(place.asked_at)}-{place.ref}"


def position(text: str) -> Position | None:
    """The position that was :func:`written` so; ``None``, which is the beginning, for anything else."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    risk, deadline, asked_at, ref = found.groups()
    return Position(FOREVER if deadline == _NEVER else _at(deadline), _at(asked_at), ref, int(risk or 0))


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def _at(micros: str) -> datetime:
    return _EPOCH + timedelta(microseconds=int(micros))


@dataclass(frozen=True, slots=True)
class InboxPage:
    """``questions`` of the ``total``; ``before`` of these come earlier. ``after`` is what the next page comes after,
    ``None`` for the last page; ``back`` what the previous page does, ``None`` if that is the first one."""

    total: int
    before: int
    questions: tuple[Suspension, ...]
    after: Position | None
    back: Position | None


@dataclass(slots=True)
class _Counting:
    """Keeps of very many positions those around a page."""

    start: Position | None
    limit: int
    total: int = 0
    before: int = 0
    here: list[Position] = field(default_factory=list)
    """The first ones behind ``start``: one more than a page has."""
    earlier: list[Position] = field(default_factory=list)
    """The last ones up to ``start``, the latest first: one more than a page has."""

    def add(self, positions: Iterable[Position]) -> None:
        behind: list[Position] = []
        up_to: list[Position] = []
        for one in positions:
            (behind if self.start is None or rank(one) > rank(self.start) else up_to).append(one)
        self.total += len(behind) + len(up_to)
        self.before += len(up_to)
        self.here = heapq.nsmallest(self.limit + 1, chain(self.here, behind), key=rank)
        self.earlier = heapq.nlargest(self.limit + 1, chain(self.earlier, up_to), key=rank)


@dataclass(frozen=True, slots=True)
class Inbox:
    database: Database
    permissions: Permissions

    async def page(
        self,
        actor: Actor,
        limit: int,
        after: Position | None = None,
        prove: Prove | None = None,
        narrowed: Narrowed = ALL_THAT_WAITS,
    ) -> InboxPage:
        """Open questions that ``actor`` may answer and has not, however many others are open."""
        counting = _Counting(after, limit)
        verdicts: dict[str, bool] = {}
        seen: set[str] = set()
        async for named in self._naming(actor, narrowed.text):
            some = {one.id: one for one in named if one.id not in seen}.values()  # several references may be theirs
            seen.update(one.id for one in some)
            unknown = {one.audience: Audience.read(one.audience) for one in some if one.audience not in verdicts}
            if len(verdicts) + len(unknown) > _MOST_VERDICTS:
                verdicts.clear()
                unknown = {one.audience: Audience.read(one.audience) for one in some}
            actor = await self._knowing(actor, unknown.values(), prove)
            verdicts |= {text: self._waits_for(audience, actor) for text, audience in unknown.items()}
            counting.add(narrowed.position(one) for one in some if verdicts[one.audience] and narrowed.fits(one))
        here = counting.here[:limit]
        return InboxPage(
            total=counting.total,
            before=counting.before,
            questions=await self._questions(here, actor),
            after=here[-1] if len(counting.here) > limit else None,
            back=counting.earlier[limit] if len(counting.earlier) > limit else None,
        )

    async def _naming(self, actor: Actor, text: str | None) -> AsyncIterator[Sequence[Entry]]:
        """Open questions that may be meant for ``actor``, some at a time."""
        beginnings = [*self.permissions.responders.references_to(actor)]
        if actor.has(Role.OPERATOR):
            beginnings.append(entries.NOBODY)
        reached: EntryCursor | None = None
        while True:
            some, reached = await self.database.read(
                partial(entries.open_naming, beginnings=beginnings, after=reached, limit=_AT_ONCE, text=text)
            )
            yield some
            if reached is None:
                return

    async def _knowing(self, actor: Actor, audiences: Collection[Audience], prove: Prove | None) -> Actor:
        """``actor``, of whom is known from here on whether ``audiences`` mean them."""
        references = dict.fromkeys(one for audience in audiences for one in audience.references)
        responders = self.permissions.responders
        if references and responders.asks_elsewhere:
            await responders.refresh(references)
        return actor if prove is None or not references else await prove(actor, references)

    def _waits_for(self, audience: Audience, actor: Actor) -> bool:
        return self.permissions.waits_for(audience, actor)

    async def _questions(self, positions: Sequence[Position], actor: Actor) -> tuple[Suspension, ...]:
        """In this order, but for those that have been answered since they were counted."""
        refs = [one.ref for one in positions]
        found = await self.database.read(lambda conn: entries.with_refs(conn, refs))
        here = (found[ref] for ref in refs if ref in found)
        return tuple(one for one in here if self._waits_for(audience_of(one), actor))
