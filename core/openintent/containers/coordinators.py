"""Coordinators: created by the owner of an intent or a portfolio; they send heartbeats.

``core.openintent.propagation.dependents`` has what a coordinator does when an intent is suspended.

Source: RFC-0013; RFC-0026 §3; API.md §7; decision 0062.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentLink
from core.domain.people import Actor, Role
from core.domain.vocabulary import Event
from core.errors import Forbidden, InvalidRequest, NotFound, VersionConflict
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.coordinator import (
    Coordinator,
    CoordinatorChange,
    CoordinatorStatus,
    SuspensionPolicy,
    check_acts,
    coordinator_changed,
)
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.members import Members, agent_named
from core.openintent.intents.writing import IntentLog
from core.openintent.store import coordinators
from core.ports import Clock
from core.store import intent_agents, intents

ASSIGNED = "coordinator.assigned"
UPDATED = "coordinator.updated"
_MOVED = {CoordinatorStatus.PAUSED: "coordinator.paused", CoordinatorStatus.ACTIVE: "coordinator.resumed"}


@dataclass(frozen=True, slots=True)
class NewCoordinator:
    """A requested coordinator: of an intent or of a portfolio."""

    agent_id: str
    intent_id: str | None = None
    portfolio_id: str | None = None
    suspension_policy: SuspensionPolicy = SuspensionPolicy.ISOLATE
    heartbeat_interval: timedelta = timedelta(seconds=60)
    expires_at: datetime | None = None
    details: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Coordinators:
    """A coordinator is found by all who find its intent or portfolio, and by its own agent."""

    database: Database
    log: IntentLog
    members: Members
    clock: Clock

    async def create(
        self, wanted: NewCoordinator, by: Actor, once: IdempotentRequest | None = None
    ) -> Coordinator | Replayed:
        """By the owner of the intent or portfolio, or an admin. The agent becomes a member of the intent.

        Raises :class:`InvalidRequest` unless exactly one of intent and portfolio is named, and for an end that has
        passed.
        """
        if (wanted.intent_id is None) == (wanted.portfolio_id is None):
            raise InvalidRequest("Name an intent or a portfolio, and not both.", path="intent_id")
        now = self.clock.now()
        if wanted.expires_at is not None and wanted.expires_at <= now:
            raise InvalidRequest("A coordinator ends in the future.", path="expires_at")
        made = Coordinator(
            id=str(uuid.uuid4()),
            intent_id=wanted.intent_id,
            portfolio_id=wanted.portfolio_id,
            agent_id=agent_named(wanted.agent_id, by),
            status=CoordinatorStatus.ACTIVE,
            suspension_policy=wanted.suspension_policy,
            heartbeat_interval=wanted.heartbeat_interval,
            granted_at=now,
            created_by=by.key or by.identity,
            expires_at=wanted.expires_at,
            details=wanted.details,
        )
        return await self.database.write(lambda tx: perform_once(tx, once, now, lambda: self._insert(tx, made, by)))

    def _insert(self, tx: Tx, made: Coordinator, by: Actor) -> Coordinator:
        intent = self._governed(tx, made, by)
        coordinators.insert(tx, made)
        if intent is not None:
            if not intent_agents.belongs(tx.conn, intent.id, made.agent_id):
                intent, _ = self.members.join(tx, intent, made.agent_id, "coordinator", by.identity, made.granted_at)
            intents.link(tx, [intent.id], IntentLink.COORDINATORS)
            self._say(tx, intent, made, ASSIGNED, by, made.granted_at)
        return made

    async def get(self, coordinator_id: str, by: Actor) -> Coordinator:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""
        return await self.database.read(lambda conn: _readable(conn, coordinator_id, by))

    async def page(self, by: Actor, *, limit: int, offset: int) -> Sequence[Coordinator]:
        """Newest first."""
        agent = None if by.reads_all else by.key
        return await self.database.read(lambda conn: coordinators.page(conn, agent=agent, limit=limit, offset=offset))

    async def of_intent(self, intent_id: str, by: Actor) -> Sequence[Coordinator]:
        """The coordinators of this very intent, the oldest first. Raises :class:`NotFound`."""

        def job(conn: sa.Connection) -> Sequence[Coordinator]:
            return coordinators.of_intent(conn, access.read(conn, intent_id, by).id)

        return await self.database.read(job)

    async def change(self, coordinator_id: str, wanted: CoordinatorChange, by: Actor, version: int) -> Coordinator:
        """By a key that may create one. Raises :class:`VersionConflict` or :class:`InvalidTransition`."""

        def job(tx: Tx) -> Coordinator:
            now = self.clock.now()
            intent = self._governed(tx, _readable(tx.conn, coordinator_id, by), by)
            before = _locked(tx, coordinator_id)
            if before.version != version:
                raise VersionConflict(
                    f"The coordinator is at version {before.version}.", current_version=before.version
                )
            after = coordinator_changed(before, wanted, now)
            coordinators.update(tx, after)
            if intent is not None:
                moved = after.status is not before.status
                self._say(tx, intent, after, _MOVED.get(after.status, UPDATED) if moved else UPDATED, by, now)
            return after

        return await self.database.write(job)

    async def heartbeat(self, coordinator_id: str, by: Actor) -> datetime:
        """When the next one is due. Raises :class:`Forbidden` for all but its agent and admins, and
        :class:`InvalidTransition` if it is over."""

        def job(tx: Tx) -> datetime:
            now = self.clock.now()
            found = _readable(tx.conn, coordinator_id, by)
            if not (found.agent_id == by.key or by.has(Role.ADMIN)):
                raise Forbidden("Only the coordinator itself says that it lives.")
            check_acts(_locked(tx, coordinator_id), now)
            coordinators.beat(tx, coordinator_id, now)
            return now + found.heartbeat_interval

        return await self.database.write(job)

    def _governed(self, tx: Tx, coordinator: Coordinator, by: Actor) -> Intent | None:
        """Its intent, locked, if ``by`` may change its coordinators; ``None`` for a portfolio of theirs."""
        if coordinator.intent_id is not None:
            return access.lock(tx, coordinator.intent_id, by, Right.GOVERN)
        portfolio = access.read_portfolio(tx.conn, coordinator.portfolio_id or "", by)
        if not (portfolio.created_by == (by.key or by.identity) or by.has(Role.ADMIN)):
            raise Forbidden("Only the portfolio's creator and admins say who coordinates it.")
        return None

    def _say(self, tx: Tx, intent: Intent, coordinator: Coordinator, what: str, by: Actor, now: datetime) -> None:
        said: dict[str, JsonValue] = {
            "coordinator_id": coordinator.id,
            "agent_id": coordinator.agent_id,
            "status": coordinator.status.value,
            "suspension_policy": coordinator.suspension_policy.value,
        }
        self.log.write(tx, intent, now, Event(what, said, by.identity))


def _locked(tx: Tx, coordinator_id: str) -> Coordinator:
    found = coordinators.get(tx.conn, coordinator_id, lock=True)
    if found is None:
        raise NotFound("There is no such coordinator.")
    return found


def _readable(conn: sa.Connection, coordinator_id: str, by: Actor) -> Coordinator:
    found = coordinators.get(conn, coordinator_id)
    if found is None:
        raise NotFound("There is no such coordinator.")
    try:
        if found.intent_id is not None:
            access.read(conn, found.intent_id, by)
        elif by.key is None or found.agent_id != by.key:
            access.read_portfolio(conn, found.portfolio_id or "", by)
    except NotFound:
        raise NotFound("There is no such coordinator.") from None
    return found
