"""Suspending in the published client's two steps: first the status, then the record in the state (API.md §7).

The first step sets the status and the time by which the record has to be there. The record then opens the question as
``POST …/suspend`` would, with the same checks and the same first notice. If no record comes, the intent becomes active
again.

The client has its own clock and never reads ours. So the policy in its record is the whole policy (it has merged the
platform's into it), and the times of such a question never move: its agent goes on at the agreed time.

Source: API.md §7; docs/decisions/0053-the-published-clients-suspend.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import sqlalchemy as sa
from pydantic import JsonValue
from sqlalchemy.exc import IntegrityError

from core.database.database import Database, Tx
from core.domain.intent import (
    Intent,
    IntentStatus,
    Patch,
    apply_patches,
    check_suspendable,
    check_version,
    reserved_path,
)
from core.domain.machine import ABANDONED_BY_ADMIN, PORTFOLIO_DEADLINE, open_suspension
from core.domain.people import Actor, Role
from core.domain.policy import PolicyFields
from core.domain.redaction.kinds import Finding
from core.domain.request import AskRequest
from core.domain.suspension import Ask, Suspension
from core.domain.vocabulary import EXPIRED, STATUS_CHANGED, Event
from core.domain.wire import JsonObject
from core.engine.drafting import Drafter, findings
from core.engine.opening import Opening, others_of
from core.engine.quotas import Quotas
from core.engine.transitions import Transitions
from core.errors import Forbidden, SuspensionIdInUse
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.due_work import DueTimes
from core.openintent.intents.intents import STATE_PATCHED
from core.openintent.intents.writing import IntentLog
from core.openintent.store.due_times import DueKind
from core.ports import Clock
from core.store import intent_agents, intents, suspensions

T = TypeVar("T")

RECORD_WITHIN = timedelta(seconds=60)
"""How long an intent stays suspended without a record."""

RECORD_MISSING = "record_missing"
"""Why such an intent is active again, as its log says it."""


@dataclass(frozen=True, slots=True)
class ClientRecord:
    """The client's suspension record. ``policy`` is its retry policy; nothing else is inherited."""

    suspension_id: str
    request: AskRequest
    policy: PolicyFields


