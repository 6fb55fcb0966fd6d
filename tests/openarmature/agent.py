"""An agent whose graph waits for a person, as a process: runs or resumes one of the graphs below once, and ends.

It prints one JSON object: how the run ended, and which nodes' own functions ran in this process.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any

from handraise import Handraise, SignalDescriptor, SuspensionError, current_invocation_id, suspend
from handraise.openarmature import GraphRunner
from openarmature.graph import END, CompiledGraph, EndSentinel, ExplicitMapping, GraphBuilder, State, append
from openarmature.observability import current_correlation_id
from openarmature.observability import current_invocation_id as engines_invocation_id
from pydantic import Field

Update = Mapping[str, Any]
RAN: list[str] = []
IDS: set[tuple[str | None, ...]] = set()


class Refund(State):
    signal: str = ""
    text: str = ""
    approved: bool = False
    rounds: int = 0
    items: list[int] = Field(default_factory=lambda: [0, 1, 2])
    results: list[int] = Field(default_factory=list)
    log: Annotated[list[str], append] = Field(default_factory=list)


def ran(name: str) -> dict[str, Any]:
    RAN.append(name)
    IDS.add((current_invocation_id(), engines_invocation_id(), current_correlation_id()))
    return {"log": [name]}


async def draft(state: Refund) -> Update:
    return {**ran("draft"), "text": f"draft {state.rounds + 1}", "rounds": state.rounds + 1}


async def gate(state: Refund) -> Update:
    ran("gate")
    await suspend(SignalDescriptor(f"{state.signal}-{state.rounds}", {"description": state.text or "Send it?"}))


async def gate_again(state: Refund) -> Update:
    """Acts on the answer itself, after two questions."""
    if len(state.log) < 2:
        ran("gate")
        await suspend(SignalDescriptor(f"{state.signal}-{len(state.log)}"), mark_node_completed=False)
    return ran("acts")


async def send(state: Refund) -> Update:
    return ran("send")


def line() -> CompiledGraph[Refund]:
    return (
        GraphBuilder(Refund)
        .add_node("draft", draft)
        .add_node("gate", gate)
        .add_node("send", send)
        .add_edge("draft", "gate")
        .add_edge("gate", "send")
        .add_edge("send", END)
        .set_entry("draft")
        .compile()
    )


def entry() -> CompiledGraph[Refund]:
    """The first node suspends: the engine has nothing on record then."""
    builder = GraphBuilder(Refund).add_node("gate", gate).add_node("send", send).set_entry("gate")
    return builder.add_edge("gate", "send").add_edge("send", END).compile()


def last() -> CompiledGraph[Refund]:
    """The last node suspends: nothing is left to run."""
    builder = GraphBuilder(Refund).add_node("draft", draft).add_node("gate", gate).set_entry("draft")
    return builder.add_edge("draft", "gate").add_edge("gate", END).compile()


def again() -> CompiledGraph[Refund]:
    builder = GraphBuilder(Refund).add_node("gate", gate_again).add_node("send", send).set_entry("gate")
    return builder.add_edge("gate", "send").add_edge("send", END).compile()


def loop() -> CompiledGraph[Refund]:
    """A draft that was not approved is written again, and has to be approved again."""

    def judged(state: Refund) -> str | EndSentinel:
        return "send" if state.approved else "draft"

    return (
        GraphBuilder(Refund)
        .add_node("draft", draft)
        .add_node("gate", gate)
        .add_node("send", send)
        .add_edge("draft", "gate")
        .add_conditional_edge("gate", judged)
        .add_edge("send", END)
        .set_entry("draft")
        .compile()
    )


def nested() -> CompiledGraph[Refund]:
    """The gate stands in a graph within a graph, and the whole runs until something is approved."""

    def judged(state: Refund) -> str | EndSentinel:
        return "send" if state.approved else "outer"

    crossing = ExplicitMapping[Refund, Refund](
        inputs={"signal": "signal", "rounds": "rounds"},
        outputs={"approved": "approved", "rounds": "rounds", "log": "log"},
    )
    middle = GraphBuilder(Refund).add_subgraph_node("inner", line(), crossing).set_entry("inner")
    return (
        GraphBuilder(Refund)
        .add_subgraph_node("outer", middle.add_edge("inner", END).compile(), crossing)
        .add_node("send", send)
        .add_conditional_edge("outer", judged)
        .add_edge("send", END)
        .set_entry("outer")
        .compile()
    )


class Part(State):
    item: int = 0
    signal: str = ""
    approved: bool = False
    result: int = 0


def fan_out(mark_node_completed: bool) -> CompiledGraph[Refund]:
    """Instance 1 waits for a person, unless the outer state says already that it is approved."""

    async def part(state: Part) -> Update:
        RAN.append(f"part {state.item}")
        if state.item == 1 and not state.approved:
            await suspend(SignalDescriptor(state.signal), mark_node_completed)
        return {"result": state.item * 10}

    inner = GraphBuilder(Part).add_node("part", part).set_entry("part").add_edge("part", END).compile()
    return (
        GraphBuilder(Refund)
        .add_node("draft", draft)
        .add_fan_out_node(
            "parts",
            subgraph=inner,
            items_field="items",
            item_field="item",
            inputs={"signal": "signal", "approved": "approved"},
            collect_field="result",
            target_field="results",
        )
        .add_node("send", send)
        .add_edge("draft", "parts")
        .add_edge("parts", "send")
        .add_edge("send", END)
        .set_entry("draft")
        .compile()
    )


def fan_out_once() -> CompiledGraph[Refund]:
    return fan_out(True)


def fan_out_again() -> CompiledGraph[Refund]:
    return fan_out(False)


GRAPHS = {graph.__name__: graph for graph in (line, entry, last, again, loop, nested, fan_out_once, fan_out_again)}


async def main(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    async with Handraise() as people:
        try:
            outcome = await GraphRunner(GRAPHS[name](), people).invoke(**arguments)
        except SuspensionError as problem:
            return {"raised": problem.category, "reason": getattr(problem, "reason", None), "ran": RAN}
    told = {"outcome": outcome.outcome, "ran": RAN, "state": outcome.state.model_dump()}
    ids = {(outcome.invocation_id, outcome.invocation_id, outcome.correlation_id)}
    told |= {"invocation_id": outcome.invocation_id, "correlation_id": outcome.correlation_id, "same": ids >= IDS}
    if outcome.outcome != "completed":
        told |= {"node_name": outcome.node_name, "namespace": outcome.namespace, "signal": outcome.descriptor.signal_id}
    return told


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))))
