"""The graph of intents: children and dependencies, as clients read and change them.

An agent sees only the intents that it may read. Source: RFC-0002; API.md §7; decision 0059.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.intent import Intent, IntentLink, check_version
from core.domain.people import Actor
from core.domain.vocabulary import Event
from core.errors import DependencyCycle, IntentNotActive, InvalidRequest, NotFound
from core.openintent.domain.portfolio import Aggregate, few
from core.openintent.domain.propagation import ENDED, Followed, dependency_added, upstreams_changed
from core.openintent.intents import access
from core.openintent.intents.access import Right
from core.openintent.intents.intents import Shown, reader, shown
from core.openintent.intents.writing import IntentLog
from core.openintent.store import intent_edges, intent_graph
from core.openintent.store.intent_graph import GraphNode, Selection
from core.ports import Clock
from core.store import intents

DEPENDENCY_ADDED = "dependency_added"
DEPENDENCY_REMOVED = "dependency_removed"
MOST_DEPENDENCIES = 1000
"""An intent says in each reply what it depends on."""

Around = Callable[[str], Selection]
"""Which intents around one are meant: a function of :mod:`core.openintent.store.intent_graph`."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A part of a list; ``total`` is the length of the whole."""

    shown: Sequence[Shown]
    total: int


class Edge(NamedTuple):
    """``start`` is a parent of ``end``, or ``end`` depends on it."""

    start: str
    end: str
    is_parent: bool


@dataclass(frozen=True, slots=True)
class IntentGraph:
    """An intent, its descendants, and all that these depend on. ``aggregate`` covers them without the intent itself;
    ``nodes`` may be a part, and ``edges`` are those that lead to them."""

    root_id: str
    nodes: Sequence[GraphNode]
    edges: Sequence[Edge]
    total: int
    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class Graphs:
    """Reads and changes graphs."""

    database: Database
    log: IntentLog
    clock: Clock

    async def around(self, intent_id: str, which: Around, by: Actor, *, limit: int, offset: int) -> Listed:
        """Raises :class:`NotFound` if ``by`` may not read the intent."""

        def job(conn: sa.Connection) -> Listed:
            access.read(conn, intent_id, by)
            selection = which(intent_id).readable_by(reader(by))
            found, total = intent_graph.page(conn, selection, limit=limit, offset=offset)
            return Listed(shown(conn, found, by), total)

        return await self.database.read(job)

    async def graph(self, intent_id: str, by: Actor, *, limit: int, offset: int) -> IntentGraph:
        """Raises :class:`NotFound` if ``by`` may not read the intent."""

        def job(conn: sa.Connection) -> IntentGraph:
            access.read(conn, intent_id, by)
            whole = intent_graph.reached(intent_id).readable_by(reader(by))
            nodes = intent_graph.nodes(conn, whole, limit=limit, offset=offset)
            if offset or len(nodes) == limit:
                there = intent_graph.ids(conn, whole)
                aggregate = intent_graph.aggregate_of_those(conn, intent_graph.others(whole, intent_id).those)
            else:
                there = {node.id for node in nodes}
                aggregate = _aggregate([node for node in nodes if node.id != intent_id])
            return IntentGraph(intent_id, nodes, _edges(nodes, there), len(there), aggregate)

        return await self.database.read(job)

    async def add_dependency(self, intent_id: str, dependency_id: str, by: Actor, version: int) -> Shown:
        """The intent waits for another from here on. A dependency that it has already changes nothing.

        Raises :class:`NotFound` or :class:`Forbidden` unless ``by`` governs the intent, :class:`VersionConflict`,
        :class:`IntentNotActive` if it has ended, :class:`InvalidRequest` if ``by`` may not read the other one, and
        :class:`DependencyCycle` if that one waits for this one.
        """

        def job(tx: Tx) -> Shown:
            seen = access.read(tx.conn, intent_id, by)  # before the lock: a caller without the right makes nobody wait
            intent_edges.hold_graph(tx)
            unlinked = () if seen.links & IntentLink.DEPENDENCIES else seen.depends_on  # made by an older version
            there, now = intents.lock_in_order(tx, [intent_id, dependency_id, *unlinked]), self.clock.now()
            intent = _governed(tx, there.get(intent_id), by, version)
            if dependency_id in intent.depends_on:
                return shown(tx.conn, [intent], by)[0]
            upstream = _upstream(tx, there.get(dependency_id), intent, dependency_id, by)
            mine = (
                () if intent.links & IntentLink.DEPENDENCIES else intent.depends_on
            )  # they may have been linked meanwhile
            upstreams = [dependency_id, *(one for one in mine if one in there)]
            intent_edges.put(tx, intent_id, upstreams)
            intents.link(tx, [intent_id], IntentLink.DEPENDENCIES)
            intents.link(tx, upstreams, IntentLink.DEPENDENTS)
            named = replace(
                intent, depends_on=(*intent.depends_on, dependency_id), links=intent.links | IntentLink.DEPENDENCIES
            )
            said = Event(DEPENDENCY_ADDED, {"dependency_id": dependency_id}, by.identity)
            return self._keep(tx, intent, dependency_added(named, upstream), said, now, by)

        return await self.database.write(job)

    async def remove_dependency(self, intent_id: str, dependency_id: str, by: Actor, version: int) -> Shown:
        """The intent no longer waits for that one. If we have blocked it and all others are completed, it becomes
        active.

        Raises as :meth:`add_dependency`, and :class:`NotFound` if it does not depend on that one.
        """

        def job(tx: Tx) -> Shown:
            there, now = intents.lock_in_order(tx, [intent_id, dependency_id]), self.clock.now()
            intent = _governed(tx, there.get(intent_id), by, version)
            if dependency_id not in intent.depends_on:
                raise NotFound("The intent does not depend on that one.")
            intent_edges.remove(tx, intent_id, dependency_id)
            named = replace(intent, depends_on=tuple(one for one in intent.depends_on if one != dependency_id))
            said = Event(DEPENDENCY_REMOVED, {"dependency_id": dependency_id}, by.identity)
            after = upstreams_changed(named, intent_edges.unmet(tx.conn, intent_id))
            return self._keep(tx, intent, after, said, now, by)

        return await self.database.write(job)

    def _keep(self, tx: Tx, before: Intent, after: Followed[Intent], said: Event, now: datetime, by: Actor) -> Shown:
        """Keep an intent whose dependencies have changed, one version on."""
        changed = replace(after.intent, version=before.version + 1, updated_at=now)
        intents.update(tx, changed)
        events = [said, *([after.event] if after.event else [])]
        return shown(tx.conn, [self.log.moved(tx, before.status, changed, now, *events)], by)[0]


