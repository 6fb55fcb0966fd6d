"""A flow that asks for an answer: ``crewai_questions.py start|resume|emit|foreign FOLDER SESSION``.

Whatever would leave this machine is refused, and is a line of ``network``.
"""

from __future__ import annotations

import sys
from typing import Any

from common import FOLDER, SESSION, WHAT, run
from crewai.flow import Flow, human_feedback, listen, start
from crewai.flow.async_feedback import HumanFeedbackPending
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.flow.persistence import SQLiteFlowPersistence
from handraise.adapters import crewai
from handraise.adapters.approvals import Approvals
from pydantic import BaseModel


def only_here(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"socket.connect", "socket.getaddrinfo"}:
        to = arguments[1] if event == "socket.connect" else arguments
        if isinstance(to, tuple) and to[0] not in {"127.0.0.1", "localhost"}:
            with (FOLDER / "network").open("a") as network:
                network.write(f"{to}\n")
            raise PermissionError(f"The test opens no connection to {to[0]}.")


class State(BaseModel):
    id: str = SESSION


class Colours(Flow[State]):
    @start()
    @human_feedback(message="Which colour?", provider=crewai.People(), metadata={"choices": ["red", "blue"]})
    def ask(self) -> str:
        return "The wall of the kitchen."

    @listen(ask)
    def paint(self, result: HumanFeedbackResult) -> str:
        return crewai.said(result).model_dump_json(exclude={"handraise"})


class Emitting(Flow[State]):
    @start()
    @human_feedback(message="Which?", provider=crewai.People(), emit=["yes", "no"], llm="gpt-5")
    def ask(self) -> str:
        return "It."


async def main(approvals: Approvals) -> int:
    sys.addaudithook(only_here)
    persistence = SQLiteFlowPersistence(str(FOLDER / "state.db"))
    try:
        if WHAT in {"start", "emit"}:
            flow = (Colours if WHAT == "start" else Emitting)(persistence=persistence)
            await flow.kickoff_async(inputs={"id": SESSION})
        if WHAT == "foreign":
            outcome = await Colours.from_pending(SESSION, persistence).resume_async("blue, please")
        else:
            outcome = await crewai.resume(Colours, SESSION, persistence, approvals)
    except ValueError as refused:
        outcome = f"{type(refused).__name__}: {refused}"
    if isinstance(outcome, HumanFeedbackPending):
        return 1
    (FOLDER / "said").write_text(str(outcome))
    return 0


run(main)
