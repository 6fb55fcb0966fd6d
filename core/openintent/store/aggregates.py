"""Aggregates, computed when they are read: no row is written for them (RFC-0026 §2 rule 1).

Two statements for a whole page, whatever the number of parents and children.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from core.domain.intent import EdgeKind, IntentLink, IntentStatus
from core.openintent.domain.aggregate import MOST_NAMED, Aggregate, Few
from core.openintent.domain.propagation import ENDED
from core.openintent.store.tables import intent_edges
from core.store import intent_agents
from core.store.tables import intents

_COMPLETED = IntentStatus.COMPLETED.value
_OVER = sorted(status.value for status in ENDED)
_AT_WORK = sorted({IntentStatus.DRAFT.value, IntentStatus.ACTIVE.value})


def waits() -> sa.ColumnElement[bool]:
    """Whether an intent depends on one that is not completed, as a part of another statement."""
    upstream = intents.alias("upstream")
    edge = (intent_edges.c.intent_id == intents.c.id) & (intent_edges.c.kind == EdgeKind.DEPENDENCY)
    unmet = sa.exists().where(edge, upstream.c.id == intent_edges.c.upstream_id, upstream.c.status != _COMPLETED)
    return _has(IntentLink.DEPENDENCIES) & unmet


def is_ready() -> sa.ColumnElement[bool]:
    """A draft or active, with all dependencies completed."""
    return intents.c.status.in_(_AT_WORK) & ~waits()


def is_waiting() -> sa.ColumnElement[bool]:
    """Not ended, and blocked or with an uncompleted dependency."""
    return intents.c.status.not_in(_OVER) & ((intents.c.status == IntentStatus.BLOCKED.value) | waits())


def is_blocking() -> sa.ColumnElement[bool]:
    """Not completed, and with a dependent that has not ended."""
    dependent = intents.alias("dependent")
    edge = (intent_edges.c.upstream_id == intents.c.id) & (intent_edges.c.kind == EdgeKind.DEPENDENCY)
    waiting = sa.exists().where(edge, dependent.c.id == intent_edges.c.intent_id, dependent.c.status.not_in(_OVER))
    return (intents.c.status != _COMPLETED) & _has(IntentLink.DEPENDENTS) & waiting


def _has(link: IntentLink) -> sa.ColumnElement[bool]:
    """Most intents have no such link, and are not looked into further."""
    return intents.c.links.bitwise_and(int(link)) != 0


def of_children(conn: sa.Connection, parent_ids: Sequence[str], agent: str | None) -> Mapping[str, Aggregate]:
    """By parent, for parents with children. All children are counted; with ``agent`` only those that it may read are
    named."""
    if not parent_ids:
        return {}
    return _worked_out(conn, intents.c.parent_id, intents.c.parent_id.in_(parent_ids), agent)


def of_those(conn: sa.Connection, those: sa.ColumnElement[bool]) -> Aggregate:
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
    found = sa.union_all(kinds[0].where(those, is_blocking()), kinds[1].where(those, is_ready())).subquery()
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
