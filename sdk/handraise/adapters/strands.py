"""Strands Agents: an agent's interrupts before its tools as questions to people.

:class:`ApprovedTools` is a plugin: each of its tools interrupts the agent, and uses its receipt up right before it
runs. The agent is kept by its own session manager. :func:`responses` asks, and later has what the agent goes on with.

Source: https://strandsagents.com/docs/user-guide/concepts/interrupts/; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection

from strands import Agent
from strands.middleware import ExecuteToolContext, ExecuteToolStage, MiddlewareNext
from strands.plugins import Plugin
from strands.types.events import ToolResultEvent, TypedEvent
from strands.types.interrupt import InterruptResponseContent
from strands.types.tools import ToolResult, ToolUse

from handraise.adapters.approvals import Approvals, PendingCall

_OURS = "handraise"


class ApprovedTools(Plugin):
    """``tools``, by their names, run once, and only with the arguments that a person has approved. Otherwise the model
    reads why not."""

    def __init__(self, approvals: Approvals, tools: Collection[str]) -> None:
        super().__init__()
        self.approvals, self._needing_approval = approvals, frozenset(tools)

    @property
    def name(self) -> str:
        return _OURS

    def init_agent(self, agent: Agent) -> None:
        """Called by Strands with the agent that has this plugin."""
        agent.add_middleware(ExecuteToolStage, self._around_tool)

    async def _around_tool(
        self, context: ExecuteToolContext, following: MiddlewareNext[ExecuteToolContext, TypedEvent]
    ) -> AsyncGenerator[TypedEvent, None]:
        use = context.tool_use
        if use["name"] not in self._needing_approval:
            async for event in following(context):
                yield event
            return
        call = _call(use)
        context.interrupt(
            _OURS, reason={"key": call.key, **call.action}
        )  # ends the run here, until there is a response
        events: list[TypedEvent] = []

        async def body() -> None:
            events.extend([event async for event in following(context)])

        refused = await self.approvals.run(call, body)
        for event in events if refused is None else [_told(use, refused)]:
            yield event


def pending(agent: Agent) -> list[tuple[str, PendingCall]]:
    """The calls at which ``agent`` waits, each with the id of its interrupt."""
    state = agent.take_snapshot(include=["interrupt_state"]).data["interrupt_state"]
    return [
        (key, PendingCall(**said["reason"]))
        for key, said in state["interrupts"].items()
        if said["name"] == _OURS and said["response"] is None
    ]


async def responses(agent: Agent, approvals: Approvals) -> list[InterruptResponseContent]:
    """Asks about every call at which ``agent`` waits that nobody was asked about yet; returns the responses that are
    there, for ``agent.invoke_async``: call it if there is any. What is still open interrupts the agent again.
    """
    waiting = pending(agent)
    decided = await approvals.decisions([call for _, call in waiting])
    return [
        {"interruptResponse": {"interruptId": key, "response": decision.told}}
        for (key, _), decision in zip(waiting, decided, strict=True)
        if not decision.is_open
    ]


def _call(use: ToolUse) -> PendingCall:
    return PendingCall(use["toolUseId"], use["name"], use["input"])


def _told(use: ToolUse, text: str) -> ToolResultEvent:
    """``text`` in place of the tool's result."""
    result: ToolResult = {"toolUseId": use["toolUseId"], "status": "error", "content": [{"text": text}]}
    return ToolResultEvent(result)
