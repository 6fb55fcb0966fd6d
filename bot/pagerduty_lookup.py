"""Which questions an incident is about: webhooks do not say.

In this order: its own key, its alerts' keys (asked of PagerDuty, and kept for every replica), the ref in its title.
Alerts may be merged into an incident at any time, and an answer must not go to a question that its author was not
looking at: so an answer that names no question asks again, while a claim may go by what is kept. A title is anybody's
to write, and good for claims alone.

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

from bot.pagerduty_people import CHANNEL
from channels.pagerduty.render import ref_in
from channels.pagerduty.replies import Where, ref_in_title
from channels.pagerduty.rest import ApiUnavailable, PagerDutyApi
from core import arrivals
from core.domain.suspension import Suspension
from core.engine import Engine
from core.ports import Clock
from core.store import incidents, suspensions
from core.store.database import Tx
from core.store.incidents import Incident

KEPT = timedelta(minutes=10)
"""How old what is kept may be when it decides who is on it."""


class Needs(Enum):
    """How sure one has to be."""

    CLAIM = auto()
    ANSWER = auto()


@dataclass(frozen=True, slots=True)
class Found:
    """``questions``, open or not. ``known`` is false where PagerDuty may yet say more: the incident is too new."""

    questions: tuple[Suspension, ...] = ()
    known: bool = True

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.questions)


class Lookup:
    """Raises ``ApiUnavailable`` where PagerDuty would have to be asked and does not answer."""

    def __init__(self, engine: Engine, api: PagerDutyApi, instance: str, clock: Clock) -> None:
        self._engine = engine
        self._api = api
        self._instance = instance
        self._clock = clock
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def questions(self, where: Where, needs: Needs) -> Found:
        """By what is kept where that will do; it costs one look at the database then."""
        now = self._clock.now()

        def look(conn: sa.Connection) -> tuple[Incident, tuple[Suspension, ...] | None]:
            kept = incidents.get(conn, where.incident) or Incident(where.incident)
            fresh = kept.refs and (kept.goes_by_its_key or _is_fresh(kept.mapped_at, now))
            return kept, _by_refs(conn, kept.refs or ()) if fresh and needs is Needs.CLAIM else None

        kept, questions = await self._engine.database.read(look)
        if questions is not None:
            return Found(await self._knowing(questions))
        if needs is Needs.ANSWER:
            return await self._asked(where, needs, kept)
        async with self._asking.setdefault(where.incident, asyncio.Lock()):  # many may come at once of a new one
            kept, questions = await self._engine.database.read(look)
            if questions is not None:
                return Found(await self._knowing(questions))
            return await self._asked(where, needs, kept)

    async def _asked(self, where: Where, needs: Needs, kept: Incident) -> Found:
        refs = await self._refs(where, needs, kept)
        if refs is not None:
            return Found(await self._found(refs))
        titled = ref_in_title(where.title) if needs is Needs.CLAIM else None
        questions = await self._found((titled,)) if titled is not None else ()
        return Found(questions, known=bool(questions))

    async def _refs(self, where: Where, needs: Needs, kept: Incident) -> tuple[str, ...] | None:
        """As PagerDuty says now; ``None`` where nobody can say."""
        try:
            found = self._ours(await self._api.alert_keys(where.incident))
        except ApiUnavailable:
            if kept.refs and needs is Needs.CLAIM:
                return kept.refs
            raise
        if found is not None:
            if found != (kept.refs or ()) or (found and not _is_fresh(kept.mapped_at, self._clock.now())):
                await self._keep(where.incident, found, self._clock.now())
            return found
        own = self._ours((where.key,) if where.key is not None else ())
        if own:
            await self._keep(where.incident, own, None)
        return own or (kept.refs if kept.goes_by_its_key else None)

    def _ours(self, keys: tuple[str, ...]) -> tuple[str, ...] | None:
        """The refs in those of ``keys`` that we have made, ``None`` where there are no keys at all."""
        found = (ref_in(key, self._instance) for key in keys)
        return tuple(dict.fromkeys(ref for ref in found if ref is not None)) if keys else None

    async def _keep(self, incident: str, refs: tuple[str, ...], mapped_at: datetime | None) -> None:
        """That there is an incident at all proves that the page has arrived."""
        now = self._clock.now()

        def job(tx: Tx) -> None:
            incidents.keep_refs(tx, incident, refs, mapped_at, now)
            for ref in refs:
                arrivals.note(tx, CHANNEL, ref, now)

        await self._engine.database.write(job)

    async def _found(self, refs: tuple[str, ...]) -> tuple[Suspension, ...]:
        return await self._knowing(await self._engine.database.read(lambda conn: _by_refs(conn, refs)))

    async def _knowing(self, questions: tuple[Suspension, ...]) -> tuple[Suspension, ...]:
        for one in questions:
            await self._engine.knowing(one)
        return questions


def _by_refs(conn: sa.Connection, refs: Sequence[str]) -> tuple[Suspension, ...]:
    found = (suspensions.by_ref(conn, ref) for ref in refs)
    return tuple(question for question in found if question is not None)


def _is_fresh(at: datetime | None, now: datetime) -> bool:
    return at is not None and abs(now - at) <= KEPT
