"""Agents' sessions, the default policy that an agent has set, and the agent's own callback URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import upsert
from core.store.tables import agent_callbacks, agent_policies, sessions


@dataclass(frozen=True, slots=True)
class Session:
    """An agent's session and where it is called back. Belongs to the key that made it."""

    owner: str
    id: str
    callback_url: str | None
    metadata: Mapping[str, JsonValue]
    created_at: datetime
    updated_at: datetime


def put_session(tx: Tx, session: Session) -> None:
    values = asdict(session) | {"metadata": dict(session.metadata)}
    upsert(tx, sessions, values, ("owner", "id"))


def get_session(conn: sa.Connection, owner: str, session_id: str) -> Session | None:
    row = conn.execute(sa.select(sessions).where(sessions.c.owner == owner, sessions.c.id == session_id)).first()
    return None if row is None else Session(**row._mapping)


def any_session(conn: sa.Connection, session_id: str) -> Session | None:
    """The session of that id whoever owns it: for those who may read all."""
    statement = sa.select(sessions).where(sessions.c.id == session_id).order_by(sessions.c.updated_at.desc())
    row = conn.execute(statement.limit(1)).first()
    return None if row is None else Session(**row._mapping)


# --- Agents' default policies -------------------------------------------------------------------------------------


def put_agent_policy(tx: Tx, agent: str, policy: Mapping[str, JsonValue], now: datetime) -> None:
    upsert(tx, agent_policies, {"agent": agent, "policy": dict(policy), "updated_at": now}, ("agent",))


def agent_policy(conn: sa.Connection, agent: str) -> Mapping[str, JsonValue]:
    """What the agent set as its default, ``{}`` where it set nothing."""
    found = _AGENT_POLICY.scalar(conn, {"agent": agent})
    return {} if found is None else found


_AGENT_POLICY = Prepared(sa.select(agent_policies.c.policy).where(agent_policies.c.agent == sa.bindparam("agent")))


# --- Agents' own callbacks ----------------------------------------------------------------------------------------


def put_agent_callback(tx: Tx, agent: str, url: str | None, now: datetime) -> None:
    """Where ``agent`` is called if something is for it alone; ``None`` clears it."""
    if url is None:
        tx.conn.execute(agent_callbacks.delete().where(agent_callbacks.c.agent == agent))
    else:
        upsert(tx, agent_callbacks, {"agent": agent, "url": url, "updated_at": now}, ("agent",))


def agent_callback(conn: sa.Connection, agent: str) -> str | None:
    found: str | None = conn.scalar(sa.select(agent_callbacks.c.url).where(agent_callbacks.c.agent == agent))
    return found
