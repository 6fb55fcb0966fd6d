"""A copy of a compiled graph in which every node's own function is a body, and every step looks at its gates.

The copy shares the original's state class, edges, observers and checkpointer. What it adds to each node is a middleware
outside all others; to a function, a wrapping inside all middleware; to a fan-out and to parallel branches, the watch
over instances that run side by side.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from openarmature.graph import (
    BranchSpec,
    CompiledGraph,
    FanOutNode,
    FunctionNode,
    Node,
    ParallelBranchesNode,
    SubgraphNode,
)

from handraise.openarmature.dispatches import Dispatch
from handraise.openarmature.steps import in_body, in_dispatch, in_instance, in_step

Update = Mapping[str, Any]
Function = Callable[[Any], Awaitable[Update]]


def copied(graph: CompiledGraph[Any]) -> CompiledGraph[Any]:
    """``graph`` as a :class:`handraise.openarmature.GraphRunner` runs it, subgraphs included."""
    nodes = {name: _node(node) for name, node in graph.nodes.items()}
    return replace(graph, nodes=nodes, middleware=(_step, *graph.middleware))


def _node(node: Node[Any]) -> Node[Any]:
    """A node of a kind that the engine does not have stays as it is: it can't suspend."""
    match node:
        case FunctionNode():
            return replace(node, fn=_body(node.fn))
        case SubgraphNode():
            return replace(node, compiled=copied(node.compiled))
        case FanOutNode():
            config = replace(
                node.config,
                subgraph=copied(node.config.subgraph),
                instance_middleware=(_instance, *node.config.instance_middleware),
            )
            return _FanOut(node.name, config, node.middleware)
        case ParallelBranchesNode():
            branches = {name: _branch(name, spec) for name, spec in node.branches.items()}
            return _Branches(node.name, branches, node.error_policy, node.errors_field, node.middleware)
    return node


def _branch(name: str, spec: BranchSpec[Any]) -> BranchSpec[Any]:
    watched = replace(spec, middleware=(_instance, *spec.middleware))
    if spec.subgraph is not None:
        return replace(watched, subgraph=copied(spec.subgraph))
    return watched if spec.call is None else replace(watched, call=_body(spec.call, name))


def _body(function: Function, branch: str | None = None) -> Function:
    async def body(state: Any) -> Update:
        return await in_body(lambda: function(state), branch)

    return body


async def _step(state: Any, next_: Function) -> Update:
    return await in_step(state, lambda: next_(state))


async def _instance(state: Any, next_: Function) -> Update:
    return await in_instance(lambda: next_(state))


@dataclass(frozen=True)
class _FanOut(FanOutNode[Any, Any]):
    async def run_with_context(self, state: Any, context: Any, **resolved: Any) -> Update:
        """The engine resolves count and concurrency before, and hands them in."""
        config = self.config
        items = None if config.items_field is None else len(getattr(state, config.items_field))
        dispatch = Dispatch(
            total=resolved["pre_resolved_count"] if items is None else items,
            collects=config.error_policy == "collect",
            width=resolved["pre_resolved_concurrency"][0],
        )
        return await in_dispatch(dispatch, lambda: super(_FanOut, self).run_with_context(state, context, **resolved))


@dataclass(frozen=True)
class _Branches(ParallelBranchesNode[Any]):
    async def run_with_context(self, state: Any, context: Any) -> Update:
        dispatch = Dispatch(len(self.dispatched_branches(state)), collects=self.error_policy == "collect")
        return await in_dispatch(dispatch, lambda: super(_Branches, self).run_with_context(state, context))
