"""Due attempts: what the clock has to look at, done in portions.

Most of what is due asks a person again, and nothing else. So many of them are one transaction of a few statements. What
needs more (it ends, somebody holds it, it has an outage to hear of, its intent is in a portfolio) has a transaction of
its own afterwards. If a portion fails, each of its questions gets one: a question that can't be moved keeps no other
from being asked.

A portion is small, and the next one begins when it is committed, so that an answer waits for one at the most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from core.database.database import Database, Tx
from core.domain.intent import Dependent
from core.domain.intent_links import Link
from core.domain.machine import decide
from core.domain.suspension import Kind
from core.domain.vocabulary import AttemptDue, Notify, Outcome
from core.engine import refresh
from core.engine.ending import due_signal
from core.engine.outages import caught_up
from core.engine.transitions import Transitions
from core.errors import DatabaseUnavailable
from core.ports import Clock
from core.store import intents, outages
from core.store.outages import Behind
from core.store.outbox import Row

log = structlog.get_logger(__name__)

PORTION = 25
"""Questions that one transaction asks again at most."""

Asking = tuple[Outcome, Sequence[Row], Dependent]
"""A question that is asked again: what becomes of it, its notices, its intent."""


@dataclass(frozen=True, slots=True)
class DueAttempts:
    """Any number of processes may do so at once. None waits for a question that somebody else holds."""

    database: Database
    transitions: Transitions
    clock: Clock

    async def fire(self, suspension_ids: Sequence[str]) -> bool:
        """Do what is due of these; False if somebody else holds each of them at this moment."""
        parts = [suspension_ids[start : start + PORTION] for start in range(0, len(suspension_ids), PORTION)]
        done = [one for part in parts for one in await self._portion(part)]
        for one in done:
            if isinstance(one, BaseException):  # the others are done all the same
                raise one
        return any(done)

    async def _portion(self, suspension_ids: Sequence[str]) -> Sequence[bool | BaseException]:
        """Whether anything was free, or what went wrong, once for all and once for each that was done alone."""
        try:
            held, rest = await self.database.write(partial(self._together, suspension_ids=suspension_ids))
        except DatabaseUnavailable:
            raise
        except Exception as failure:  # noqa: BLE001 (of one of them, whatever it is: it is met again, alone)
            log.warning("work.portion_failed", questions=len(suspension_ids), reason=type(failure).__name__)
            held, rest = False, suspension_ids
        alone = (self.database.write(partial(self._one, suspension_id=one)) for one in rest)
        return [held, *await asyncio.gather(*alone, return_exceptions=True)]

    def _together(self, tx: Tx, suspension_ids: Sequence[str]) -> tuple[bool, Sequence[str]]:
        """Ask those again of which nothing else comes; whether any was free, and which of them are left."""
        held = intents.lock_free_of_suspensions(tx, suspension_ids)
        now, asking, rest = self.clock.now(), list[Asking](), list[str]()
        for one in outages.all_open(tx.conn, suspension_ids):
            intent, look_at = held.get(one.suspension.ask.intent_id), one.suspension.look_at
            if intent is None or look_at is None or look_at > now:
                continue  # somebody else was faster
            found = self._asking(one, intent, now)
            if found is None:
                rest.append(one.suspension.id)
            else:
                asking.append(found)
                tx.after_commit(partial(self.transitions.observer.looked, now - look_at))
        if asking:
            self.transitions.ask_again(tx, asking, now)
        return bool(held), rest

    def _asking(self, one: Behind, intent: Dependent, now: datetime) -> Asking | None:
        """``None`` if more than that comes of it, or if there is nobody to be asked."""
        suspension = one.suspension
        if one.outages or intent.links & Link.PORTFOLIOS or suspension.ask.kind is Kind.VETO:
            return None
        outcome = decide(suspension, AttemptDue(), now)
        asks = [effect for effect in outcome.effects if isinstance(effect, Notify)]
        if len(asks) < len(outcome.effects) or refresh.changes_messages(outcome):
            return None
        rows = [row for ask in asks for row in self.transitions.notices(outcome.suspension, ask.attempt, now)]
        return (outcome, rows, intent) if rows else None

    def _one(self, tx: Tx, suspension_id: str) -> bool:
        """False if somebody else holds it at this moment: an answer, another worker."""
        intent = intents.lock_unless_taken(tx, suspension_id)
        if intent is None:
            return False
        now = self.clock.now()
        intent, suspension = caught_up(tx, intent, suspension_id, self.transitions, now)
        if suspension is not None and suspension.look_at is not None and suspension.look_at <= now:
            tx.after_commit(partial(self.transitions.observer.looked, now - suspension.look_at))
            self.transitions.move(
                tx, suspension, due_signal(tx, intent, suspension, self.transitions.surroundings, now), intent, now
            )
        return True  # if it is not due any more, somebody else was faster
