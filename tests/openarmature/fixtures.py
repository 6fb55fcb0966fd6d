"""The specification's suspension fixtures as graphs of the published engine.

A directive becomes what it says: a node that suspends calls the real ``suspend()``, a middleware that does so calls it
too, and the graph is built by the engine's own builder. Source: OpenArmature conformance-adapter §5.7.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import yaml
from handraise import SignalDescriptor, suspend
from openarmature.checkpoint import InMemoryCheckpointer
from openarmature.graph import (
    END,
    BranchSpec,
    CompiledGraph,
    ExplicitMapping,
    GraphBuilder,
    Middleware,
    State,
    append,
)
from pydantic import Field, create_model

TYPES: Mapping[str, Any] = {"bool": bool, "int": int, "string": str, "list": list[Any], "list<int>": list[int]}
Node = Callable[[Any], Awaitable[Mapping[str, Any]]]
Said = Mapping[str, Any]


def cases(folder: Path) -> dict[str, Said]:
    """Each case of the fixtures by the file's number and the case's name."""
    found = {}
    for file in sorted((folder / "suspension").glob("*.yaml")):
        for case in yaml.safe_load(file.read_text())["cases"]:
            found[f"{file.name[:3]}-{case['name']}"] = case
    assert found, "HANDRAISE_CONFORMANCE_DIR names a folder that has no suspension fixtures"
    return found


@dataclass
class Built:
    """The graph of a case. ``ran`` is filled with the names of the functions that ran, ``logged`` by its middleware."""

    graph: CompiledGraph[Any]
    ran: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)


def built(case: Said) -> Built:
    ran: list[str] = []
    logged: list[str] = []
    parts = {part["name"]: part for part in [case.get("subgraph")] if part is not None}
    parts |= case.get("subgraphs", {})
    inner = {name: _graph(name, part, {}, ran, logged) for name, part in parts.items()}
    graph = _graph("State", case, inner, ran, logged)
    if case.get("checkpointer") == "in_memory":
        graph.attach_checkpointer(InMemoryCheckpointer())
    return Built(graph, ran, logged)


def _graph(
    name: str, said: Said, inner: Mapping[str, CompiledGraph[Any]], ran: list[str], logged: list[str]
) -> CompiledGraph[Any]:
    builder = GraphBuilder(_state(name, said["state"]["fields"]))
    for node, directives in said["nodes"].items():
        wrapping = [_middleware(one, logged) for one in directives.get("wrap_with_middleware", [])]
        if "subgraph" in directives:
            mapping = ExplicitMapping(outputs=directives["outputs"])
            builder.add_subgraph_node(node, inner[directives["subgraph"]], mapping, middleware=wrapping)
        elif (fan_out := directives.get("fan_out")) is not None:
            options = {"collect_field": fan_out["item_field"], **fan_out, "subgraph": inner[fan_out["subgraph"]]}
            builder.add_fan_out_node(node, **options, middleware=wrapping)
        elif (parallel := directives.get("parallel_branches")) is not None:
            branches = {
                branch: BranchSpec(subgraph=inner[spec["subgraph"]], outputs=spec["outputs"])
                for branch, spec in parallel["branches"].items()
            }
            policy = parallel["error_policy"]
            builder.add_parallel_branches_node(node, branches=branches, error_policy=policy, middleware=wrapping)
        else:
            builder.add_node(node, _logging(node, _function(directives), ran), middleware=wrapping)
    for edge in said["edges"]:
        builder.add_edge(edge["from"], END if edge["to"] == "END" else edge["to"])
    return builder.set_entry(said["entry"]).compile()


def _state(name: str, fields: Said) -> type[State]:
    made: dict[str, Any] = {}
    for key, said in fields.items():
        kind = TYPES[said["type"]]
        reduced = Annotated[kind, append] if said.get("reducer") == "append" else kind
        made[key] = (reduced, Field(default_factory=lambda value=said["default"]: value))
    return create_model(name, __base__=State, **made)


def _function(said: Said) -> Node:
    if "suspend_with_descriptor" in said:
        descriptor = descriptor_of(said["suspend_with_descriptor"])

        async def suspends(state: Any) -> Mapping[str, Any]:
            await suspend(descriptor, resume=ANY_PAYLOAD)

        return suspends
    if (conditional := said.get("conditional_suspend")) is not None:
        descriptor = descriptor_of(conditional["descriptor"])
        other = said["on_other_indices"]["update_from_field"]
        [(target, source)] = [(key, value) for key, value in other.items() if key != "multiplier"]

        async def sometimes(state: Any) -> Mapping[str, Any]:
            if state.item_idx == conditional["suspend_on_item_index"]:
                await suspend(descriptor, resume=ANY_PAYLOAD)
            return {target: getattr(state, source) * other["multiplier"]}

        return sometimes
    update = said.get("update", said.get("update_pure"))
    assert update is not None, f"no directive that is known: {list(said)}"

    async def updates(state: Any) -> Mapping[str, Any]:
        return dict(update)

    return updates


ANY_PAYLOAD = {"payload_schema": {"type": "object"}}
"""The service checks an answer against the state's schema before it takes it. A fixture whose payload is wrong expects
the resume to refuse it, so the service is told to take any."""


def descriptor_of(said: Said) -> SignalDescriptor:
    return SignalDescriptor(said["signal_id"], said.get("metadata"))


def _logging(name: str, function: Node, ran: list[str]) -> Node:
    async def logged(state: Any) -> Mapping[str, Any]:
        ran.append(name)
        return await function(state)

    return logged


def _middleware(said: Said, logged: list[str]) -> Middleware:
    async def wraps(state: Any, next_: Any) -> Mapping[str, Any]:
        if (descriptor := said.get("pre_next_calls_suspend_with_descriptor")) is not None:
            await suspend(descriptor_of(descriptor))
        if "pre_log" in said:
            logged.append(said["pre_log"])
        update: Mapping[str, Any] = await next_(state)
        if "post_log" in said:
            logged.append(said["post_log"])
        return update

    return wraps
