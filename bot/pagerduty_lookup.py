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

from channels.pagerduty.render import ref_in
from channels.pagerduty.replies import Where, ref_in_title
from channels.pagerduty.rest import ApiUnavailable, PagerDutyApi
from core.domain.suspension import Suspension
from core.engine import Engine
from core.ports import Clock
from core.store import incidents

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
        own = ref_in(where.key, self._instance) if where.key is not None else None
        refs: tuple[str, ...] | None = None if own is None else (own,)
        if own is None or (needs is Needs.ANSWER and self._api.can_ask):
            refs = await self._refs(where, needs) or refs
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
            keys = await self._api.alert_keys(where.incident)
        except ApiUnavailable:
            if refs and needs is Needs.CLAIM:
                return refs
            raise
        if not keys:
            return None
        found = tuple(dict.fromkeys(ref for key in keys if (ref := ref_in(key, self._instance))))
        if (found and found != refs) or kept is not None:
            await self._engine.database.write(lambda tx: incidents.keep_refs(tx, where.incident, found, now))
        return found

    async def _found(self, refs: tuple[str, ...]) -> tuple[Suspension, ...]:
        found = [await self._engine.find(ref) for ref in refs]
        return tuple(question for question in found if question is not None)


def _is_fresh(at: datetime | None, now: datetime) -> bool:
    return at is not None and abs(now - at) <= KEPT
