"""Where a resumed run begins: at the node after the one that suspended, or at that node again.

The engine's own resume is not used. It begins at the entry and skips every node that has a position in its record, for
as long as the run lasts: a gate in a loop would be skipped the second time round, and its question never asked. It
follows the edges of the skipped nodes by the state of now, which may lead elsewhere than they did. And it mints a new
``invocation_id``. So the run begins afresh at the right node, with the state that was stored, under the same id.

Pure, but for the author's edge out of the suspending node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from openarmature.graph import (
    END,
    CompiledGraph,
    EdgeException,
    ProjectionStrategy,
    RoutingError,
    StaticEdge,
    SubgraphNode,
)

from handraise.suspension import SuspensionRecordInvalid

Update = Mapping[str, Any]


def states_of(graph: CompiledGraph[Any], path: Sequence[str]) -> list[type[Any]]:
    """The state classes of the graphs along ``path``, the outermost first.

    Raises :class:`handraise.SuspensionRecordInvalid` if the graph has no such path (any more).
    """
    node = graph.nodes.get(path[0])
    if node is not None and len(path) == 1:
        return [graph.state_cls]
    if not isinstance(node, SubgraphNode):
        raise SuspensionRecordInvalid("foreign", f"The graph has no node {path[0]} that could go on.")
    return [graph.state_cls, *states_of(node.compiled, path[1:])]


def reentered(
    graph: CompiledGraph[Any], path: Sequence[str], states: Sequence[Any], *, after: bool
) -> CompiledGraph[Any] | None:
    """``graph`` with its entry behind the node at ``path`` (``after``) or at it; ``None`` if nothing comes after.

    ``states`` are those of the graphs along ``path``. The first pass through a subgraph on ``path`` begins with its
    stored state, at the node inside; each later pass begins at its own entry. Raises the engine's ``EdgeException``
    and ``RoutingError``.
    """
    name = path[0]
    node = graph.nodes[name]
    if len(path) > 1 and isinstance(node, SubgraphNode):
        inner = reentered(node.compiled, path[1:], states[1:], after=after)
        return replace(graph, entry=name, nodes={**graph.nodes, name: _resumed(node, inner, states[1])})
    target = _next(graph, name, states[0]) if after else name
    return None if target is None else replace(graph, entry=target)


def _next(graph: CompiledGraph[Any], name: str, state: Any) -> str | None:
    edge = graph.edges[name]
    if isinstance(edge, StaticEdge):
        target = edge.target
    else:
        try:
            target = edge.fn(state)
        except Exception as problem:
            raise EdgeException(source_node=name, cause=problem, recoverable_state=state) from problem
    if target is END:
        return None
    if not isinstance(target, str) or target not in graph.nodes:
        raise RoutingError(source_node=name, returned=target, recoverable_state=state)
    return target


def _resumed(node: SubgraphNode[Any, Any], inner: CompiledGraph[Any] | None, state: Any) -> SubgraphNode[Any, Any]:
    kept = (node.name, node.compiled, node.projection, node.middleware, node.subgraph_identity)
    if inner is None:
        return _Resumed(*kept, first=[_Finished(node, state)])
    return _Resumed(*kept, first=[replace(node, compiled=inner, projection=_Stored(node.projection, state))])


@dataclass(frozen=True)
class _Stored:
    """The author's projection, but that the subgraph begins with its stored state."""

    projection: ProjectionStrategy[Any, Any]
    state: Any

    def project_in(self, parent_state: Any, subgraph_state_cls: type[Any]) -> Any:
        return self.state

    def project_out(self, final_state: Any, parent_state: Any, subgraph_state_cls: type[Any]) -> Update:
        update: Update = self.projection.project_out(final_state, parent_state, subgraph_state_cls)
        return update


@dataclass(frozen=True)
class _Finished:
    """A subgraph whose last node has suspended: nothing is left but to hand its state out."""

    node: SubgraphNode[Any, Any]
    state: Any

    async def run(self, state: Any, context: Any = None) -> Update:
        update: Update = self.node.projection.project_out(self.state, state, self.node.compiled.state_cls)
        return update


@dataclass(frozen=True)
class _Resumed(SubgraphNode[Any, Any]):
    """``first`` is taken out by the first pass; after that the subgraph runs as its author made it."""

    first: list[SubgraphNode[Any, Any] | _Finished] = field(default_factory=list)

    async def run(self, state: Any, context: Any = None) -> Update:
        if self.first:
            return await self.first.pop().run(state, context)
        update: Update = await super().run(state, context)
        return update
