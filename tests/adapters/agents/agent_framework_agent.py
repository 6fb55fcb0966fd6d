"""One turn of calls; the session and what it waits for are a file of the agent's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from agent_framework import (
    Agent,
    AgentResponse,
    AgentSession,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    Message,
    tool,
)
from agent_framework_model import Scripted
from common import FOLDER, SESSION, WHAT, edited, refund, run
from handraise.adapters.agent_framework import approved, responses
from handraise.adapters.approvals import Approvals

STATE = FOLDER / "state.json"


class OnOtherArguments(FunctionMiddleware):
    """Something edits them on their way to the tool."""

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        context.arguments = edited()
        await call_next()


def save(session: AgentSession, response: AgentResponse) -> None:
    requests = [request.to_dict() for request in response.user_input_requests]
    STATE.write_text(json.dumps({"session": session.to_dict(), "requests": requests}))


async def main(approvals: Approvals) -> int:
    agent = Agent(
        Scripted(),
        tools=[approved(tool(refund), approvals)],
        middleware=[OnOtherArguments()] if WHAT == "edit" else [],
    )
    if WHAT == "start":
        session = AgentSession(session_id=SESSION)
        save(session, await agent.run("Refund them.", session=session))
    saved = json.loads(STATE.read_text())
    session = AgentSession.from_dict(saved["session"])
    requests = [Content.from_dict(one) for one in saved["requests"]]
    said = await responses(agent, requests, approvals)
    if not said:
        return len(requests)
    response = await agent.run(Message("user", said), session=session)
    save(session, response)
    return len(response.user_input_requests)


run(main)
