"""A graph that runs one node for each call, all of them at once."""

from __future__ import annotations

import operator
import os
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, TypedDict

from common import CALLS, FOLDER, SESSION, WHAT, edited, refund, run, tell
from handraise.adapters.approvals import Approvals
from handraise.adapters.langgraph import approval, resume
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


class State(TypedDict):
    calls: list[dict[str, Any]]
    told: Annotated[list[dict[str, str]], operator.add]


def checkpoints() -> AbstractAsyncContextManager[Any]:
    if url := os.environ.get("CHECKPOINTS"):
        return AsyncPostgresSaver.from_conn_string(url)
    return AsyncSqliteSaver.from_conn_string(str(FOLDER / "state.db"))


async def main(approvals: Approvals) -> int:
    async def node(call: dict[str, Any]) -> dict[str, Any]:
        arguments = {"order": call["order"], "amount": call["amount"]}
        pending = approval("refund", arguments, question=f"Refund order {call['order']}?")
        return {"told": [{call["id"]: await approvals.run(pending, lambda: refund(**arguments))}]}

    building = StateGraph(State)
    building.add_node("refund", node)
    building.add_conditional_edges(START, lambda state: [Send("refund", call) for call in state["calls"]], ["refund"])
    building.add_edge("refund", END)
    config: Any = {"configurable": {"thread_id": SESSION}}
    async with checkpoints() as saver:
        await saver.setup()
        graph = building.compile(saver)
        if WHAT == "start":
            await graph.ainvoke({"calls": CALLS, "told": []}, config)
        if WHAT == "edit":
            await graph.aupdate_state(config, {"calls": [{**CALLS[0], **edited()}]}, as_node=START)
            await graph.ainvoke(None, config)
        state = await resume(graph, config, approvals)
        for said in state.values["told"]:
            tell(said)
        return len(state.interrupts)


run(main)
