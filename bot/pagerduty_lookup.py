"""Which questions an incident is about: webhooks do not say.

In this order: its own key, its alerts' keys (asked of PagerDuty, and kept for every replica), the ref in its title.
Alerts may be merged into an incident at any time, and an answer must not go to a question that its author was not
looking at: so an answer that names no question asks again, while a claim may go by what is kept. A title is anybody's
to write, and good for claims alone.

Source: facts on channels §C4; docs/decisions/0024.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from bot.pagerduty_people import CHANNEL
from channels.pagerduty.render import ref_in
from channels.pagerduty.replies import Where, ref_in_title
from channels.pagerduty.rest import ApiUnavailable, PagerDutyApi
from core import arrivals
from core.domain.suspension import Suspension
from core.engine import Engine
from core.ports import Clock
from core.store import incidents
from core.store.database import Tx

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

    async def questions(self, where: Where, needs: Needs) -> Found:
        refs = await self._refs(where, needs)
        if refs is not None:
            return Found(await self._found(refs))
        titled = ref_in_title(where.title) if needs is Needs.CLAIM else None
        questions = await self._found((titled,)) if titled is not None else ()
        return Found(questions, known=bool(questions))

    async def _refs(self, where: Where, needs: Needs) -> tuple[str, ...] | None:
        """``None`` where nobody can say."""
        now = self._clock.now()
        kept = await self._engine.database.read(lambda conn: incidents.get(conn, where.incident))
        refs = kept.refs if kept is not None else None
        if refs and needs is Needs.CLAIM and kept is not None and _is_fresh(kept.mapped_at, now):
            return refs
        try:
            found = self._ours(await self._api.alert_keys(where.incident))
        except ApiUnavailable:
            if refs and needs is Needs.CLAIM:
                return refs
            raise
        if found is None:  # without alerts, or without a token: by its own key, where that was ours
            found = self._ours((where.key,) if where.key is not None else ()) or refs
        if found is not None and ((found and found != refs) or kept is not None):
            await self._engine.database.write(lambda tx: self._keep(tx, where.incident, found, now))
        return found

    def _ours(self, keys: tuple[str, ...]) -> tuple[str, ...] | None:
        """The refs in those of ``keys`` that we have made, ``None`` where there are no keys at all."""
        found = (ref_in(key, self._instance) for key in keys)
        return tuple(dict.fromkeys(ref for ref in found if ref is not None)) if keys else None

    def _keep(self, tx: Tx, incident: str, refs: tuple[str, ...], now: datetime) -> None:
        """That there is an incident at all proves that the page has arrived."""
        incidents.keep_refs(tx, incident, refs, now)
        for ref in refs:
            arrivals.note(tx, CHANNEL, ref, now)

    async def _found(self, refs: tuple[str, ...]) -> tuple[Suspension, ...]:
        found = [await self._engine.find(ref) for ref in refs]
        return tuple(question for question in found if question is not None)


def _is_fresh(at: datetime | None, now: datetime) -> bool:
    return at is not None and abs(now - at) <= KEPT
