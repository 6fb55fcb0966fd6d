"""The history: questions that one person took part in, or all that an operator may read; open ones too, newest first.

Whatever is looked for is found along one index: of participants, of trigrams, of when questions ended, of risks, of
statuses, or of all questions. The rest is decided on the records. A text has to stand in the question as people see it:
nobody finds out by searching what redaction hides.

Source: API.md §2, ``q``; docs/decisions/0120.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import sqlalchemy as sa

from core.database.database import Database
from core.domain.people import Actor, canonical
from core.domain.suspension import Status, Suspension
from core.domain.wording import stated_risk
from core.engine.permissions import Permissions
from core.store import participants, suspension_lists, suspensions
from core.store.suspension_lists import Filter, PersonTexts
from core.store.tables import PageCursor

MOST_COUNTED = 10_000
"""More are told as so many and more."""
MOST_READ = 2_000
"""Records that are read for one page of what is decided on records; then the page says where to go on."""


_PLACE = re.compile(r"([0-9]{1,16})-([0-9a-f]{16})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def written(place: PageCursor) -> str:
    """``place`` for a link. The id is not in it: it authorises an answer."""
    return f"{(place[0] - _EPOCH) // _MICROSECOND}-{_mark(place[1])}"


def _mark(suspension_id: str) -> str:
    return hashlib.sha256(suspension_id.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for; ``None`` is anything. ``shows`` says whether ``text`` stands in a question as people see it.
    ``by`` are the identities of whoever gave the answer, or cancelled it."""

    text: str | None = None
    shows: Callable[[Suspension], bool] | None = None
    by: frozenset[str] | None = None
    ended_since: datetime | None = None
    ended_before: datetime | None = None
    status: Status | None = None
    risk: int | None = None

    @property
    def filter(self) -> Filter:
        """The part of it that the database decides by itself."""
        return Filter(
            status=None if self.status is None else self.status.value,
            text=self.text,
            risk=self.risk,
            ended_since=self.ended_since,
            ended_before=self.ended_before,
        )

    @property
    def is_anything(self) -> bool:
        return self.by is None and self.filter == Filter()

    def fits(self, suspension: Suspension) -> bool:
        ask, ended = suspension.ask, suspension.ended
        if self.status is not None and suspension.status is not self.status:
            return False
        if self.ended_since is not None and (ended is None or ended.at < self.ended_since):
            return False
        if self.ended_before is not None and (ended is None or ended.at >= self.ended_before):
            return False
        if self.risk is not None:
            risk = stated_risk(ask.decision_record, ask.context)
            if risk is None or risk.rank != self.risk:
                return False
        if self.by is not None and self.by.isdisjoint(_answered_by(suspension)):
            return False
        return self.shows is None or self.shows(suspension)


def _answered_by(suspension: Suspension) -> set[str]:
    ended = suspension.ended
    by = {one.by for one in suspension.answers} | ({ended.by} if ended is not None and ended.by is not None else set())
    return {canonical(one) for one in by}


