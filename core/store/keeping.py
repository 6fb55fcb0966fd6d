"""Small things that are kept: idempotent replies, sessions, agents' default policies, keys, ids that were seen."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue
from sqlalchemy.dialects import postgresql, sqlite

from core.store.database import Tx
from core.store.prepared import Prepared
from core.store.tables import agent_policies, api_keys, archived, idempotency, installation, seen, sessions, suspensions

KEPT_AFTER_END = timedelta(days=7)
"""How long an idempotent reply outlives its suspension, and an inbound id is remembered (API.md §1)."""


def _upsert(tx: Tx, table: sa.Table, values: dict[str, Any], keys: tuple[str, ...]) -> None:
    dialect = postgresql if tx.conn.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).values(**values)
    changed = {name: statement.excluded[name] for name in values if name not in keys and name != "created_at"}
    tx.conn.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=changed))


# --- Idempotency --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """The first reply to an idempotent request."""

    fingerprint: str
    status: int
    body: str


def kept_reply(conn: sa.Connection, owner: str, key: str) -> Kept | None:
    statement = sa.select(idempotency).where(idempotency.c.owner == owner, idempotency.c.key == key)
    row = conn.execute(statement).first()
    return None if row is None else Kept(row.fingerprint, row.status, row.body)


def keep_reply(tx: Tx, owner: str, key: str, reply: Kept, suspension_id: str | None, now: datetime) -> None:
    tx.conn.execute(
        idempotency.insert(),
        {
            "owner": owner,
            "key": key,
            "fingerprint": reply.fingerprint,
            "status": reply.status,
            "body": reply.body,
            "suspension_id": suspension_id,
            "created_at": now,
        },
    )


def forget_old(tx: Tx, now: datetime) -> None:
    """Drop replies and seen ids that are past their time; a reply outlives the end of its suspension."""
    before = now - KEPT_AFTER_END
    tx.conn.execute(seen.delete().where(seen.c.at < before))
    found = tx.conn.execute(_OLD_REPLIES, {"before": before})
    gone = [
        {"_owner": row.owner, "_key": row.key}
        for row in found
        if _ended_by(row.ended, before) and (row.ended_at is None or row.ended_at < before)
    ]
    if gone:
        tx.conn.execute(_FORGET_REPLY, gone)


_OLD_REPLIES = (
    sa.select(idempotency.c.owner, idempotency.c.key, suspensions.c.ended, archived.c.ended_at)
    .select_from(idempotency)
    .outerjoin(suspensions, suspensions.c.id == idempotency.c.suspension_id)
    .outerjoin(archived, archived.c.id == idempotency.c.suspension_id)
    .where(idempotency.c.created_at < sa.bindparam("before"))
    .where(suspensions.c.status.is_(None) | (suspensions.c.status != sa.literal_column("'open'")))
)
_FORGET_REPLY = idempotency.delete().where(
    idempotency.c.owner == sa.bindparam("_owner"), idempotency.c.key == sa.bindparam("_key")
)


def _ended_by(ended: Mapping[str, Any] | None, before: datetime) -> bool:
    """Whether a suspension had ended ``before`` then; there may have been none."""
    return ended is None or datetime.fromisoformat(ended["at"]) < before


# --- Inbound ids --------------------------------------------------------------------------------------------------


def note_seen(tx: Tx, channel: str, key: str, now: datetime) -> bool:
    """Remember an inbound id. True where it was there already."""
    dialect = postgresql if tx.conn.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(seen).values(channel=channel, key=key, at=now).on_conflict_do_nothing()
    counting = {"preserve_rowcount": True}  # of an INSERT, SQLAlchemy keeps it on request alone
    return tx.conn.execute(statement, execution_options=counting).rowcount == 0


def was_seen(conn: sa.Connection, channel: str, key: str) -> bool:
    return _SEEN.scalar(conn, {"channel": channel, "key": key}) is not None


_SEEN = Prepared(
    sa.select(seen.c.key).where(seen.c.channel == sa.bindparam("channel"), seen.c.key == sa.bindparam("key"))
)


def note_among(tx: Tx, channel: str, group: str, key: str, now: datetime) -> None:
    """Remember an inbound id as one of ``group`` (a name without white space), for :func:`count_among`."""
    note_seen(tx, channel, f"{group} {key}", now)


def count_among(conn: sa.Connection, channel: str, group: str, since: datetime) -> int:
    """How many ids of ``group`` were noted after ``since``."""
    own = seen.c
    among = (own.channel == channel) & (own.key > f"{group} ") & (own.key < f"{group}!") & (own.at > since)
    return conn.scalar(sa.select(sa.func.count()).select_from(seen).where(among)) or 0


# --- Sessions -----------------------------------------------------------------------------------------------------


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
    values = {
        "owner": session.owner,
        "id": session.id,
        "callback_url": session.callback_url,
        "metadata": dict(session.metadata),
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }
    _upsert(tx, sessions, values, ("owner", "id"))


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
    _upsert(tx, agent_policies, {"agent": agent, "policy": dict(policy), "updated_at": now}, ("agent",))


def agent_policy(conn: sa.Connection, agent: str) -> Mapping[str, JsonValue]:
    """What the agent set as its default, ``{}`` where it set nothing."""
    found = _AGENT_POLICY.scalar(conn, {"agent": agent})
    return {} if found is None else found


_AGENT_POLICY = Prepared(sa.select(agent_policies.c.policy).where(agent_policies.c.agent == sa.bindparam("agent")))


# --- API keys made on the command line ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An API key: its hash, and how many webhook secrets it has had (they are derived, never stored)."""

    name: str
    key_hash: str
    roles: tuple[str, ...]
    generation: int


