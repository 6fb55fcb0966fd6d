"""Retries after failures of agents: policies, the record of failures, and when the next retry is due (RFC-0010).

One transaction records a failure, decides on it (``core/openintent/domain/retry.py``) and does what follows. The
service never starts an agent: at ``retry_scheduled_at`` it logs that the retry is due, or it has the fallback agent
take over. A failure is resolved by a client, or when its intent completes.

Source: RFC-0010; API.md §7, "failures"; docs/decisions/0056.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.callback import lane_of_callback
from core.domain.intent import Intent, IntentStatus
from core.domain.people import Actor, Role
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject, instant
from core.engine.transitions import Transitions
from core.errors import Forbidden, InvalidRequest, NotFound
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.domain.intent_lease import IntentLease
from core.openintent.domain.retry import (
    CALLBACK_DEAD,
    CALLBACK_REFUSED,
    FAILURE_RECORDED,
    FAILURE_RESOLVED,
    FALLBACK_TRIGGERED,
    POLICY_SET,
    RETRY_DUE,
    TASK_RETRYING,
    Failed,
    FailurePolicy,
    IntentFailure,
    TakeoverReason,
    failure_policy,
    failure_policy_values,
    outcome_of,
    policy_in_force,
)
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.due_work import DueTimes
from core.openintent.intents.intent_leases import IntentLeases
from core.openintent.intents.members import Members
from core.openintent.intents.writing import IntentLog
from core.openintent.store import intent_failures, tasks
from core.openintent.store.due_times import DueKind
from core.openintent.store.intent_failures import StoredPolicy
from core.ports import Clock
from core.store import intent_agents, outbox, sessions
from core.store.outbox import Row, RowKind, RowStatus

_CALLBACKS = uuid.UUID("0f1f2a52-3a1c-4b8e-9f7e-6a0b5f0c9d10")
_ENDED = frozenset({IntentStatus.COMPLETED, IntentStatus.ABANDONED})
_ASK_AGAIN = timedelta(seconds=30)
"""How long after an answer at most a retry is due that had to wait for it."""


@dataclass(slots=True)
class Retrying:
    """``draw`` returns a random number from 0 to 1, which spreads delays."""

    database: Database
    log: IntentLog
    times: DueTimes
    takeovers: Takeovers
    clock: Clock
    draw: Callable[[], float] = random.random

    # --- Policies -------------------------------------------------------------------------------------------------

    async def set_policy(self, intent_id: str, policy: FailurePolicy, by: Actor) -> StoredPolicy:
        """Set or replace the intent's policy. Only its owner or an admin may: the policy names who may become a
        member."""

        def job(tx: Tx) -> StoredPolicy:
            intent, now = access.lock(tx, intent_id, by, Right.GOVERN), self.clock.now()
            found = intent_failures.policy_of(tx.conn, intent_id)
            stored = StoredPolicy(str(uuid.uuid4()), intent_id, policy, now, now)
            if found is not None:
                stored = replace(found, policy=policy, updated_at=now)
            intent_failures.put_policy(tx, stored)
            self.log.write(tx, intent, now, Event(POLICY_SET, failure_policy_values(policy), by.identity))
            return stored

        return await self.database.write(job)

    async def policy(self, intent_id: str, by: Actor) -> StoredPolicy:
        """Raises :class:`NotFound` if there is none, or if ``by`` may not read the intent."""

        def job(conn: sa.Connection) -> StoredPolicy:
            found = intent_failures.policy_of(conn, access.read(conn, intent_id, by).id)
            if found is None:
                raise NotFound("The intent has no retry policy.")
            return found

        return await self.database.read(job)

    # --- Failures -------------------------------------------------------------------------------------------------

    async def failures(self, intent_id: str, by: Actor, limit: int) -> Sequence[IntentFailure]:
        """The newest ``limit`` failures, oldest of them first."""

        def job(conn: sa.Connection) -> Sequence[IntentFailure]:
            return intent_failures.of_intent(conn, access.read(conn, intent_id, by).id, limit)

        return await self.database.read(job)

    async def record(
        self, intent_id: str, failed: Failed, by: Actor, once: IdempotentRequest | None = None
    ) -> IntentFailure | Replayed:
        """Record a failure and do what follows. Raises :class:`Forbidden` for another agent's failure, unless ``by``
        is an admin."""

        def job(tx: Tx) -> IntentFailure:
            intent = access.lock(tx, intent_id, by, Right.WORK)
            if failed.agent_id != (by.key or by.identity) and not by.has(Role.ADMIN):
                raise Forbidden("A failure is reported by the agent that has failed, or by an admin.")
            return self._record(tx, intent, str(uuid.uuid4()), failed, by.identity, self.clock.now())

        return await self.database.write(lambda tx: perform_once(tx, once, self.clock.now(), lambda: job(tx)))

    def callback_lost(self, tx: Tx, intent: Intent, row: Row, agent: str, now: datetime) -> None:
        """The callback ``row`` to ``agent`` was refused or is dead: one failure of the intent, however often this is
        found. The intent must be locked in this transaction."""
        failure_id = str(uuid.uuid5(_CALLBACKS, row.id))
        if intent_failures.get(tx.conn, failure_id) is not None:
            return
        known: JsonObject = {"callback_id": row.id, "suspension_id": row.suspension_id, "tries": row.tries}
        refused = row.status is RowStatus.REFUSED
        message = f"The agent's callback was {'refused' if refused else 'given up'}."
        code = CALLBACK_REFUSED if refused else CALLBACK_DEAD
        failed = Failed(agent, error_code=code, error_message=message, metadata=known)
        self._record(tx, intent, failure_id, failed, BY_SERVICE, now)

    def _record(self, tx: Tx, intent: Intent, failure_id: str, failed: Failed, by: str, now: datetime) -> IntentFailure:
        unresolved = intent_failures.unresolved(tx.conn, intent.id)
        policy = _policy_for(tx.conn, intent.id, failed.task_id)
        ended = intent.status in _ENDED
        outcome = outcome_of(failed, policy, unresolved, now, ended=ended, draw=self.draw())
        failure = IntentFailure(
            failure_id,
            intent.id,
            failed.task_id,
            failed.agent_id,
            outcome.attempt_number,
            failed.error_code,
            failed.error_message,
            outcome.retry_at,
            None,
            failed.metadata,
            now,
            policy.fallback_agent_id if policy is not None and outcome.takeover is not None else None,
        )
        intent_failures.insert(tx, failure)
        self._forget_retries(tx, [one for one in unresolved if _same_work(one, failure)])
        if outcome.retry_at is not None:
            self.times.put(tx, DueKind.RETRY, failure.id, intent, outcome.retry_at)
        recorded = Event(FAILURE_RECORDED, {**_said(failure), "exhausted": outcome.exhausted}, by)
        intent = self.log.write(tx, intent, now, recorded)
        if outcome.takeover is not None:
            self.takeovers.begin(tx, intent, failure, outcome.takeover, now)
        return failure

    async def resolve(self, intent_id: str, failure_id: str, by: Actor) -> IntentFailure:
        """Resolve this failure, and with it those of the same agent and task before it. Raises :class:`NotFound` for
        another intent's failure."""

        def job(tx: Tx) -> IntentFailure:
            intent, now = access.lock(tx, intent_id, by, Right.WORK), self.clock.now()
            failure = intent_failures.get(tx.conn, failure_id)
            if failure is None or failure.intent_id != intent_id:
                raise NotFound("The intent has no such failure.")
            if failure.resolved_at is not None:
                return failure
            unresolved = intent_failures.unresolved(tx.conn, intent_id)
            done = [one for one in unresolved if _same_work(one, failure) and one.occurred_at <= failure.occurred_at]
            intent_failures.resolve(tx, [failure.id, *(one.id for one in done)], now)
            self._forget_retries(tx, [failure, *done])
            self.log.write(tx, intent, now, Event(FAILURE_RESOLVED, _said(failure), by.identity))
            return replace(failure, resolved_at=now)

        return await self.database.write(job)

    # --- Retries --------------------------------------------------------------------------------------------------

    def retry_due(self, tx: Tx, intent: Intent, failure_id: str, now: datetime) -> None:
        """Log that the retry is due. While the intent waits for an answer, the retry waits too; when the intent has
        ended, it is dropped."""
        failure = intent_failures.get(tx.conn, failure_id)
        if failure is None or failure.resolved_at is not None or intent.status in _ENDED:
            return
        if intent.status is IntentStatus.SUSPENDED:
            self.times.put(tx, DueKind.RETRY, failure_id, intent, now + _ASK_AGAIN)
            return
        due: JsonObject = {**_said(failure), "attempt_number": failure.attempt_number + 1}
        event = RETRY_DUE if failure.task_id is None else TASK_RETRYING
        self.log.write(tx, intent, now, Event(event, due, BY_SERVICE))

    def _forget_retries(self, tx: Tx, failures: Sequence[IntentFailure]) -> None:
        for one in failures:
            if one.retry_scheduled_at is not None:
                self.times.clear(tx, DueKind.RETRY, one.id)


