"""One turn of calls, for which LangChain's own middleware pauses; LangGraph's checkpointer keeps the agent."""

from __future__ import annotations

import json
import os
from typing import Any

from common import FOLDER, SESSION, WHAT, edited, refund, run
from handraise.adapters.approvals import Approvals
from handraise.adapters.langchain_hitl import ApprovedOnce, resume
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.tools import tool
from langchain_model import Scripted
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command


class Edits(AgentMiddleware[Any, Any, Any]):
    """Something in front edits the arguments, after they were approved."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(tool_call={**request.tool_call, "args": edited()}))


def run_in(mode: Any) -> None:
    """The program, in one of the middleware's two modes. ``INTERRUPT_ON`` configures the tool."""

    async def main(approvals: Approvals) -> int:
        config: Any = {"configurable": {"thread_id": SESSION}}
        theirs = HumanInTheLoopMiddleware(
            {"refund": json.loads(os.environ.get("INTERRUPT_ON", "true"))}, interrupt_mode=mode
        )
        middleware = [theirs, *([Edits()] if WHAT == "edit" else []), ApprovedOnce(approvals, {"refund"})]
        async with AsyncSqliteSaver.from_conn_string(str(FOLDER / "state.db")) as saver:
            agent: Any = create_agent(Scripted(), [tool(refund)], middleware=middleware, checkpointer=saver)
            if WHAT == "start":
                await agent.ainvoke({"messages": [("user", "Refund them.")]}, config)
            if WHAT == "other client":
                [waiting] = (await agent.aget_state(config)).interrupts
                edit = {"type": "edit", "edited_action": {"name": "refund", "args": edited()}}
                await agent.ainvoke(Command(resume={waiting.id: _answered(waiting, edit)}), config)
            state = await resume(agent, config, approvals)
            return _calls(state.interrupts)

    run(main)


def _answered(one: Any, decision: dict[str, Any]) -> dict[str, Any]:
    """As a client other than ours answers: somebody who edits a call in a user interface of LangChain."""
    return {"decisions": [decision]} if "action_requests" in one.value else decision


def _calls(interrupts: Any) -> int:
    """How many calls wait: a batch is one interrupt."""
    return sum(len(one.value.get("action_requests", [one])) for one in interrupts)
