"""LangGraph: a graph's interrupts as questions to people, answered by their ids.

A node pauses by :func:`approval` before it acts, or by :func:`question` for an answer; any other ``interrupt`` is asked
about too. The graph is kept by its own checkpointer. :func:`resume` asks, and in another process goes on.

Source: https://docs.langchain.com/oss/python/langgraph/interrupts; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt, StateSnapshot, interrupt
from pydantic import BaseModel, JsonValue

from handraise.adapters.approvals import Approvals, Decision, PendingCall
from handraise.questions import Options
from handraise.response_models import flat_schema

Answer = TypeVar("Answer", bound=BaseModel)
Interrupts = Sequence[Interrupt[Any]]
_OURS = "handraise"
_APPROVAL: Literal["approval"] = "approval"


class NotDecided(BaseModel):
    """What :func:`question` returns if no person has answered. ``told`` is what a model should read."""

    not_decided: Literal["expired", "cancelled"]
    told: str


def approval(
    tool: str, arguments: Mapping[str, JsonValue], *, question: str | None = None, key: str | None = None
) -> PendingCall:
    """Pauses the graph until people have decided whether ``tool`` may run with ``arguments``.

    Returns the call for :meth:`Approvals.run`, which runs the tool or says why not. ``key`` is an id of the call, if it
    has one; else the interrupt's own is taken. The code of a node above this line runs again when the graph goes on.
    """
    said = interrupt({_OURS: _APPROVAL, "tool": tool, "arguments": dict(arguments), "question": question, "key": key})
    return PendingCall(str(said["key"]), tool, arguments, question)


def question(text: str, answer: type[Answer], **context: JsonValue) -> Answer | NotDecided:
    """Pauses the graph until a person has filled in the form of ``answer``, a flat pydantic model.

    ``context`` is shown beside the form.
    """
    schema = cast("type[Answer | NotDecided]", answer | NotDecided)
    answered: Answer | NotDecided = interrupt({"question": text, **context}, response_schema=schema)
    return answered


def pending(interrupts: Interrupts) -> list[PendingCall]:
    """What ``interrupts`` ask."""
    return [_pending(one) for one in interrupts]


async def resume(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, approvals: Approvals) -> StateSnapshot:
    """Asks about all at which ``graph`` waits, goes on with every answer that is there, and returns where it stands.

    The same after the first ``ainvoke``, and in another process: a graph that waits still is left as it is. It needs a
    checkpointer that has the asynchronous methods; if yours has none, use :func:`command`.
    """
    while True:
        state = await graph.aget_state(config)
        answers = await command(approvals, state.interrupts)
        if answers is None and (state.interrupts or not state.next):
            return state
        await graph.ainvoke(answers, config)  # without answers: a process has died between an answer and the end


async def command(approvals: Approvals, interrupts: Interrupts) -> Command[Any] | None:
    """Asks about every one of ``interrupts`` that nobody was asked about yet; returns the answers that are there, for
    ``graph.invoke``, and ``None`` as long as there are none.

    ``interrupts`` are those of ``graph.get_state(config).interrupts``. Raises :class:`InputTimeoutError` or
    :class:`InputCancelledError` for one that is neither :func:`approval` nor :func:`question`, and whose schema has no
    :class:`NotDecided`: its node could not tell this from an answer.
    """
    decided = await approvals.decisions(pending(interrupts))
    answers = {
        one.id: _answer(one, decision)
        for one, decision in zip(interrupts, decided, strict=True)
        if not decision.is_open
    }
    return Command(resume=answers) if answers else None


def _pending(one: Interrupt[Any]) -> PendingCall:
    value: Mapping[str, Any] = one.value if isinstance(one.value, Mapping) else {"question": str(one.value)}
    if value.get(_OURS) == _APPROVAL:
        return PendingCall(value["key"] or one.id, value["tool"], value["arguments"], value["question"])
    context = {name: part for name, part in value.items() if name not in {"question", "choices"}}
    asks: Options = {"context": context, **_answered_by(one, value)}
    return PendingCall(one.id, "", {}, str(value.get("question", "The graph waits for an answer.")), asks)


def _answered_by(one: Interrupt[Any], value: Mapping[str, Any]) -> Options:
    if isinstance(one.response_schema, dict):
        return {"response_type": "form", "form_schema": _form(one.response_schema)}
    if "choices" in value:
        return {"choices": value["choices"]}
    return {"response_type": "text"}


def _form(schema: dict[str, Any]) -> Mapping[str, JsonValue]:
    """The flat form of an answer; of ``Answer | NotDecided``, without the part that no person fills in."""
    definitions = schema.get("$defs", {})
    parts = [_resolved(part, definitions) for part in schema.get("anyOf", [schema])]
    [form] = [part for part in parts if "not_decided" not in part.get("properties", {})]
    return flat_schema({**form, "$defs": definitions}, form.get("title", "the answer"))


def _resolved(part: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    reference = part.get("$ref")
    return part if reference is None else dict(definitions[reference.removeprefix("#/$defs/")])


def _answer(one: Interrupt[Any], decision: Decision) -> JsonValue:
    """What ``interrupt()`` returns in the node."""
    record = decision.record
    if record is None or decision.call.asks is None:
        return {"key": decision.call.key}
    if record.resolution in {"expired", "cancelled"} and "not_decided" in str(one.response_schema):
        return {"not_decided": record.resolution, "told": decision.told}
    return record.result()
