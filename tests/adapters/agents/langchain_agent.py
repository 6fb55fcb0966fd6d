"""One turn of calls; LangGraph's checkpointer keeps the agent."""

from __future__ import annotations

from typing import Any

from common import FOLDER, SESSION, WHAT, edited, refund, run
from handraise.adapters.approvals import Approvals
from handraise.adapters.langchain import PeopleApprove
from handraise.adapters.langgraph import resume
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import tool
from langchain_model import Scripted
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


class Edits(AgentMiddleware[Any, Any, Any]):
    """Something in front edits the arguments."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(tool_call={**request.tool_call, "args": edited()}))


async def main(approvals: Approvals) -> int:
    config: Any = {"configurable": {"thread_id": SESSION}}
    edits = [Edits()] if WHAT == "edit" else []
    async with AsyncSqliteSaver.from_conn_string(str(FOLDER / "state.db")) as saver:
        middleware = [*edits, PeopleApprove(approvals, {"refund"})]
        agent: Any = create_agent(Scripted(), [tool(refund)], middleware=middleware, checkpointer=saver)
        if WHAT == "start":
            await agent.ainvoke({"messages": [("user", "Refund them.")]}, config)
        state = await resume(agent, config, approvals)
        return len(state.interrupts)


run(main)
