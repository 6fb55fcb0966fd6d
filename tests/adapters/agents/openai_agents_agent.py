"""One turn of calls; the ``RunState`` is a file of the agent's."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from common import FOLDER, WHAT, edited, refund, run
from handraise.adapters.approvals import Approvals
from handraise.adapters.openai_agents import approved, decide
from openai_agents_model import Scripted

from agents import (
    Agent,
    FunctionTool,
    Runner,
    RunState,
    function_tool,
)

STATE = FOLDER / "state.json"


async def on_other_arguments(tool: FunctionTool, context: Any, arguments: str) -> Any:
    """Something has edited them on their way to the tool. The SDK itself refuses a state in which they are edited."""
    return await tool.on_invoke_tool(context, json.dumps(edited()))


async def main(approvals: Approvals) -> int:
    tool = approved(function_tool(refund), approvals)
    if WHAT == "edit":
        tool = replace(tool, on_invoke_tool=partial(on_other_arguments, tool))
    agent = Agent(name="refunds", model=Scripted(), tools=[tool])
    if WHAT == "start":
        STATE.write_text((await Runner.run(agent, "Refund them.")).to_state().to_string())
    state: Any = await RunState.from_string(agent, STATE.read_text())
    decisions = await decide(state, approvals)
    if all(decision.is_open for decision in decisions):
        return len(decisions)
    result = await Runner.run(agent, state)
    STATE.write_text(result.to_state().to_string())
    return len(result.interruptions)


run(main)