def _governed(tx: Tx, intent: Intent | None, by: Actor, version: int) -> Intent:
    """The locked intent, for ``by`` to change what it depends on."""
    intent = access.permitted(tx.conn, intent, by, Right.GOVERN)
    check_version(intent, version)
    if intent.status in ENDED:
        raise IntentNotActive(f"The intent has ended; it is {intent.status}.")
    return intent


def _upstream(tx: Tx, found: Intent | None, intent: Intent, dependency_id: str, by: Actor) -> Intent:
    """The locked intent that ``intent`` may depend on."""
    if found is None or not access.may_read(tx.conn, dependency_id, by):
        raise InvalidRequest("There is no such intent.", path="dependency_id")
    if intent_edges.waits_for(tx.conn, [dependency_id], intent.id):
        raise DependencyCycle("That intent waits for this one, or is it.", path="dependency_id")
    if len(intent.depends_on) >= MOST_DEPENDENCIES:
        raise InvalidRequest(f"An intent depends on at most {MOST_DEPENDENCIES:,} others.", path="dependency_id")
    return found


def _aggregate(nodes: Sequence[GraphNode]) -> Aggregate:
    counts = Counter(node.status for node in nodes)
    blocking = [node.id for node in nodes if node.blocking]
    return Aggregate(counts, few(blocking), few([node.id for node in nodes if node.ready]))


def _edges(nodes: Sequence[GraphNode], there: set[str]) -> list[Edge]:
    """The edges that lead to ``nodes``, from any of ``there``."""
    edges = [Edge(node.parent_id, node.id, True) for node in nodes if node.parent_id in there and node.parent_id]
    return edges + [Edge(one, node.id, False) for node in nodes for one in node.depends_on if one in there]
