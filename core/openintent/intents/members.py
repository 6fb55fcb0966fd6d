"""Members: the agents of an intent beside its owner.

A member never answers a question about the intent, whether it joined before the question or after (API.md §7). So an
open question learns of each new member in the same transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.intent import Intent
from core.domain.people import OWN_KEY, Actor, key_name
from core.domain.vocabulary import Event
from core.domain.wire import JsonObject
from core.engine.transitions import Transitions
from core.errors import InvalidRequest, NotFound
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.intent_leases import IntentLeases
from core.openintent.intents.writing import IntentLog
from core.ports import Clock
from core.store import intent_agents, suspensions
from core.store.intent_agents import IntentAgent

AGENT_ASSIGNED = "agent_assigned"
AGENT_UNASSIGNED = "agent_unassigned"
WORKER = "worker"
"""The role of a member of whom nothing else is said."""


@dataclass(frozen=True, slots=True)
class Members:
    """Adds and removes members of intents."""

    database: Database
    transitions: Transitions
    log: IntentLog
    leases: IntentLeases
    clock: Clock

    async def of_intent(self, intent_id: str, by: Actor) -> Sequence[IntentAgent]:
        """In the order in which they were added. Raises :class:`NotFound` if ``by`` may not read the intent."""

        def job(conn: sa.Connection) -> Sequence[IntentAgent]:
            return intent_agents.of_intent(conn, access.read(conn, intent_id, by).id)

        return await self.database.read(job)

    async def add(self, intent_id: str, agent_id: str, role: str | None, by: Actor) -> IntentAgent:
        """Add a member, or give one another role. Raises :class:`InvalidRequest` for an invalid key name."""

        def job(tx: Tx) -> IntentAgent:
            intent = access.lock(tx, intent_id, by, Right.GOVERN)
            return self.join(tx, intent, agent_named(agent_id, by), role or WORKER, by.identity, self.clock.now())[1]

        return await self.database.write(job)

    def join(
        self, tx: Tx, intent: Intent, agent_id: str, role: str, by: str, now: datetime
    ) -> tuple[Intent, IntentAgent]:
        """:meth:`add` in a transaction that holds the intent; also returns the intent with its log grown."""
        found = intent_agents.get(tx.conn, intent.id, agent_id)
        if found is not None and found.role == role:
            return intent, found
        agent = IntentAgent(str(uuid.uuid4()), intent.id, agent_id, role, now)
        if found is not None:
            agent = replace(found, role=role)
        intent_agents.put(tx, agent)
        self._shut_out(tx, intent, agent_id)
        return self.log.write(tx, intent, now, Event(AGENT_ASSIGNED, membership_json(agent_id, role), by)), agent

    async def remove(self, intent_id: str, agent_id: str, by: Actor) -> None:
        """Raises :class:`NotFound` if it is not a member. Its leases on the intent end."""

        def job(tx: Tx) -> None:
            intent = access.lock(tx, intent_id, by, Right.GOVERN)
            name, now = agent_named(agent_id, by), self.clock.now()
            found = intent_agents.get(tx.conn, intent.id, name)
            if found is None or not intent_agents.remove(tx, intent.id, name):
                raise NotFound("This agent is no member of the intent.")
            intent = self.log.write(
                tx, intent, now, Event(AGENT_UNASSIGNED, membership_json(name, found.role), by.identity)
            )
            self.leases.revoke_all_of(tx, intent, name, by, now)

        await self.database.write(job)

    def _shut_out(self, tx: Tx, intent: Intent, agent_id: str) -> None:
        """An open question of the intent counts no answer of this agent from here on."""
        open_one = suspensions.open_of_intent(tx.conn, intent.id)
        suspension = None if open_one is None else suspensions.get(tx.conn, open_one)
        if suspension is not None and agent_id not in suspension.agents:
            self.transitions.keep(tx, replace(suspension, agents=(*suspension.agents, agent_id)))


def membership_json(agent_id: str, role: str) -> JsonObject:
    return {"agent_id": agent_id, "role": role}


def agent_named(agent_id: str, by: Actor, path: str = "agent_id") -> str:
    """The key with that name; ``me`` is the caller's own. Raises :class:`InvalidRequest`, which names the field
    ``path``, for an invalid key name."""
    if agent_id.strip().lower() == OWN_KEY and by.key is not None:
        return by.key
    try:
        return key_name(agent_id)
    except ValueError as problem:
        raise InvalidRequest(f"The name of an agent {problem}.", path=path) from problem
