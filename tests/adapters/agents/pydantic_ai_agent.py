"""One turn of calls; the history is a file of the agent's. Started with ``inline`` the run itself waits."""

from __future__ import annotations

from common import CALLS, FOLDER, WHAT, edited, refund, run
from handraise.adapters.approvals import Approvals
from handraise.adapters.pydantic_ai import Approved, ApprovedInline, results
from pydantic import TypeAdapter
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.tools import ToolApproved
from pydantic_ai_model import Scripted

STATE, REQUESTS = FOLDER / "state.json", FOLDER / "state-requests.json"
WAITING: TypeAdapter[DeferredToolRequests] = TypeAdapter(DeferredToolRequests)


async def main(approvals: Approvals) -> int:
    capability = (ApprovedInline if WHAT == "inline" else Approved)(approvals)
    agent = Agent(Scripted(), output_type=[str, DeferredToolRequests], capabilities=[capability])
    agent.tool_plain(refund, requires_approval=True)

    @agent.tool_plain
    async def ask(question: str) -> str:
        """Ask the user."""
        raise CallDeferred(kind="question")

    if WHAT in {"start", "inline"}:
        result = await agent.run("Refund them.")
    else:
        requests = WAITING.validate_json(REQUESTS.read_bytes())
        decided = await results(requests, approvals)
        if decided is None:
            return len(requests.approvals) + len(requests.calls)
        if WHAT == "edit":
            decided.approvals[CALLS[0]["id"]] = ToolApproved(override_args=edited())
        history = ModelMessagesTypeAdapter.validate_json(STATE.read_bytes())
        result = await agent.run(message_history=history, deferred_tool_results=decided)
    if not isinstance(result.output, DeferredToolRequests):
        return 0
    STATE.write_bytes(result.all_messages_json())
    REQUESTS.write_bytes(WAITING.dump_json(result.output))
    await results(result.output, approvals)
    return len(result.output.approvals) + len(result.output.calls)


run(main)
