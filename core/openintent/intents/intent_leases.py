"""Leases on an intent: acquire, renew, release, revoke, and expire them.

Each request decides by the clock which leases stand; the row of ``due_times`` only writes the end down. So it may come
late, and it waits while the intent waits for a person (RFC-0025 §2).

Source: RFC-0003; API.md §7; decision 0055.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentStatus
from core.domain.people import Actor, Role
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject, instant
from core.errors import Forbidden, LeaseHeld, NotFound
from core.openintent.domain.intent_lease import (
    IntentLease,
    LeaseStatus,
    check_held,
    check_open_to_work,
    let_go,
    next_look,
    renewed,
)
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.due_work import DueTimes
from core.openintent.intents.phase_inputs import check_sources
from core.openintent.intents.writing import IntentLog
from core.openintent.store import intent_leases
from core.openintent.store.due_times import DueKind
from core.ports import Clock

LEASE_ACQUIRED = "lease_acquired"
LEASE_RENEWED = "lease_renewed"
LEASE_RELEASED = "lease_released"
LEASE_EXPIRED = "lease_expired"
LEASE_REVOKED = "lease_revoked"
LEASE_ENDS = frozenset({LEASE_RELEASED, LEASE_EXPIRED, LEASE_REVOKED})
"""After which the scope is free."""

_ENDED_BY = {
    LeaseStatus.RELEASED: LEASE_RELEASED,
    LeaseStatus.EXPIRED: LEASE_EXPIRED,
    LeaseStatus.REVOKED: LEASE_REVOKED,
}


FALLBACK_SCOPE = "fallback"
"""The scope of a fallback agent if the failed agent held none."""
FALLBACK_LEASE = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class IntentLeases:
    """Each change is one transaction that holds the intent, or a part of the caller's."""

    database: Database
    log: IntentLog
    times: DueTimes
    clock: Clock

    async def acquire(self, intent_id: str, scope: str, duration: timedelta, by: Actor) -> IntentLease:
        """Raises :class:`LeaseHeld` if the scope is held, even by ``by``, :class:`IntentNotActive` if the intent is
        over, and :class:`UpstreamIntentSuspended` while a source of its inputs waits for a person."""

        def job(tx: Tx) -> IntentLease:
            now = self.clock.now()
            intent = access.lock(tx, intent_id, by, Right.WORK)
            check_open_to_work(intent)
            check_sources(tx, intent, now)
            intent = self._cleared(tx, intent, scope, by, now)
            lease = _lease(intent, _name(by), scope, now, duration)
            intent_leases.insert(tx, lease)
            self._set(tx, intent, lease, LEASE_ACQUIRED, now, by)
            return lease

        try:
            return await self.database.write(job)
        except IntegrityError as taken:  # that row was written without holding the intent
            raise LeaseHeld("Somebody holds the lease on this scope.") from taken

    def _cleared(self, tx: Tx, intent: Intent, scope: str, by: Actor, now: datetime) -> Intent:
        """The intent, with the scope free: expired leases on it are written off."""
        found = intent_leases.active(tx.conn, intent.id, scope=scope)
        for lease in intent_leases.standing(tx.conn, intent, found, now):
            if lease.is_active:
                raise _held(lease, by)
            intent = self._end(tx, intent, lease, now)
        return intent

    async def page(self, intent_id: str, by: Actor, *, limit: int, offset: int) -> Sequence[IntentLease]:
        """Held leases first, then the newest; each with its true status. Raises :class:`NotFound`."""

        def job(conn: sa.Connection) -> Sequence[IntentLease]:
            intent = access.read(conn, intent_id, by)
            found = intent_leases.page(conn, intent.id, limit, offset)
            return intent_leases.standing(conn, intent, found, self.clock.now())

        return await self.database.read(job)

    async def renew(self, intent_id: str, lease_id: str, duration: timedelta, by: Actor) -> IntentLease:
        """The lease ends ``duration`` from now. Raises :class:`NotFound`, :class:`Forbidden` for all but its holder
        and admins, and :class:`ScopeNotHeld` if it has ended."""

        def job(tx: Tx) -> IntentLease:
            now = self.clock.now()
            intent = access.lock(tx, intent_id, by, Right.WORK)
            found = self._found(tx, intent, lease_id, now)
            if not (found.agent_id == by.key or by.has(Role.ADMIN)):
                raise Forbidden("Only its holder and admins renew a lease.")
            lease = renewed(found, duration, now)
            intent_leases.update(tx, lease)
            self._set(tx, intent, lease, LEASE_RENEWED, now, by)
            return lease

        return await self.database.write(job)

    async def release(self, intent_id: str, lease_id: str, by: Actor) -> IntentLease:
        """Released by its holder, or revoked by the intent's owner or an admin. Raises as :meth:`renew`."""

        def job(tx: Tx) -> IntentLease:
            now = self.clock.now()
            intent = access.lock(tx, intent_id, by, Right.WORK)
            found = self._found(tx, intent, lease_id, now)
            own = found.agent_id == _name(by)
            if not (own or intent.created_by == by.key or by.has(Role.ADMIN)):
                raise Forbidden("Only its holder, the intent's owner and admins end a lease.")
            check_held(found)
            lease = let_go(found, LeaseStatus.RELEASED if own else LeaseStatus.REVOKED, now)
            self._end(tx, intent, lease, now, by)
            return lease

        return await self.database.write(job)

    def _found(self, tx: Tx, intent: Intent, lease_id: str, now: datetime) -> IntentLease:
        lease = intent_leases.get(tx.conn, intent.id, lease_id)
        if lease is None:
            raise NotFound("The intent has no such lease.")
        [standing] = intent_leases.standing(tx.conn, intent, [lease], now)
        return standing

    # --- In a transaction that holds the intent -------------------------------------------------------------------

    def revoke_all_of(self, tx: Tx, intent: Intent, agent_id: str, by: Actor, now: datetime) -> Intent:
        """Revoke every lease of a former member; returns the intent with its log grown."""
        active = intent_leases.active(tx.conn, intent.id, agent_id=agent_id)
        for lease in intent_leases.standing(tx.conn, intent, active, now):
            taken = let_go(lease, LeaseStatus.REVOKED, now) if lease.is_active else lease
            intent = self._end(tx, intent, taken, now, by)
        return intent

    def release_all(self, tx: Tx, intent: Intent, by: Actor, now: datetime) -> Intent:
        """The intent is over; returns it with its log grown."""
        for lease in intent_leases.standing(tx.conn, intent, intent_leases.active(tx.conn, intent.id), now):
            intent = self._end(tx, intent, lease, now, by)
        return intent

    def hand_over(
        self, tx: Tx, intent: Intent, from_agent: str, to_agent: str, now: datetime
    ) -> tuple[Intent, Sequence[IntentLease]]:
        """Each scope that ``from_agent`` holds, ``to_agent`` holds from ``now`` on, under a new lease of the same
        length. If there is none, ``to_agent`` gets the scope :data:`FALLBACK_SCOPE`, unless it is held. Returns the
        intent with its log grown, and those leases (RFC-0010, "Fallback Agents")."""
        handed = []
        active = intent_leases.active(tx.conn, intent.id, agent_id=from_agent)
        for lease in intent_leases.standing(tx.conn, intent, active, now):
            if not lease.is_active:
                intent = self._end(tx, intent, lease, now)
                continue
            intent = self._end(tx, intent, let_go(lease, LeaseStatus.RELEASED, now), now)
            duration = lease.expires_at - lease.acquired_at
            anew = _lease(intent, to_agent, lease.scope, now, duration)
            intent_leases.insert(tx, anew)
            intent = self._set(tx, intent, anew, LEASE_ACQUIRED, now)
            handed.append(anew)
        if handed:
            return intent, handed
        return self._given(tx, intent, to_agent, now)

    def _given(self, tx: Tx, intent: Intent, agent: str, now: datetime) -> tuple[Intent, Sequence[IntentLease]]:
        found = intent_leases.active(tx.conn, intent.id, scope=FALLBACK_SCOPE)
        for lease in intent_leases.standing(tx.conn, intent, found, now):
            if lease.is_active:
                return intent, [lease] if lease.agent_id == agent else []
            intent = self._end(tx, intent, lease, now)
        lease = _lease(intent, agent, FALLBACK_SCOPE, now, FALLBACK_LEASE)
        intent_leases.insert(tx, lease)
        return self._set(tx, intent, lease, LEASE_ACQUIRED, now), [lease]

    def ended(self, tx: Tx, intent: Intent, lease_id: str, now: datetime) -> None:
        """Due at a lease's end (``core.openintent.intents.due_work``): writes it down. An intent that waits for a
        person is passed over, and looked at later (RFC-0025 §2)."""
        lease = intent_leases.get(tx.conn, intent.id, lease_id)
        if lease is None or not lease.is_active:
            return
        [standing] = intent_leases.standing(tx.conn, intent, [lease], now)
        if standing.is_active or intent.status is IntentStatus.SUSPENDED:
            self.times.put(tx, DueKind.LEASE_END, lease.id, intent, next_look(lease, intent, now))
        else:
            self._end(tx, intent, standing, now)

    def _set(
        self, tx: Tx, intent: Intent, lease: IntentLease, what: str, now: datetime, by: Actor | None = None
    ) -> Intent:
        self.times.put(tx, DueKind.LEASE_END, lease.id, intent, lease.expires_at)
        return self.log.write(tx, intent, now, _event(what, lease, by))

    def _end(self, tx: Tx, intent: Intent, lease: IntentLease, now: datetime, by: Actor | None = None) -> Intent:
        """Write down how the lease has ended. An end by time has no author."""
        intent_leases.update(tx, lease)
        self.times.clear(tx, DueKind.LEASE_END, lease.id)
        ender = None if lease.status is LeaseStatus.EXPIRED else by
        return self.log.write(tx, intent, now, _event(_ENDED_BY[lease.status], lease, ender))


def _name(by: Actor) -> str:
    return by.key or by.identity


def _lease(intent: Intent, agent_id: str, scope: str, now: datetime, duration: timedelta) -> IntentLease:
    return IntentLease(
        id=str(uuid.uuid4()),
        intent_id=intent.id,
        agent_id=agent_id,
        scope=scope,
        status=LeaseStatus.ACTIVE,
        acquired_at=now,
        expires_at=now + duration,
    )


def _event(what: str, lease: IntentLease, by: Actor | None) -> Event:
    """``by`` is ``None`` for the service's own."""
    payload: JsonObject = {
        "lease_id": lease.id,
        "scope": lease.scope,
        "agent_id": lease.agent_id,
        "expires_at": instant(lease.expires_at),
    }
    return Event(what, payload) if by is None else Event(what, payload, by.identity)


def _held(lease: IntentLease, by: Actor) -> LeaseHeld:
    own = lease.agent_id == _name(by)
    message = (
        "You hold the lease on this scope already; renew it with PATCH."
        if own
        else "Another agent holds the lease on this scope."
    )
    return LeaseHeld(message, agent_id=lease.agent_id, expires_at=instant(lease.expires_at))
