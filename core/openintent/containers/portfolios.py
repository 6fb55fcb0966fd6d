"""Portfolios: make, list and end them, add intents, and abandon the members that wait when the deadline comes.

A portfolio belongs to its creator. Admins read and change every one, operators read every one; nobody else finds it. An
intent's own members do not see which portfolios it is in. Only a key that may work on an intent may add it.

Source: RFC-0007; RFC-0026 §2 rules 1, 4 and 5; API.md §7; docs/decisions/0060.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentLink
from core.domain.people import Actor, Role
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject
from core.engine.ending import ended_in_time
from core.engine.outages import caught_up
from core.engine.transitions import Transitions
from core.errors import Forbidden, InvalidRequest, InvalidTransition, NotFound
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.portfolio import (
    ADDED,
    REMOVED,
    Aggregate,
    MembershipRole,
    Portfolio,
    PortfolioMember,
    PortfolioStatus,
    check_portfolio_move,
)
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.client_steps import RECORD_WITHIN, ClientSteps
from core.openintent.intents.due_work import DueTimes
from core.openintent.intents.intents import Shown, reader, shown
from core.openintent.intents.writing import IntentLog
from core.openintent.store import due_times, portfolios
from core.openintent.store.due_times import DueKind, DueTime
from core.ports import Clock
from core.store import event_log, intents
from core.store.event_log import Following
from core.store.tables import PageCursor


@dataclass(frozen=True, slots=True)
class NewPortfolio:
    """A requested portfolio. ``deadline`` is the one in ``governance_policy``, at the field ``path``."""

    name: str
    description: str | None = None
    governance_policy: Mapping[str, JsonValue] = field(default_factory=dict)
    deadline: datetime | None = None
    path: str = "governance_policy.deadline"
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountedPortfolio:
    """A portfolio and the aggregate of its members at this moment."""

    portfolio: Portfolio
    members: Aggregate


@dataclass(frozen=True, slots=True)
class Portfolios:
    """A client's changes to portfolios."""

    database: Database
    log: IntentLog
    times: DueTimes
    clock: Clock

    async def create(
        self, wanted: NewPortfolio, by: Actor, once: IdempotentRequest | None = None
    ) -> CountedPortfolio | Replayed:
        """Raises :class:`InvalidRequest` for a deadline that has passed."""
        now = self.clock.now()
        made = Portfolio(
            id=str(uuid.uuid4()),
            name=wanted.name,
            description=wanted.description,
            created_by=by.key or by.identity,
            status=PortfolioStatus.ACTIVE,
            governance_policy=wanted.governance_policy,
            deadline=wanted.deadline,
            metadata=wanted.metadata,
            version=1,
            created_at=now,
            updated_at=now,
        )

        def insert(tx: Tx) -> CountedPortfolio:
            if made.deadline is not None and made.deadline <= now:
                raise InvalidRequest("A portfolio's deadline lies in the future.", path=wanted.path)
            portfolios.insert(tx, made)
            if made.deadline is not None:
                self.times.put(tx, DueKind.PORTFOLIO_DEADLINE, made.id, None, made.deadline)
            return CountedPortfolio(made, Aggregate())

        return await self.database.write(lambda tx: perform_once(tx, once, now, lambda: insert(tx)))

    async def get(self, portfolio_id: str, by: Actor) -> CountedPortfolio:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""

        def job(conn: sa.Connection) -> CountedPortfolio:
            return _counted(conn, [access.read_portfolio(conn, portfolio_id, by)])[0]

        return await self.database.read(job)

    async def check(self, portfolio_id: str, by: Actor) -> None:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""
        await self.database.read(lambda conn: access.read_portfolio(conn, portfolio_id, by))

    async def page(
        self, by: Actor, *, created_by: str | None, before: PageCursor | None, limit: int
    ) -> list[CountedPortfolio]:
        """Newest first; all keys' for operators, or those of the key ``created_by``."""

        def job(conn: sa.Connection) -> list[CountedPortfolio]:
            owner = reader(by)
            if owner is not None and created_by not in {None, owner}:
                return []
            return _counted(conn, portfolios.page(conn, created_by=owner or created_by, before=before, limit=limit))

        return await self.database.read(job)

    async def of_intent(self, intent_id: str, by: Actor) -> list[CountedPortfolio]:
        """The portfolios of an intent that ``by`` may read. Raises :class:`NotFound` for such an intent."""

        def job(conn: sa.Connection) -> list[CountedPortfolio]:
            access.read(conn, intent_id, by)
            return _counted(conn, portfolios.of_intent(conn, intent_id, created_by=reader(by)))

        return await self.database.read(job)

    async def end(self, portfolio_id: str, wanted: PortfolioStatus, by: Actor) -> CountedPortfolio:
        """Complete or abandon it; its members stay as they are, and its deadline no longer counts.

        Raises :class:`InvalidTransition` if it has ended.
        """

        def job(tx: Tx) -> CountedPortfolio:
            found = _changeable(portfolios.lock(tx, portfolio_id), by)
            check_portfolio_move(found.status, wanted)
            ended = replace(found, status=wanted, version=found.version + 1, updated_at=self.clock.now())
            portfolios.set_status(tx, ended)
            self.times.clear(tx, DueKind.PORTFOLIO_DEADLINE, found.id)
            return _counted(tx.conn, [ended])[0]

        return await self.database.write(job)

    # --- Members ----------------------------------------------------------------------------------------------------

    async def intents(self, portfolio_id: str, by: Actor, *, limit: int, offset: int) -> tuple[list[Shown], Aggregate]:
        """The portfolio's intents that ``by`` may read, by priority, then the oldest first; and the aggregate of all
        members."""

        def job(conn: sa.Connection) -> tuple[list[Shown], Aggregate]:
            [counted] = _counted(conn, [access.read_portfolio(conn, portfolio_id, by)])
            found = portfolios.members(conn, portfolio_id, agent=reader(by), limit=limit, offset=offset)
            return shown(conn, found, by), counted.members

        return await self.database.read(job)

    async def following(self, cursor: tuple[int, int], portfolio_id: str, by: Actor, limit: int) -> Following:
        """Events after ``cursor`` of its intents that ``by`` may read, in the order they became visible."""
        agent, among = reader(by), portfolios.ids_of_members(portfolio_id)

        def job(conn: sa.Connection) -> Following:
            return event_log.after(conn, cursor, intent_id=None, agent=agent, limit=limit, among=among)

        return await self.database.read(job)

    async def add(
        self,
        portfolio_id: str,
        intent_id: str,
        role: MembershipRole,
        priority: int,
        by: Actor,
        once: IdempotentRequest | None = None,
    ) -> PortfolioMember | Replayed:
        """Add an intent, or give a member another role and priority.

        Raises :class:`InvalidRequest` for an intent that ``by`` may not read, :class:`Forbidden` for another key's
        intent if the portfolio has a deadline, and :class:`InvalidTransition` for a portfolio that has ended.
        """

        def add(tx: Tx) -> PortfolioMember:
            known = _changeable(portfolios.get(tx.conn, portfolio_id), by)
            # Its deadline would abandon the intent, which is its owner's to say. A deadline never changes.
            right = Right.WORK if known.deadline is None else Right.GOVERN
            now, intent = self.clock.now(), _workable(tx, intent_id, by, right)
            portfolio = _changeable(portfolios.lock(tx, portfolio_id), by)
            if portfolio.status is not PortfolioStatus.ACTIVE:
                message = f"Only an active portfolio takes intents; this one is {portfolio.status}."
                raise InvalidTransition(message, status=portfolio.status.value)
            found = portfolios.member(tx.conn, portfolio_id, intent_id)
            if found is not None and (found.role, found.priority) == (role, priority):
                return found
            member = PortfolioMember(str(uuid.uuid4()), portfolio_id, intent_id, role, priority, now)
            if found is not None:
                member = replace(found, role=role, priority=priority)
            portfolios.put_member(tx, member)
            intents.link(tx, [intent_id], IntentLink.PORTFOLIOS)
            said: JsonObject = {"role": role.value, "priority": priority, "status": intent.status.value}
            self._say(tx, intent, ADDED, portfolio_id, said, by, now)
            return member

        return await self.database.write(lambda tx: perform_once(tx, once, self.clock.now(), lambda: add(tx)))

    async def remove(self, portfolio_id: str, intent_id: str, by: Actor) -> None:
        """Raises :class:`NotFound` for an intent that is not in it. An ended portfolio can be emptied, too."""

        def job(tx: Tx) -> None:
            _changeable(portfolios.get(tx.conn, portfolio_id), by)
            intent = intents.lock(tx, intent_id)
            found = portfolios.member(tx.conn, portfolio_id, intent_id)
            if intent is None or found is None:
                raise NotFound("There is no such intent in the portfolio.")
            portfolios.remove_member(tx, portfolio_id, intent_id)
            self._say(tx, intent, REMOVED, portfolio_id, {"role": found.role.value}, by, self.clock.now())

        await self.database.write(job)

    def _say(
        self, tx: Tx, intent: Intent, what: str, portfolio_id: str, said: JsonObject, by: Actor, now: datetime
    ) -> None:
        payload: JsonObject = {"portfolio_id": portfolio_id, "intent_id": intent.id, **said}
        self.log.write(tx, intent, now, Event(what, payload, by.identity))


