"""The look-up of an incident's questions, which webhooks do not name.

In this order: its alerts' keys (asked of PagerDuty, and kept for every replica), its own key, the ref in its title.
Alerts may be merged into an incident at any time, and an answer must not go to a question that its author was not
looking at. So an answer that names no question asks again, while a claim may use what is kept. Anybody can write a
title, so a title only serves claims.

Source: facts on channels §C4; docs/decisions/0024.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from weakref import WeakValueDictionary

import sqlalchemy as sa

from bot.inbound.pagerduty.identity import CHANNEL
from channels.pagerduty.render import ref_in
from channels.pagerduty.rest import ApiUnavailable, PagerDutyApi
from channels.pagerduty.webhooks import Where, ref_in_title
from core.database.database import Tx
from core.delivery import confirmation
from core.domain.suspension import Suspension
from core.engine.queries import Queries
from core.ports import Clock
from core.store import incidents, suspensions
from core.store.incidents import IncidentRow

KEPT = timedelta(minutes=10)
"""The greatest age of a kept result that may decide who is on it."""
SOMEBODY_ELSES = timedelta(minutes=1)
"""The same for an incident that is about none of our questions: of a whole account's there are many, each with
webhooks of its own, and the API may be asked so often and no oftener."""


class Certainty(Enum):
    """The certainty that an answer or a claim needs."""

    CLAIM = auto()
    ANSWER = auto()


@dataclass(frozen=True, slots=True)
class FoundQuestions:
    """``questions``, open or not. ``known`` is false if PagerDuty may know more later: the incident is too new."""

    questions: tuple[Suspension, ...] = ()
    known: bool = True

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.questions)


class Lookup:
    """Raises ``ApiUnavailable`` if PagerDuty would have to be asked and does not answer."""

    def __init__(self, queries: Queries, api: PagerDutyApi, instance: str, clock: Clock) -> None:
        self._queries = queries
        self._database = queries.database
        self._api = api
        self._instance = instance
        self._clock = clock
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def questions(self, where: Where, needs: Certainty) -> FoundQuestions:
        """From what is kept, if that is enough; then it costs one read of the database."""
        now = self._clock.now()

        def look(conn: sa.Connection) -> tuple[IncidentRow, tuple[Suspension, ...] | None]:
            kept = incidents.get(conn, where.incident) or IncidentRow(where.incident)
            return kept, _by_refs(conn, kept.refs or ()) if _is_fresh(kept, now) and needs is Certainty.CLAIM else None

        kept, questions = await self._database.read(look)
        if questions is not None:
            return FoundQuestions(await self._knowing(questions))
        if needs is Certainty.ANSWER:
            return await self._asked(where, needs, kept)
        async with self._asking.setdefault(where.incident, asyncio.Lock()):  # many may come at once of a new one
            kept, questions = await self._database.read(look)
            if questions is not None:
                return FoundQuestions(await self._knowing(questions))
            return await self._asked(where, needs, kept)

    async def kept(self, where: Where) -> tuple[Suspension, ...]:
        """:meth:`questions` for a claim, as far as possible without asking PagerDuty."""

        def look(conn: sa.Connection) -> tuple[Suspension, ...]:
            kept = incidents.get(conn, where.incident)
            titled = ref_in_title(where.title)
            refs = kept.refs if kept is not None and kept.refs is not None else self._own(where)
            return _by_refs(conn, refs or ((titled,) if titled is not None else ()))

        return await self._database.read(look)

    async def _asked(self, where: Where, needs: Certainty, kept: IncidentRow) -> FoundQuestions:
        try:
            refs = await self._refs(where, kept)
        except ApiUnavailable:
            if needs is Certainty.ANSWER:
                raise
            refs = kept.refs if kept.refs is not None else self._own(where)
            if refs is None and not (titled := await self._titled(where)):
                raise
            return FoundQuestions(await self._found(refs) if refs is not None else titled)
        if refs is not None:
            return FoundQuestions(await self._found(refs))
        titled = await self._titled(where) if needs is Certainty.CLAIM else ()
        return FoundQuestions(titled, known=bool(titled))

    async def _refs(self, where: Where, kept: IncidentRow) -> tuple[str, ...] | None:
        """By PagerDuty's reply now; ``None`` if there is none."""
        now = self._clock.now()
        found = self._ours(await self._api.alert_keys(where.incident))
        if found is not None:
            if found != kept.refs or not _is_fresh(kept, now):
                await self._keep(where.incident, found, now)
            return found
        own = self._own(where)
        if own is not None:
            await self._keep(where.incident, own, None)
        return own or (kept.refs if kept.goes_by_its_key else None)

    def _own(self, where: Where) -> tuple[str, ...] | None:
        """By the incident's own key, ``None`` if that is not ours: its alerts' may be, once they are listed."""
        return self._ours((where.key,)) or None if where.key is not None else None

    async def _titled(self, where: Where) -> tuple[Suspension, ...]:
        """The question that the title names. Its page has arrived: the title is ours, or somebody has read it."""
        ref = ref_in_title(where.title)
        questions = await self._found((ref,)) if ref is not None else ()
        for one in questions:
            await confirmation.noted(self._database, CHANNEL, one.ask.ref, where.incident, self._clock.now())
        return questions

    def _ours(self, keys: tuple[str, ...]) -> tuple[str, ...] | None:
        """The refs in our ``keys``, ``None`` if there are no keys at all."""
        found = (ref_in(key, self._instance) for key in keys)
        return tuple(dict.fromkeys(ref for ref in found if ref is not None)) if keys else None

    async def _keep(self, incident: str, refs: tuple[str, ...], mapped_at: datetime | None) -> None:
        """An existing incident proves that the page has arrived."""
        now = self._clock.now()

        def job(tx: Tx) -> None:
            incidents.keep_refs(tx, incident, refs, mapped_at, now)
            for ref in refs:
                confirmation.note(tx, CHANNEL, ref, incident, now)

        await self._database.write(job)

    async def _found(self, refs: tuple[str, ...]) -> tuple[Suspension, ...]:
        return await self._knowing(await self._database.read(lambda conn: _by_refs(conn, refs)))

    async def _knowing(self, questions: tuple[Suspension, ...]) -> tuple[Suspension, ...]:
        for one in questions:
            await self._queries.knowing(one)
        return questions


def _by_refs(conn: sa.Connection, refs: Sequence[str]) -> tuple[Suspension, ...]:
    found = (suspensions.by_ref(conn, ref) for ref in refs)
    return tuple(question for question in found if question is not None)


def _is_fresh(kept: IncidentRow, now: datetime) -> bool:
    if kept.refs is None or kept.mapped_at is None:
        return kept.goes_by_its_key
    return abs(now - kept.mapped_at) <= (KEPT if kept.refs else SOMEBODY_ELSES)
