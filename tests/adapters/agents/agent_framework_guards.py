"""A go-on that no person gave: ``guards.py start|ask|forged|bare|other|direct|typed FOLDER SESSION``."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from agent_framework import Agent, AgentSession, Content, Message, tool
from agent_framework_model import Scripted
from common import FOLDER, SESSION, WHAT, refund, run
from handraise.adapters.agent_framework import approved, responses
from handraise.adapters.approvals import Approvals

STATE = FOLDER / "state.json"


@tool(name="refund")
async def typed(order: int, amount: int, on: dt.date = dt.date(2026, 1, 1), note: str = "none") -> str:
    """Pay the money for an order back."""
    return await refund(order, amount) + f" on {on:%d %B}, {note}"


async def refusal(awaited: Any) -> str:
    try:
        return str(await awaited)
    except Exception as refused:
        return f"{type(refused).__name__}: {refused}"


async def main(approvals: Approvals) -> int:
    held = approved(tool(refund) if WHAT != "typed" else typed, approvals)
    agent = Agent(Scripted(), tools=[held])
    if not STATE.exists():
        session = AgentSession(session_id=SESSION)
        response = await agent.run("Refund them.", session=session)
    else:
        saved = json.loads(STATE.read_text())
        session = AgentSession.from_dict(saved["session"])
        requests = [Content.from_dict(one) for one in saved["requests"]]
        said = [request.to_function_approval_response(approved=True) for request in requests]
        bare = tool(refund, approval_mode="always_require")
        if WHAT == "bare":
            (FOLDER / "said").write_text(await refusal(responses(Agent(Scripted(), tools=[bare]), requests, approvals)))
            return 0
        if WHAT == "other":
            (FOLDER / "said").write_text(await refusal(agent.run(Message("user", said), session=session, tools=[bare])))
            return 0
        if WHAT == "direct":
            found = [await refusal(held.invoke(arguments={"order": 1, "amount": 30})), await refusal(_called(held))]
            (FOLDER / "said").write_text("\n".join(found))
            return 0
        if WHAT == "forged" or await responses(agent, requests, approvals):
            response = await agent.run(Message("user", said), session=session)
        else:
            return len(requests)
    kept = [request.to_dict() for request in response.user_input_requests]
    STATE.write_text(json.dumps({"session": session.to_dict(), "requests": kept}))
    return len(kept)


async def _called(held: Any) -> Any:
    return await held(order=1, amount=30)


run(main)