def _changeable(portfolio: Portfolio | None, by: Actor) -> Portfolio:
    """Raises :class:`Forbidden` also for a key that may only read it."""
    found = access.readable_portfolio(portfolio, by)
    if not (by.has(Role.ADMIN) or access.owns_portfolio(found, by)):
        raise Forbidden("Only the portfolio's creator and admins change it.")
    return found


def _workable(tx: Tx, intent_id: str, by: Actor, right: Right) -> Intent:
    try:
        return access.lock(tx, intent_id, by, right)
    except NotFound as unknown:
        raise InvalidRequest(unknown.message, path="intent_id") from unknown


def _counted(conn: sa.Connection, found: Sequence[Portfolio]) -> list[CountedPortfolio]:
    """One statement for all of them."""
    counted = portfolios.counts(conn, [one.id for one in found]) if found else {}
    return [CountedPortfolio(one, counted[one.id]) for one in found]


AT_ONCE = 10
"""Members that one transaction ends. Others wait for it, on SQLite all who write."""


class PortfolioDeadlines:
    """Abandons every member that waits for a person once the deadline has come, in small portions.

    One portion is one transaction, and one look of the clock. Other work has its turn between two portions, so that ten
    thousand members hold nothing up. The due time (``core.openintent.store.due_times``) stays until no member is left:
    after a kill, any process goes on. Any number of processes may run it; one at a time works on a portfolio. Deadlines
    follow the wall clock: an outage of ours does not move them. A deadline ends the members that were in the portfolio
    and suspended by then. A member that is suspended or added later goes on.
    """

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
