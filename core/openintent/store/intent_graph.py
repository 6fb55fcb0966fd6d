"""Reading the graph: an intent's children, ancestors, dependencies and dependents (RFC-0002).

Each answer is a part of a statement over ``intents``, so that counting, paging and an agent's own view are the same for
all. The database walks the graph, however deep it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from core.database.recordsets import IsFound
from core.domain.intent import EdgeKind, Intent, IntentStatus
from core.openintent.store import aggregates
from core.openintent.store.tables import intent_edges
from core.store import intent_agents
from core.store import intents as intent_rows
from core.store.tables import intents

_edge = intent_edges.c


@dataclass(frozen=True, slots=True)
class Selection:
    """Intents around one. ``those`` selects them; ``distance`` orders them if given, else the oldest come first."""

    those: sa.ColumnElement[bool]
    distance: sa.FromClause | None = None

    def readable_by(self, agent: str | None) -> Selection:
        """Those that ``agent`` may read; all if it is ``None``."""
        return self if agent is None else Selection(self.those & intent_agents.readable_by(agent), self.distance)


def children(intent_id: str) -> Selection:
    return Selection(intents.c.parent_id == intent_id)


def ready(intent_id: str) -> Selection:
    """Children that are ready for work."""
    return Selection((intents.c.parent_id == intent_id) & aggregates.is_ready())


def waiting(intent_id: str) -> Selection:
    """Children that are blocked, or have an uncompleted dependency."""
    return Selection((intents.c.parent_id == intent_id) & aggregates.is_waiting())


def dependencies(intent_id: str) -> Selection:
    mine = sa.select(_edge.upstream_id).where(_edge.intent_id == intent_id, _edge.kind == EdgeKind.DEPENDENCY)
    return Selection(intents.c.id.in_(mine))


def dependents(intent_id: str) -> Selection:
    mine = sa.select(_edge.intent_id).where(_edge.upstream_id == intent_id, _edge.kind == EdgeKind.DEPENDENCY)
    return Selection(intents.c.id.in_(mine))


def descendants(intent_id: str) -> Selection:
    parent = intents.alias("parent")
    below = sa.select(parent.c.id).where(parent.c.parent_id == intent_id).cte("below", recursive=True)
    below = below.union(sa.select(parent.c.id).join(below, parent.c.parent_id == below.c.id))
    return Selection(intents.c.id.in_(sa.select(below.c.id)))


def ancestors(intent_id: str) -> Selection:
    """Nearest first."""
    child = intents.alias("child")
    first = sa.select(child.c.parent_id.label("id"), sa.literal(1).label("distance")).where(child.c.id == intent_id)
    above = first.where(child.c.parent_id.is_not(None)).cte("above", recursive=True)
    further = sa.select(child.c.parent_id, above.c.distance + 1).join(above, child.c.id == above.c.id)
    above = above.union_all(further.where(child.c.parent_id.is_not(None)))
    return Selection(intents.c.id == above.c.id, above)


def reached(intent_id: str) -> Selection:
    """The intent itself, and everything that it waits for, directly or not: children and dependencies."""
    kinds = (EdgeKind.CHILD, EdgeKind.DEPENDENCY)
    ahead = sa.select(sa.literal(intent_id).label("id")).cte("ahead", recursive=True)
    ahead = ahead.union(
        sa.select(_edge.upstream_id).join(ahead, ahead.c.id == _edge.intent_id).where(_edge.kind.in_(kinds))
    )
    return Selection(IsFound(intents.c.id, sa.select(ahead.c.id).scalar_subquery()))


def others(of: Selection, intent_id: str) -> Selection:
    """``of`` without that intent."""
    return Selection(of.those & (intents.c.id != intent_id), of.distance)


def page(conn: sa.Connection, of: Selection, *, limit: int, offset: int) -> tuple[list[Intent], int]:
    """Some of them, whole, and the total."""
    total = count(conn, of)
    if offset >= total:
        return [], total
    ids = list(conn.scalars(_ordered(sa.select(intents.c.id).where(of.those), of).limit(limit).offset(offset)))
    found = intent_rows.those(conn, ids)
    return [found[one] for one in ids if one in found], total


def count(conn: sa.Connection, of: Selection) -> int:
    return conn.scalar(sa.select(sa.func.count(intents.c.id)).where(of.those)) or 0


class GraphNode(NamedTuple):
    """A graph's view of an intent."""

    id: str
    title: str
    status: IntentStatus
    parent_id: str | None
    depends_on: Sequence[str]
    ready: bool
    blocking: bool


def nodes(conn: sa.Connection, of: Selection, *, limit: int, offset: int) -> list[GraphNode]:
    columns = [intents.c[name] for name in ("id", "title", "status", "parent_id", "depends_on")]
    narrow = sa.select(*columns, aggregates.is_ready(), aggregates.is_blocking()).where(of.those)
    rows = conn.execute(_ordered(narrow, of).limit(limit).offset(offset)).all()
    return [
        GraphNode(one, title, IntentStatus(status), parent, on or (), bool(ready), bool(blocking))
        for one, title, status, parent, on, ready, blocking in rows
    ]


def ids(conn: sa.Connection, of: Selection) -> set[str]:
    return set(conn.scalars(sa.select(intents.c.id).where(of.those)))


def _ordered(statement: sa.Select[Any], of: Selection) -> sa.Select[Any]:
    if of.distance is not None:
        return statement.order_by(of.distance.c.distance)
    return statement.order_by(intents.c.created_at, intents.c.id)
