"""A takeover: the fallback agent continues an intent whose agent has failed (RFC-0010, "Fallback Agents").

The transaction that records the failure does all of it: the fallback agent becomes a member, takes over the failing
agent's leases, ``fallback_triggered`` is logged, and a callback to it is written. As a member it reads the state and
the failures. The failing agent stays a member, without the leases. An open question stays open, and its answer goes to
its asker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.database.database import Tx
from core.domain.callback import lane_of_callback
from core.domain.intent import Intent
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject, instant
from core.engine.transitions import Transitions
from core.openintent.domain.intent_lease import IntentLease
from core.openintent.domain.retry import FALLBACK_TRIGGERED, IntentFailure, TakeoverReason
from core.openintent.intents.intent_leases import IntentLeases
from core.openintent.intents.members import Members
from core.openintent.intents.writing import IntentLog
from core.store import intent_agents, outbox, sessions
from core.store.outbox import Row, RowKind

FALLBACK = "fallback"
"""The role of a member that came by a takeover."""
BY_SERVICE = "handraise"


@dataclass(frozen=True, slots=True)
class Takeovers:
    """Hands intents over, and notifies the fallback agents."""

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