class ClientSteps:
    """The two steps, and what may happen between them. Each is one transaction."""

    def __init__(
        self,
        database: Database,
        transitions: Transitions,
        drafter: Drafter,
        quotas: Quotas,
        log: IntentLog,
        times: DueTimes,
        clock: Clock,
    ) -> None:
        self._database = database
        self._transitions = transitions
        self._redaction = drafter.redaction
        self._opening = Opening(replace(drafter, platform=PolicyFields()), transitions, quotas)
        self._log = log
        self._times = times
        self._clock = clock

    async def suspend(self, intent_id: str, by: Actor, version: int, reason: str | None = None) -> None:
        """The first step. A draft becomes active on the way, if ``by`` may do that.

        Raises :class:`AlreadySuspended`, :class:`IntentNotActive` or :class:`VersionConflict`.
        """

        def job(tx: Tx) -> None:
            now = self._clock.now()
            intent = _to_suspend(tx, intent_id, by)
            check_version(intent, version)
            events = []
            if intent.status is IntentStatus.DRAFT:
                access.lock(tx, intent_id, by, Right.MOVE, now)
                self._log.consequences.check_ready(tx, intent)
                events.append(_moved(intent.status, IntentStatus.ACTIVE, reason, by.identity))
                intent = replace(intent, status=IntentStatus.ACTIVE)
            check_suspendable(intent)
            events.append(_moved(intent.status, IntentStatus.SUSPENDED, reason, by.identity))
            self._move(tx, intent, IntentStatus.SUSPENDED, now, *events)
            self._times.put(tx, DueKind.RECORD_MISSING, intent.id, intent, now + RECORD_WITHIN)

        await self._database.write(job)

    async def awaits_record(self, intent_id: str, by: Actor) -> bool:
        """Whether the first step was taken and no record has come yet. Raises :class:`NotFound`."""
        return await self._database.read(lambda conn: _awaits(conn, access.read(conn, intent_id, by)))

    async def open(
        self, intent_id: str, record: ClientRecord, patches: Sequence[Patch], by: Actor, version: int
    ) -> Suspension:
        """The second step: the record opens the question. ``patches`` are the other changes of the same request.

        Raises :class:`ReservedPath` if no record is awaited, and all refusals of the question. Nothing is stored then.
        """
        found = await findings(self._redaction, record.request)
        return await self._write_again(lambda tx: self._open(tx, intent_id, record, patches, by, version, found))

    def _open(
        self,
        tx: Tx,
        intent_id: str,
        record: ClientRecord,
        patches: Sequence[Patch],
        by: Actor,
        version: int,
        found: Sequence[Finding],
    ) -> Suspension:
        now = self._clock.now()
        intent = _to_suspend(tx, intent_id, by)
        check_version(intent, version)
        if not _awaits(tx.conn, intent):
            raise reserved_path()
        if suspensions.id_is_taken(tx.conn, record.suspension_id):
            raise SuspensionIdInUse("Another suspension has this id.")
        creator = by.key or by.identity
        agents = others_of(tx, intent.id, creator)
        draft = self._opening.draft(tx, record.request, creator, record.policy, now, found, agents)
        self._opening.check_quota(tx, creator, now)
        ask = draft.ask(
            suspension_id=record.suspension_id,
            ref=suspensions.free_ref(tx.conn),
            intent_id=intent.id,
            created_by=creator,
            now=now,
        )
        intent = self._patched(tx, intent, patches, by, now)
        self._times.clear(tx, DueKind.RECORD_MISSING, intent.id)
        opened = open_suspension(_by_its_own_clock(ask), agents)
        return self._transitions.open(tx, opened, intent, now, intents.update).suspension

    def _patched(self, tx: Tx, intent: Intent, patches: Sequence[Patch], by: Actor, now: datetime) -> Intent:
        if not patches:
            return intent
        paths: list[JsonValue] = [patch.path for patch in patches]
        changed = replace(intent, state=apply_patches(intent.state, patches))
        return self._log.write(tx, changed, now, Event(STATE_PATCHED, {"paths": paths}, by.identity))

    async def abandon(self, intent_id: str, by: Actor, version: int, reason: str | None) -> bool:
        """An admin gives up an intent whose record has not come. False if no record is awaited, or ``by`` is not an
        admin."""

        def job(tx: Tx) -> bool:
            intent = intents.lock(tx, intent_id)
            if intent is None or not by.has(Role.ADMIN) or not _awaits(tx.conn, intent):
                return False
            check_version(intent, version)
            given_up = replace(intent, abandonment_reason=reason or ABANDONED_BY_ADMIN)
            event = _moved(intent.status, IntentStatus.ABANDONED, reason, by.identity)
            self._move(tx, given_up, IntentStatus.ABANDONED, self._clock.now(), event)
            self._times.clear(tx, DueKind.RECORD_MISSING, intent.id)
            return True

        return await self._database.write(job)

    def portfolio_deadline(self, tx: Tx, intent: Intent, now: datetime) -> None:
        """A portfolio's deadline comes between the steps (RFC-0026 §2 rule 5); the intent must be locked."""
        if _awaits(tx.conn, intent):
            said: JsonObject = {"suspension_id": None, "reason": "portfolio_deadline", "error": PORTFOLIO_DEADLINE}
            given_up = replace(intent, abandonment_reason=PORTFOLIO_DEADLINE)
            self._move(tx, given_up, IntentStatus.ABANDONED, now, Event(EXPIRED, said))
        self._times.clear(tx, DueKind.RECORD_MISSING, intent.id)

    def record_missing(self, tx: Tx, intent: Intent, _subject: str, now: datetime) -> None:
        """Due when the record has not come (``core.openintent.intents.due_work``)."""
        if _awaits(tx.conn, intent):
            event = _moved(intent.status, IntentStatus.ACTIVE, RECORD_MISSING)
            self._move(tx, intent, IntentStatus.ACTIVE, now, event)

    def _move(self, tx: Tx, intent: Intent, status: IntentStatus, now: datetime, *events: Event) -> None:
        moved = replace(intent, status=status, version=intent.version + 1, updated_at=now)
        self._log.moved(tx, intent.status, moved, now, *events)

    async def _write_again(self, job: Callable[[Tx], T]) -> T:
        """Repeat ``job`` if another transaction's row was first, so that ``job`` finds that row and reports it."""
        try:
            return await self._database.write(job)
        except IntegrityError:
            return await self._database.write(job)


def _to_suspend(tx: Tx, intent_id: str, by: Actor) -> Intent:
    """The intent, locked. Only its owner and its members suspend it."""
    intent = access.lock(tx, intent_id, by, Right.WORK)
    if by.key is None or not intent_agents.belongs(tx.conn, intent_id, by.key):
        raise Forbidden("Only the intent's owner and its members suspend it.")
    return intent


def _awaits(conn: sa.Connection, intent: Intent) -> bool:
    """An intent is suspended without an open suspension only between the client's steps."""
    return intent.status is IntentStatus.SUSPENDED and suspensions.open_of_intent(conn, intent.id) is None


def _by_its_own_clock(ask: Ask) -> Ask:
    """The question ends when its agent goes on, whatever happens here: outages move none of its times, and asking
    back is bounded by the deadline, so it does not move the end."""
    deadline = None if ask.expires_at is None else ask.expires_at - ask.suspended_at
    return replace(ask, keeps_its_times=True, deadline=deadline)


def _moved(before: IntentStatus, after: IntentStatus, reason: str | None, actor: str = "handraise") -> Event:
    return Event(STATUS_CHANGED, {"from": before.value, "to": after.value, "reason": reason}, actor)
