"""A graph that needs an answer by a form: ``langgraph_forms.py page|ours|plain|text FOLDER SESSION``.

``page`` is the node that ``docs/how-to/frameworks/langgraph.md`` prints.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any, TypedDict

from handraise import Handraise
from handraise.adapters.approvals import Approvals
from handraise.adapters.langgraph import NotDecided, question, resume
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel


class Refund(BaseModel):
    amount: int
    note: str | None = None


class State(TypedDict):
    said: str


def ours(state: State) -> State:
    answer = question("How much?", Refund, order=7)
    return {"said": answer.told if isinstance(answer, NotDecided) else repr(answer)}


def page(state: State) -> Any:
    text = (Path(__file__).parents[3] / "docs/how-to/frameworks/langgraph.md").read_text()
    printed = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[1]
    node: dict[str, Any] = {**globals()}
    exec(printed, node)
    return node["ask"](state)


def plain(state: State) -> State:
    return {"said": repr(interrupt({"question": "How much?", "order": 7}, response_schema=Refund))}


def text(state: State) -> State:
    return {"said": repr(interrupt("What shall the mail say?"))}


async def main(node: Any, folder: Path, session: str) -> None:
    building = StateGraph(State)
    building.add_node("ask", node)
    building.add_edge(START, "ask")
    config: Any = {"configurable": {"thread_id": session}}
    async with AsyncSqliteSaver.from_conn_string(str(folder / "state.db")) as saver, Handraise() as people:
        graph = building.compile(saver)
        if not (await graph.aget_state(config)).created_at:
            await graph.ainvoke({"said": ""}, config)
        state = await resume(
            graph, config, Approvals(people, session, timeout_seconds=int((folder / "seconds").read_text()))
        )
        (folder / "said").write_text(state.values["said"])
        print(json.dumps({"waiting": len(state.interrupts)}))


asyncio.run(
    main({"page": page, "ours": ours, "plain": plain, "text": text}[sys.argv[1]], Path(sys.argv[2]), sys.argv[3])
)