def put_key(tx: Tx, key: StoredKey, now: datetime) -> None:
    values = {
        "name": key.name,
        "key_hash": key.key_hash,
        "roles": list(key.roles),
        "generation": key.generation,
        "created_at": now,
    }
    _upsert(tx, api_keys, values, ("name",))


def key_by_hash(conn: sa.Connection, key_hash: str) -> StoredKey | None:
    return _stored_key(conn.execute(sa.select(api_keys).where(api_keys.c.key_hash == key_hash)).first())


def key_by_name(conn: sa.Connection, name: str) -> StoredKey | None:
    return _stored_key(conn.execute(sa.select(api_keys).where(api_keys.c.name == name)).first())


def all_keys(conn: sa.Connection) -> list[StoredKey]:
    found = (_stored_key(row) for row in conn.execute(sa.select(api_keys).order_by(api_keys.c.name)))
    return [key for key in found if key is not None]


def _stored_key(row: Any) -> StoredKey | None:
    return None if row is None else StoredKey(row.name, row.key_hash, tuple(row.roles), row.generation)


# --- The installation ---------------------------------------------------------------------------------------------


def installation_id(tx: Tx) -> str:
    """A short name of this installation, made once. It is in PagerDuty's dedup keys."""
    return _made_once(tx, "id", uuid.uuid4().hex[:12])


def key_check(tx: Tx, check: str) -> bool:
    """Whether ``check``, which is derived from the secret key, is the one that this database was first used with."""
    return _made_once(tx, "key_check", check) == check


def _made_once(tx: Tx, name: str, value: str) -> str:
    """The stored value of that name; ``value`` where there was none."""
    wanted = sa.select(installation.c.value).where(installation.c.key == name)
    found: str | None = tx.conn.scalar(wanted)
    if found is not None:
        return found
    dialect = postgresql if tx.conn.dialect.name == "postgresql" else sqlite
    tx.conn.execute(dialect.insert(installation).values(key=name, value=value).on_conflict_do_nothing())
    return str(tx.conn.scalar(wanted))
