"""LangChain: a middleware that has people approve an agent's tool calls, and tells silence from a denial.

The pause is LangGraph's, so the agent needs a checkpointer, and :func:`handraise.adapters.langgraph.resume` goes on.

Source: https://docs.langchain.com/oss/python/langchain/middleware; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeAlias

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.types import Command

from handraise.adapters.approvals import Approvals, PendingCall
from handraise.adapters.langgraph import approval

Ran: TypeAlias = ToolMessage | Command[Any]


class PeopleApprove(AgentMiddleware[Any, Any, Any]):
    """Each call of one of ``tools`` waits for a person, and runs once, with the arguments that they have approved.

    What does not run is a ``ToolMessage`` with the status ``error`` that says why. Calls of one turn wait side by side.
    Stand last among middleware that changes arguments: people see what this one has got. It needs ``ainvoke``.
    """

    def __init__(self, approvals: Approvals, tools: Collection[str]) -> None:
        super().__init__()
        self.approvals, self.needing = approvals, frozenset(tools)

    def pending(self, call: ToolCall) -> PendingCall:
        """Waits for a person."""
        return approval(call["name"], call["args"], key=call["id"])

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Ran]]
    ) -> Ran:
        """Called by LangChain around each tool call."""
        call = request.tool_call
        if call["name"] not in self.needing:
            return await handler(request)
        ran = await self.approvals.run(self.pending(call), lambda: handler(request))
        if not isinstance(ran, str):
            return ran
        return ToolMessage(ran, name=call["name"], tool_call_id=call["id"], status="error")