def _same_work(one: IntentFailure, other: IntentFailure) -> bool:
    return (one.agent_id, one.task_id) == (other.agent_id, other.task_id)


def _policy_for(conn: sa.Connection, intent_id: str, task_id: str | None) -> FailurePolicy | None:
    """The task's policy, else the intent's. Raises :class:`InvalidRequest` if the intent has no such task."""
    of_task = None if task_id is None else _policy_of_task(conn, intent_id, task_id)
    stored = intent_failures.policy_of(conn, intent_id)
    return policy_in_force(of_task, None if stored is None else stored.policy)


def _policy_of_task(conn: sa.Connection, intent_id: str, task_id: str) -> FailurePolicy | None:
    task = tasks.get(conn, task_id)
    if task is None or task.intent_id != intent_id:
        raise InvalidRequest("The intent has no such task.", path="task_id")
    return None if task.retry_policy is None else failure_policy(task.retry_policy)


def _said(failure: IntentFailure) -> JsonObject:
    """The failure's fields for the log; the agent's own words stay in the record."""
    return {
        "failure_id": failure.id,
        "task_id": failure.task_id,
        "agent_id": failure.agent_id,
        "attempt_number": failure.attempt_number,
        "error_code": failure.error_code,
        "retry_scheduled_at": instant(failure.retry_scheduled_at),
    }


