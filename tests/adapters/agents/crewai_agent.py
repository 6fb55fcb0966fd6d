"""A flow that asks about one call after the other; its pauses are in CrewAI's own SQLite file. No model is needed.

The test says what a model would read: ``told.json`` has what the step after the question has got.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from common import CALLS, FOLDER, SESSION, WHAT, edited, refund, run, tell
from crewai.flow import Flow, human_feedback, listen, or_, router, start
from crewai.flow.async_feedback import HumanFeedbackPending
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.flow.persistence import SQLiteFlowPersistence
from handraise.adapters import crewai
from handraise.adapters.approvals import Approvals
from pydantic import BaseModel

DATABASE = FOLDER / "state.db"


class State(BaseModel):
    id: str = SESSION
    at: int = 0


def refunds(approvals: Approvals) -> type[Flow[State]]:
    class Refunds(Flow[State]):
        @start()
        def begin(self) -> str:
            return "begun"

        @listen(or_(begin, "more"))
        @human_feedback(message="May it run?", provider=crewai.People())
        def ask(self) -> dict[str, Any]:
            call = CALLS[self.state.at]
            return crewai.approval("refund", {"order": call["order"], "amount": call["amount"]})

        @router(ask)
        async def act(self, result: HumanFeedbackResult) -> str:
            tell({CALLS[self.state.at]["id"]: await crewai.run(result, approvals, refund)})
            self.state.at += 1
            return "more" if self.state.at < len(CALLS) else "done"

    return Refunds


def edit() -> None:
    """Somebody edits what is kept of the pause."""
    with sqlite3.connect(DATABASE) as database:
        [(kept,)] = database.execute("SELECT context_json FROM pending_feedback").fetchall()
        context = json.loads(kept)
        context["method_output"]["arguments"] = edited()
        database.execute("UPDATE pending_feedback SET context_json = ?", (json.dumps(context),))


async def main(approvals: Approvals) -> int:
    flow_type, persistence = refunds(approvals), SQLiteFlowPersistence(str(DATABASE))
    if WHAT == "start":
        flow = flow_type(persistence=persistence, suppress_flow_events=True)
        await flow.kickoff_async(inputs={"id": SESSION})
    if WHAT == "edit":
        edit()
    if persistence.load_pending_feedback(SESSION) is None:
        return 0
    outcome = await crewai.resume(flow_type, SESSION, persistence, approvals)
    return int(isinstance(outcome, HumanFeedbackPending))


run(main)
