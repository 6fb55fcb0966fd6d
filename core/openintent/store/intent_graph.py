"""Reading the graph: an intent's children, ancestors, dependencies and dependents (RFC-0002), and their aggregates.

Each answer is a part of a statement over ``intents``, so that counting, paging and an agent's own view are the same for
all. The database walks the graph, however deep it is. Aggregates are computed when they are read: no row is written for
them (RFC-0026 §2 rule 1). They take two statements for a whole page, whatever the number of parents and children.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from core.database.recordsets import IsFound
from core.domain.intent import EdgeKind, Intent, IntentLink, IntentStatus
from core.openintent.domain.portfolio import MOST_NAMED, Aggregate, Few
from core.openintent.domain.propagation import ENDED
from core.openintent.store.tables import intent_edges
from core.store import intent_agents
from core.store import intents as intent_rows
from core.store.tables import intents

_COMPLETED = IntentStatus.COMPLETED.value
_OVER = sorted(status.value for status in ENDED)
_AT_WORK = sorted({IntentStatus.DRAFT.value, IntentStatus.ACTIVE.value})


def _waits() -> sa.ColumnElement[bool]:
    """Whether an intent depends on one that is not completed, as a part of another statement."""
    upstream = intents.alias("upstream")
    edge = (intent_edges.c.intent_id == intents.c.id) & (intent_edges.c.kind == EdgeKind.DEPENDENCY)
    unmet = sa.exists().where(edge, upstream.c.id == intent_edges.c.upstream_id, upstream.c.status != _COMPLETED)
    return _has(IntentLink.DEPENDENCIES) & unmet


def _is_ready() -> sa.ColumnElement[bool]:
    """A draft or active, with all dependencies completed."""
    return intents.c.status.in_(_AT_WORK) & ~_waits()


def _is_waiting() -> sa.ColumnElement[bool]:
    """Not ended, and blocked or with an uncompleted dependency."""
    return intents.c.status.not_in(_OVER) & ((intents.c.status == IntentStatus.BLOCKED.value) | _waits())


def _is_blocking() -> sa.ColumnElement[bool]:
    """Not completed, and with a dependent that has not ended."""
    dependent = intents.alias("dependent")
    edge = (intent_edges.c.upstream_id == intents.c.id) & (intent_edges.c.kind == EdgeKind.DEPENDENCY)
    waiting = sa.exists().where(edge, dependent.c.id == intent_edges.c.intent_id, dependent.c.status.not_in(_OVER))
    return (intents.c.status != _COMPLETED) & _has(IntentLink.DEPENDENTS) & waiting


def _has(link: IntentLink) -> sa.ColumnElement[bool]:
    """Most intents have no such link, and are not looked into further."""
    return intents.c.links.bitwise_and(int(link)) != 0


def aggregates_of(conn: sa.Connection, parent_ids: Sequence[str], agent: str | None) -> Mapping[str, Aggregate]:
    """By parent, for parents with children. All children are counted; with ``agent`` only those that it may read are
    named."""
    if not parent_ids:
        return {}
    return _worked_out(conn, intents.c.parent_id, intents.c.parent_id.in_(parent_ids), agent)


def aggregate_of_those(conn: sa.Connection, those: sa.ColumnElement[bool]) -> Aggregate:
    """Of the intents that match ``those``."""
    return _worked_out(conn, sa.literal("").label("one"), those, None).get("", Aggregate())


def _worked_out(
    conn: sa.Connection, group: sa.ColumnElement[str], those: sa.ColumnElement[bool], agent: str | None
) -> Mapping[str, Aggregate]:
    counts: dict[str, dict[IntentStatus, int]] = defaultdict(dict)
    numbers = sa.select(group, intents.c.status, sa.func.count()).where(those).group_by(sa.text("1"), intents.c.status)
    for of, status, number in conn.execute(numbers):
        counts[of][IntentStatus(status)] = number
    named = _named(conn, group, those if agent is None else those & intent_agents.readable_by(agent))
    return {of: Aggregate(found, named.get((of, 0), Few()), named.get((of, 1), Few())) for of, found in counts.items()}


def _named(
    conn: sa.Connection, group: sa.ColumnElement[str], those: sa.ColumnElement[bool]
) -> Mapping[tuple[str, int], Few]:
    """By group: blocking (0) and ready (1)."""
    kinds = [
        sa.select(group.label("of"), intents.c.id, intents.c.created_at, sa.literal_column(kind).label("kind"))
        for kind in ("0", "1")
    ]
    found = sa.union_all(kinds[0].where(those, _is_blocking()), kinds[1].where(those, _is_ready())).subquery()
    kind = (found.c.of, found.c.kind)
    ranked = sa.select(
        found.c.of,
        found.c.kind,
        found.c.id,
        sa.func.row_number().over(order_by=(found.c.created_at, found.c.id), partition_by=kind).label("place"),
        sa.func.count().over(partition_by=kind).label("number"),
    ).subquery()
    named: dict[tuple[str, int], list[str]] = defaultdict(list)
    totals: dict[tuple[str, int], int] = {}
    first = sa.select(ranked).where(ranked.c.place <= MOST_NAMED).order_by(ranked.c.place)
    for row in conn.execute(first):
        named[row.of, row.kind].append(row.id)
        totals[row.of, row.kind] = row.number
    return {key: Few(tuple(ids), totals[key]) for key, ids in named.items()}


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
    return Selection((intents.c.parent_id == intent_id) & _is_ready())


def waiting(intent_id: str) -> Selection:
    """Children that are blocked, or have an uncompleted dependency."""
    return Selection((intents.c.parent_id == intent_id) & _is_waiting())


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
    narrow = sa.select(*columns, _is_ready(), _is_blocking()).where(of.those)
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
