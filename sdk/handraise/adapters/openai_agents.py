"""OpenAI Agents SDK: a run's interruptions as questions to people.

``needs_approval`` pauses the run. Its ``RunState`` stays with the agent: whoever can write it could write anything into
it, so the tool itself uses the receipt up (:func:`approved`).

Source: https://openai.github.io/openai-agents-python/human_in_the_loop/; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from agents import FunctionTool, RunState, ToolApprovalItem
from agents.tool_context import ToolContext

from handraise.adapters.approvals import Approvals, Decision, PendingCall


def approved(tool: FunctionTool, approvals: Approvals) -> FunctionTool:
    """``tool``, of ``@function_tool``, as one that runs only after a person has approved this very call, and once.

    The run pauses before it. If its approval does not hold, the model reads why instead of the tool's result.
    """

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        call = _call(context.tool_call_id, tool.name, arguments)
        return await approvals.run(call, lambda: tool.on_invoke_tool(context, arguments))

    return dataclasses.replace(tool, needs_approval=True, on_invoke_tool=invoke)


def pending(state: RunState[Any, Any]) -> list[PendingCall]:
    """The calls at which the run waits."""
    return [_pending(item) for item in state.get_interruptions()]


async def decide(state: RunState[Any, Any], approvals: Approvals) -> list[Decision]:
    """Asks about every call at which the run waits, and tells ``state`` what has been decided: run it if any is not
    open. A call that is denied, or has run out of time, is rejected with the text for the model.
    """
    items = state.get_interruptions()
    decisions = await approvals.decisions([_pending(item) for item in items])
    for item, decision in zip(items, decisions, strict=True):
        if decision.approved:
            state.approve(item)
        elif not decision.is_open:
            state.reject(item, rejection_message=decision.told)
    return decisions


def _pending(item: ToolApprovalItem) -> PendingCall:
    if item.name is None or item.call_id is None:
        raise ValueError("Only calls of function tools can be asked about: this one has no name or no id.")
    return _call(item.call_id, item.name, item.arguments or "{}")


def _call(key: str, tool: str, arguments: str) -> PendingCall:
    return PendingCall(key, tool, json.loads(arguments or "{}"))
