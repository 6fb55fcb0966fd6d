"""Edges between intents: which one waits for which, and why (RFC-0002, RFC-0024).

A transaction that adds or removes an edge holds both ends, so that a moving intent knows all its dependents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx, is_file
from core.database.locks import lock_number
from core.database.prepared import Prepared
from core.domain.intent import Dependent, EdgeKind, IntentStatus
from core.openintent.domain.propagation import ENDED, Upstreams
from core.openintent.store.tables import intent_edges
from core.store.intents import DEPENDENT, begin_again_with, dependent_of
from core.store.tables import intents

_COMPLETED = IntentStatus.COMPLETED.value
_OVER = sorted(status.value for status in ENDED)
_edge = intent_edges.c


def put(tx: Tx, intent_id: str, upstream_ids: Iterable[str], kind: str = EdgeKind.DEPENDENCY) -> None:
    """Add the edges that do not exist yet."""
    rows = [{"intent_id": intent_id, "upstream_id": upstream, "kind": kind} for upstream in dict.fromkeys(upstream_ids)]
    if rows:
        tx.conn.execute(intent_edges.insert(), rows)


def put_all(tx: Tx, edges: Iterable[tuple[str, str, str]]) -> None:
    """Add many that do not exist yet: dependent, upstream and kind."""
    rows = [{"intent_id": one, "upstream_id": upstream, "kind": kind} for one, upstream, kind in dict.fromkeys(edges)]
    if rows:
        tx.conn.execute(intent_edges.insert(), rows)


def remove(tx: Tx, intent_id: str, upstream_id: str, kind: str = EdgeKind.DEPENDENCY) -> bool:
    """False if there was none."""
    same = (_edge.intent_id == intent_id) & (_edge.upstream_id == upstream_id) & (_edge.kind == kind)
    return tx.conn.execute(intent_edges.delete().where(same)).rowcount > 0


def unmet(conn: sa.Connection, intent_id: str) -> Upstreams:
    """The upstreams of an intent that are not completed."""
    rows = conn.execute(
        sa.select(_edge.kind, intents.c.status, sa.func.count().label("number"))
        .select_from(intent_edges)
        .join(intents, intents.c.id == _edge.upstream_id)
        .where(_edge.intent_id == intent_id, intents.c.status != _COMPLETED)
        .group_by(_edge.kind, intents.c.status)
    )
    return Upstreams({(row.kind, IntentStatus(row.status)): row.number for row in rows})


def suspended_sources(conn: sa.Connection, intent_id: str) -> Sequence[str]:
    """The suspended intents whose outputs this intent takes."""
    found = sa.select(_edge.upstream_id).join(intents, intents.c.id == _edge.upstream_id)
    waits = intents.c.status == IntentStatus.SUSPENDED.value
    return list(conn.scalars(found.where(_edge.intent_id == intent_id, _edge.kind == EdgeKind.INPUT, waits)))


def unmet_beside(conn: sa.Connection, upstream_id: str) -> Mapping[str, Upstreams]:
    """For each dependent of ``upstream_id``: its other upstreams that are not completed, if it has any."""
    mine, theirs = intent_edges.alias("mine"), intent_edges.alias("theirs")
    rows = conn.execute(
        sa.select(theirs.c.intent_id, theirs.c.kind, intents.c.status, sa.func.count().label("number"))
        .select_from(mine)
        .join(theirs, theirs.c.intent_id == mine.c.intent_id)
        .join(intents, intents.c.id == theirs.c.upstream_id)
        .where(mine.c.upstream_id == upstream_id, mine.c.kind != EdgeKind.CHILD, theirs.c.kind != EdgeKind.CHILD)
        .where(intents.c.id != upstream_id, intents.c.status != _COMPLETED)
        .group_by(theirs.c.intent_id, theirs.c.kind, intents.c.status, mine.c.kind)
    )
    found: dict[str, dict[tuple[str, IntentStatus], int]] = defaultdict(dict)
    for row in rows:
        found[row.intent_id][row.kind, IntentStatus(row.status)] = row.number
    return {intent_id: Upstreams(those) for intent_id, those in found.items()}


def lock_dependents(tx: Tx, upstream_id: str) -> list[tuple[Dependent, list[str]]]:
    """The dependents of a locked intent that have not ended, locked too, each with the kinds of its edges. Parents are
    not among them.

    It never waits: if another transaction holds one of them, this one begins again with all of them
    (:class:`BeginAgain`).
    """
    values, found = {"upstream_id": upstream_id}, dict[str, tuple[Dependent, list[str]]]()
    for kind, *row in _DEPENDENTS_LOCKED.all(tx.conn, values):
        found.setdefault(row[0], (dependent_of(row), []))[1].append(kind)
    if not is_file(tx.conn):  # where one writer holds everything, nobody else holds one of them
        wanted = {one for (one,) in _LIVE_DEPENDENTS.all(tx.conn, values)}
        if not wanted <= found.keys():
            raise begin_again_with(tx, {upstream_id, *wanted})
    return list(found.values())


def _live_dependents(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    over: list[sa.ColumnElement[str]] = [sa.literal_column(f"'{status}'") for status in _OVER]
    edges = sa.select(*columns).join_from(intent_edges, intents, intents.c.id == _edge.intent_id)
    mine = (_edge.upstream_id == sa.bindparam("upstream_id")) & (_edge.kind != EdgeKind.CHILD)
    return edges.where(mine, sa.not_(intents.c.status.in_(over)))


_LIVE_DEPENDENTS = Prepared(_live_dependents(_edge.intent_id))
_DEPENDENTS_LOCKED = Prepared(_live_dependents(_edge.kind, *DEPENDENT).with_for_update(of=intents, skip_locked=True))


def waits_for(conn: sa.Connection, intent_ids: Sequence[str], other: str) -> bool:
    """Whether one of ``intent_ids`` is ``other``, or waits for it, directly or not."""
    ahead = sa.select(intents.c.id).where(intents.c.id.in_(intent_ids)).cte("ahead", recursive=True)
    ahead = ahead.union(sa.select(_edge.upstream_id).join(ahead, ahead.c.id == _edge.intent_id))
    return conn.scalar(sa.select(sa.literal(1)).where(ahead.c.id == other).limit(1)) is not None


_GRAPH = 0x48616E647267  # "Handrg"


def hold_graph(tx: Tx) -> None:
    """No other transaction adds an edge between existing intents, or tasks, until this one ends: so two additions
    can't make a cycle. It must be the first lock of the transaction."""
    lock_number(tx, _GRAPH)