FALLBACK = "fallback"
"""The role of a member that came by a takeover."""
BY_SERVICE = "handraise"


@dataclass(frozen=True, slots=True)
class Takeovers:
    """The fallback agent continues an intent whose agent has failed (RFC-0010, "Fallback Agents").

    The transaction that records the failure does all of it: the fallback agent becomes a member, takes over the failing
    agent's leases, ``fallback_triggered`` is logged, and a callback to it is written. As a member it reads the state
    and the failures. The failing agent stays a member, without the leases. An open question stays open, and its answer
    goes to its asker.
    """

    members: Members
    leases: IntentLeases
    transitions: Transitions
    log: IntentLog

    def begin(self, tx: Tx, intent: Intent, failure: IntentFailure, reason: TakeoverReason, now: datetime) -> Intent:
        """``failure.fallback_agent_id`` takes over. The intent must be locked; returned with its log grown."""
        to_agent = failure.fallback_agent_id
        assert to_agent is not None  # noqa: S101 (decided by ``outcome_of``)
        if not intent_agents.belongs(tx.conn, intent.id, to_agent):
            intent, _ = self.members.join(tx, intent, to_agent, FALLBACK, BY_SERVICE, now)
        intent, handed = self.leases.hand_over(tx, intent, failure.agent_id, to_agent, now)
        told = takeover_data(intent, failure, to_agent, reason, handed)
        intent = self.log.write(tx, intent, now, _triggered(told))
        self.transitions.dispatch(tx, _callback(tx, to_agent, told, now))
        return intent


def takeover_data(
    intent: Intent, failure: IntentFailure, to_agent: str, reason: TakeoverReason, handed: Sequence[IntentLease]
) -> JsonObject:
    """The callback's data. The state and the rest of the history are in the intent."""
    return {
        "intent_id": intent.id,
        "status": intent.status.value,
        "suspension_id": intent.suspension_id,
        "task_id": failure.task_id,
        "from_agent_id": failure.agent_id,
        "to_agent_id": to_agent,
        "reason": reason.value,
        "failure_id": failure.id,
        "attempt_number": failure.attempt_number,
        "error_code": failure.error_code,
        "leases": [{"id": one.id, "scope": one.scope, "expires_at": instant(one.expires_at)} for one in handed],
    }


_LOGGED = ("from_agent_id", "to_agent_id", "reason", "failure_id", "attempt_number", "task_id")


def _triggered(told: JsonObject) -> Event:
    return Event(FALLBACK_TRIGGERED, {name: told[name] for name in _LOGGED}, BY_SERVICE)


def _callback(tx: Tx, agent: str, told: JsonObject, now: datetime) -> list[Row]:
    """To the agent's own URL, if it has one."""
    url = sessions.agent_callback(tx.conn, agent)
    if url is None:
        return []
    said: JsonObject = {"type": FALLBACK_TRIGGERED, "timestamp": instant(now), "data": told}
    body: JsonObject = {"url": url, "key": agent, "body": said}
    lane = lane_of_callback(agent, url, str(told["intent_id"]))
    return [Row(RowKind.RESUME, outbox.AGENTS, now, now, address=agent, body=body, lane=lane)]
