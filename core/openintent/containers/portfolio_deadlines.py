"""Portfolio deadlines: abandon every member that waits for a person, in small portions.

One portion is one transaction, and one look of the clock. Other work has its turn between two portions, so that ten
thousand members hold nothing up. The due time (``core.openintent.store.due_times``) stays until no member is left:
after a kill, any process goes on. Deadlines follow the wall clock: an outage of ours does not move them.

A deadline ends the members that were in the portfolio and suspended by then. A member that is suspended or added later
goes on.

Source: RFC-0026 §2 rule 5; docs/decisions/0060.
"""

from __future__ import annotations

from datetime import datetime

from core.database.database import Database, Tx
from core.engine.ending import ended_in_time
from core.engine.outages import caught_up
from core.engine.transitions import Transitions
from core.openintent.domain.portfolio import PortfolioStatus
from core.openintent.intents.client_steps import RECORD_WITHIN, ClientSteps
from core.openintent.store import due_times, portfolios
from core.openintent.store.due_times import DueTime
from core.ports import Clock
from core.store import intents

AT_ONCE = 10
"""Members that one transaction ends. Others wait for it, on SQLite all who write."""


class PortfolioDeadlines:
    """Works deadlines off. Any number of processes may run it; one process at a time works on a portfolio."""

    def __init__(self, database: Database, transitions: Transitions, steps: ClientSteps, clock: Clock) -> None:
        self._database = database
        self._transitions = transitions
        self._steps = steps
        self._clock = clock
        self._reached: dict[str, str] = {}
        """By portfolio: the member up to which this process has come."""

    async def some(self, due: DueTime) -> bool:
        """End the next few members; False if others hold them, or the portfolio, at this moment."""
        return await self._database.write(lambda tx: self._portion(tx, due, self._clock.now()))

    def _portion(self, tx: Tx, due: DueTime, now: datetime) -> bool:
        """Waits for no lock while it holds the portfolio: the holder of an intent may wait for the portfolio."""
        portfolio = portfolios.lock_free(tx, due.subject)
        if portfolio is None:
            return False
        if portfolio.status is not PortfolioStatus.ACTIVE:
            return self._done(tx, due)
        behind = self._reached.get(portfolio.id, "")
        found = portfolios.suspended_members(tx.conn, portfolio.id, due.at, behind=behind, limit=AT_ONCE)
        if not found and not behind:
            return self._without_record(tx, due, now) or self._done(tx, due)
        tx.after_commit(lambda: self._reached.update({portfolio.id: found[-1][0] if found else ""}))
        suspension_of = dict(found)
        free = intents.lock_free_ones(tx, list(suspension_of))
        for intent_id in free:
            self._end(tx, intent_id, suspension_of[intent_id], now)
        return bool(free) or not found

    def _end(self, tx: Tx, intent_id: str, suspension_id: str, now: datetime) -> None:
        intent = intents.lock(tx, intent_id)
        if intent is None:
            return
        intent, suspension = caught_up(tx, intent, suspension_id, self._transitions, now)
        if suspension is not None and suspension.is_open:
            ended_in_time(tx, intent, suspension, self._transitions, now)

    def _without_record(self, tx: Tx, due: DueTime, now: datetime) -> bool:
        """End the members that the deadline finds between the published client's steps; returns whether there were
        any."""
        found = portfolios.members_without_record(tx.conn, due.subject, due.at + RECORD_WITHIN, AT_ONCE)
        for intent_id in intents.lock_free_ones(tx, found):
            intent = intents.lock(tx, intent_id)
            if intent is not None:
                self._steps.portfolio_deadline(tx, intent, now)
        return bool(found)

    def _done(self, tx: Tx, due: DueTime) -> bool:
        due_times.take(tx, due)
        tx.after_commit(lambda: self._forget(due.subject))
        return True

    def _forget(self, portfolio_id: str) -> None:
        self._reached.pop(portfolio_id, None)
