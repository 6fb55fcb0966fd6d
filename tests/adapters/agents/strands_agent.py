"""One turn of calls; the session is Strands' own, in files."""

from __future__ import annotations

from common import FOLDER, SESSION, WHAT, edited, refund, run
from handraise.adapters.approvals import Approvals
from handraise.adapters.strands import ApprovedTools, pending, responses
from strands import Agent, tool
from strands.middleware import ExecuteToolContext, ExecuteToolStage
from strands.session import FileSessionManager
from strands_model import Scripted


def on_other_arguments(context: ExecuteToolContext) -> ExecuteToolContext:
    """Something edits them on their way to the tool."""
    return context.replace(tool_use={**context.tool_use, "input": edited()})


async def main(approvals: Approvals) -> int:
    sessions = FileSessionManager(SESSION, storage_dir=str(FOLDER / "state"))
    plugin = ApprovedTools(approvals, ["refund"])
    agent = Agent(
        Scripted(),
        agent_id="refunds",
        tools=[tool(refund)],
        plugins=[plugin],
        session_manager=sessions,
        callback_handler=None,
    )
    if WHAT == "edit":
        agent.add_middleware(ExecuteToolStage.Input, on_other_arguments)
    if WHAT == "start":
        await agent.invoke_async("Refund them.")
    said = await responses(agent, approvals)
    if said:
        await agent.invoke_async(said)
    return len(pending(agent))


run(main)