@dataclass(frozen=True, slots=True)
class Number:
    """How many there are; ``is_more``: at least so many."""

    of: int
    is_more: bool = False

    @classmethod
    def up_to(cls, counted: int) -> Number:
        """Of what was counted to one more than :data:`MOST_COUNTED`."""
        return cls(MOST_COUNTED, is_more=True) if counted > MOST_COUNTED else cls(counted)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """``after`` is what the next page comes after, ``None`` for the last; ``back`` what the previous one does, ``None``
    if that is the first. ``total`` and ``earlier``, how many come before, are ``None`` if they are not counted."""

    questions: Sequence[Suspension]
    after: PageCursor | None
    back: PageCursor | None = None
    total: Number | None = None
    earlier: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    database: Database
    permissions: Permissions

    async def mine(self, actor: Actor, sought: Sought, limit: int, before: PageCursor | None = None) -> HistoryPage:
        """What ``actor`` took part in. Of what they may not read any more, only the record's ref may be shown: see
        :meth:`may_read`. If anything is looked for, that is left out."""
        own = self._identities(actor)
        page = await self._of_participants(own, sought, limit, before, partial(self._is_theirs, actor, sought))
        if not sought.is_anything:
            return page
        places = await self.database.read(lambda conn: participants.of(conn, own, before=None, limit=MOST_COUNTED + 1))
        earlier = 0 if before is None else sum(one >= before for one in places)
        back = places[earlier - limit - 1] if earlier > limit else None
        return replace(page, total=Number.up_to(len(places)), earlier=earlier, back=back)

    async def everything(
        self, actor: Actor, sought: Sought, limit: int, before: PageCursor | None = None
    ) -> HistoryPage:
        """What ``actor``, an operator, may read."""
        may_read = partial(self._fits_and_is_read, actor, sought)
        if sought.by is not None:
            return await self._of_participants(sought.by, sought, limit, before, may_read)
        if actor.is_narrowed:
            return await self._naming(actor, sought, limit, before)
        page = await self._listed(sought, limit, before, may_read)
        if sought.text is not None:
            return page
        wanted = sought.filter

        def counted(conn: sa.Connection) -> tuple[int, int, PageCursor | None]:
            total = suspension_lists.count(conn, wanted, MOST_COUNTED + 1)
            if before is None:
                return total, 0, None
            earlier = suspension_lists.count(conn, wanted, MOST_COUNTED + 1, until=before)
            return total, earlier, suspension_lists.back(conn, wanted, before, limit)

        total, earlier, back = await self.database.read(counted)
        return replace(page, total=Number.up_to(total), earlier=earlier if earlier <= MOST_COUNTED else None, back=back)

    async def numbers(self, actor: Actor) -> tuple[Number, Number | None]:
        """How many ``actor`` took part in, and how many they may read; ``None`` if that is not counted."""
        own, reads_all = self._identities(actor), actor.reads_all

        def counted(conn: sa.Connection) -> tuple[Number, Number | None]:
            mine = Number.up_to(participants.count(conn, own, MOST_COUNTED + 1))
            everything = suspension_lists.count(conn, Filter(), MOST_COUNTED + 1) if reads_all else 0
            return mine, Number.up_to(everything) if reads_all else None

        return await self.database.read(counted)

    async def place(self, text: str, sought: Sought, *, of_all: bool) -> PageCursor | None:
        """The place that was :func:`written` so; ``None``, which is the beginning, for anything else."""
        found = _PLACE.fullmatch(text)
        if found is None:
            return None
        at, mark = _EPOCH + int(found[1]) * _MICROSECOND, found[2]
        by_end = of_all and sought.by is None and sought.filter.by_end
        ids = await self.database.read(lambda conn: suspension_lists.ids_at(conn, at, by_end=by_end))
        return at, next((one for one in ids if _mark(one) == mark), "")

    def may_read(self, actor: Actor, suspension: Suspension) -> bool:
        """As its page asks (``/q``)."""
        return self.permissions.may_read(suspension, actor) or self.permissions.refusal(suspension, actor) is None

    def _identities(self, actor: Actor) -> Collection[str]:
        return frozenset({actor.identity, *(() if actor.person is None else actor.person.identities)})

    def _is_theirs(self, actor: Actor, sought: Sought, suspension: Suspension) -> bool:
        return sought.is_anything or self._fits_and_is_read(actor, sought, suspension)

    def _fits_and_is_read(self, actor: Actor, sought: Sought, suspension: Suspension) -> bool:
        return self.may_read(actor, suspension) and sought.fits(suspension)

    async def _of_participants(
        self,
        identities: Collection[str],
        sought: Sought,
        limit: int,
        before: PageCursor | None,
        is_shown: Callable[[Suspension], bool],
    ) -> HistoryPage:
        found: list[Suspension] = []
        place, read = before, 0
        while True:
            at_once = limit + 1 if sought.is_anything else suspension_lists.AT_ONCE
            some, places = await self.database.read(
                partial(_took_part, identities=identities, before=place, limit=at_once)
            )
            await self._know(some)
            found += [one for one in some if is_shown(one)]
            read += len(places)
            if len(found) > limit:
                return HistoryPage(found[:limit], _asked(found[limit - 1]))
            if len(places) < at_once:
                return HistoryPage(found, None)
            place = places[-1]
            if read >= MOST_READ:
                return HistoryPage(found, place)

    async def _listed(
        self, sought: Sought, limit: int, before: PageCursor | None, is_shown: Callable[[Suspension], bool]
    ) -> HistoryPage:
        found: list[Suspension] = []
        wanted, place, read = sought.filter, before, 0
        while True:
            some, end = await self.database.read(
                partial(suspension_lists.page, wanted=wanted, before=place, limit=limit + 1)
            )
            found += [one for one in some if is_shown(one)]
            read += len(some)
            if len(found) > limit:
                return HistoryPage(found[:limit], wanted.place_of(found[limit - 1]))
            if len(some) <= limit:
                return HistoryPage(found, end)
            place = wanted.place_of(some[-1])
            if read >= MOST_READ:
                return HistoryPage(found, place)

    async def _naming(self, actor: Actor, sought: Sought, limit: int, before: PageCursor | None) -> HistoryPage:
        """For an operator who reads only what means them."""
        wanted, found, place = sought.filter, list[Suspension](), before
        names = PersonTexts.of(self.permissions.responders.references_to(actor), actor)
        end = await self.database.read(lambda conn: suspension_lists.horizon(conn, wanted, before))
        while len(found) <= limit:
            some = await self.database.read(
                partial(suspension_lists.naming, wanted=wanted, names=names, before=place, until=end)
            )
            await self._know(some)
            found += [one for one in some if self._fits_and_is_read(actor, sought, one)]
            if len(some) < suspension_lists.AT_ONCE:
                break
            place = wanted.place_of(some[-1])
        return HistoryPage(found[:limit], wanted.place_of(found[limit - 1]) if len(found) > limit else end)

    async def _know(self, some: Sequence[Suspension]) -> None:
        """See to it that it is known whom these mean."""
        responders = self.permissions.responders
        if responders.asks_elsewhere and some:
            await responders.refresh(dict.fromkeys(name for one in some for name in (*one.ask.responders, *one.asked)))


def _took_part(
    conn: sa.Connection, identities: Collection[str], before: PageCursor | None, limit: int
) -> tuple[list[Suspension], Sequence[PageCursor]]:
    places = participants.of(conn, identities, before=before, limit=limit)
    found = suspensions.those(conn, [suspension_id for _, suspension_id in places])
    return [found[one] for _, one in places if one in found], places


def _asked(suspension: Suspension) -> PageCursor:
    return suspension.ask.suspended_at, suspension.id
