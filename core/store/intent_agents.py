"""Agents of an intent: the key that created it owns it, and others are its members (API.md §7)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import upsert
from core.store.tables import intent_agents, intents


@dataclass(frozen=True, slots=True)
class IntentAgent:
    """A member of an intent. ``agent_id`` is the name of its key; ``role`` is a word of the agents' own."""

    id: str
    intent_id: str
    agent_id: str
    role: str
    assigned_at: datetime


def put(tx: Tx, agent: IntentAgent) -> None:
    """Add a member, or give it another role."""
    made_at = sa.select(intents.c.created_at).where(intents.c.id == agent.intent_id).scalar_subquery()
    upsert(tx, intent_agents, {**asdict(agent), "intent_made_at": made_at}, ("intent_id", "agent_id"))


def insert_all(tx: Tx, agents: Sequence[IntentAgent]) -> None:
    """Add members of intents that have none."""
    if agents:
        made_at = sa.select(intents.c.created_at).where(intents.c.id == sa.bindparam("_of")).scalar_subquery()
        rows = [{**asdict(agent), "_of": agent.intent_id} for agent in agents]
        tx.conn.execute(intent_agents.insert().values(intent_made_at=made_at), rows)


def remove(tx: Tx, intent_id: str, agent_id: str) -> bool:
    """False if it was no member."""
    return tx.conn.execute(intent_agents.delete().where(_is(intent_id, agent_id))).rowcount > 0


def get(conn: sa.Connection, intent_id: str, agent_id: str) -> IntentAgent | None:
    row = conn.execute(sa.select(*_COLUMNS).where(_is(intent_id, agent_id))).first()
    return None if row is None else _record(row)


def of_intent(conn: sa.Connection, intent_id: str) -> Sequence[IntentAgent]:
    """The members in the order in which they were added."""
    return [_record(row) for row in _OF_INTENT.all(conn, {"intent_id": intent_id})]


_COLUMNS = [intent_agents.c[field.name] for field in fields(IntentAgent)]
_OF_INTENT = Prepared(
    sa.select(*_COLUMNS)
    .where(intent_agents.c.intent_id == sa.bindparam("intent_id"))
    .order_by(intent_agents.c.assigned_at, intent_agents.c.agent_id)
)


def belongs(conn: sa.Connection, intent_id: str, agent_id: str) -> bool:
    """Whether ``agent_id`` owns the intent, or is a member of it."""
    return bool(_BELONGS.scalar(conn, {"intent_id": intent_id, "agent_id": agent_id}))


def names(conn: sa.Connection, intent_id: str) -> Sequence[str]:
    """The keys whose intent it is: its owner and its members; nobody if there is no such intent."""
    found = _NAMES.all(conn, {"intent_id": intent_id})
    return tuple(dict.fromkeys(str(row.name) for row in found))


_NAMES = Prepared(
    sa.union_all(
        sa.select(intents.c.created_by.label("name")).where(intents.c.id == sa.bindparam("intent_id")),
        sa.select(intent_agents.c.agent_id).where(intent_agents.c.intent_id == sa.bindparam("intent_id")),
    )
    .subquery()
    .select()
)


_is_bound = (intent_agents.c.intent_id == sa.bindparam("intent_id")) & (
    intent_agents.c.agent_id == sa.bindparam("agent_id")
)
_BELONGS = Prepared(
    sa.select(
        (
            sa.exists().where(
                intents.c.id == sa.bindparam("intent_id"), intents.c.created_by == sa.bindparam("agent_id")
            )
            | sa.exists().where(_is_bound)
        ).label("belongs")
    )
)


def among(conn: sa.Connection, intent_ids: Collection[str], agent_id: str) -> Collection[str]:
    """Those of ``intent_ids`` that ``agent_id`` owns or is a member of."""
    return frozenset(conn.scalars(sa.select(intents.c.id).where(intents.c.id.in_(intent_ids), readable_by(agent_id))))


def intents_of(agent_id: str) -> sa.CompoundSelect[Any]:
    """The ids of the intents that ``agent_id`` owns or is a member of, as a part of another statement."""
    owned = sa.select(intents.c.id).where(intents.c.created_by == agent_id)
    return owned.union_all(sa.select(intent_agents.c.intent_id).where(intent_agents.c.agent_id == agent_id))


def newest_of(conn: sa.Connection, agent_id: str, status: str | None, most: int) -> Sequence[str]:
    """The ids of up to ``most`` of them, those made last first. Owned and joined ones are each read along an index, and
    put together here: a database would sort all that there are."""
    owned = sa.select(intents.c.created_at.label("made_at"), intents.c.id).where(intents.c.created_by == agent_id)
    joined = sa.select(intent_agents.c.intent_made_at.label("made_at"), intent_agents.c.intent_id.label("id"))
    joined = joined.where(intent_agents.c.agent_id == agent_id)
    if status is not None:
        owned = owned.where(intents.c.status == status)
        joined = joined.join(intents, intents.c.id == intent_agents.c.intent_id).where(intents.c.status == status)
    found: set[tuple[datetime | None, str]] = set()
    for some in (owned, joined):
        place = some.selected_columns
        newest = some.order_by(place.made_at.desc(), place.id.desc()).limit(most)
        found |= {(row.made_at, row.id) for row in conn.execute(newest)}
    unknown = datetime.min.replace(tzinfo=UTC)
    ordered = sorted(((made_at or unknown, one) for made_at, one in found), reverse=True)
    return [one for _, one in ordered[:most]]


def readable_by(agent_id: str) -> sa.ColumnElement[bool]:
    """Whether ``agent_id`` owns the row of ``intents`` or is a member of it, as a part of another statement: for few
    intents, where :func:`intents_of` lists all of an agent's."""
    member = (intent_agents.c.intent_id == intents.c.id) & (intent_agents.c.agent_id == agent_id)
    return (intents.c.created_by == agent_id) | sa.exists().where(member)


def _is(intent_id: str, agent_id: str) -> sa.ColumnElement[bool]:
    return (intent_agents.c.intent_id == intent_id) & (intent_agents.c.agent_id == agent_id)


def _record(row: Any) -> IntentAgent:
    return IntentAgent(**row._asdict())
