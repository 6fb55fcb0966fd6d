"""LangChain: the interrupts of its own ``HumanInTheLoopMiddleware`` as questions to people, and the decisions back.

For agents that keep that middleware, in either ``interrupt_mode``. :func:`resume` asks, and goes on in another process.
:class:`ApprovedOnce` stands behind it and uses the receipt up, for the arguments with which a tool runs.

Source: ``langchain.agents.middleware.human_in_the_loop`` 1.5.2; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt, StateSnapshot
from pydantic import JsonValue

from handraise.adapters.approvals import Approvals, Decision, PendingCall
from handraise.adapters.langchain import PeopleApprove

Answer: TypeAlias = dict[str, JsonValue]
NO_PERSON = "No person has rejected it; LangChain writes so of every call that does not run."
_ASKS = "What do you answer to {tool}?"


class ApprovedOnce(PeopleApprove):
    """Each call of one of ``tools`` runs once, and only with the arguments that a person has approved.

    Stand behind ``HumanInTheLoopMiddleware``, last in the list. What another client of the interrupts has edited is
    refused. It needs ``ainvoke``. A tool with a ``when`` doesn't belong here: calls that nobody was asked about are
    refused.
    """

    def pending(self, call: ToolCall) -> PendingCall:
        """It has waited already."""
        return PendingCall(str(call["id"]), call["name"], call["args"])


@dataclass(frozen=True, slots=True)
class _Review:
    """One call that ``HumanInTheLoopMiddleware`` has asked about, and the decisions that it takes."""

    call: PendingCall
    allowed: frozenset[str]

    def answer(self, decision: Decision) -> Answer:
        """The decision that LangChain reads. Silence is none of them: it is told in words."""
        record = decision.record
        if self.call.asks is not None and record is not None and record.resolution == "responded":
            return {"type": "respond", "message": str(record.response)}
        if decision.approved:
            return {"type": "approve"}
        if "reject" not in self.allowed:
            return {"type": "respond", "message": decision.told}
        said_no = record is None or record.resolution == "responded"
        return {"type": "reject", "message": decision.told if said_no else f"{NO_PERSON} {decision.told}"}


async def resume(agent: Pregel[Any, Any, Any, Any], config: RunnableConfig, approvals: Approvals) -> StateSnapshot:
    """Asks about every call at which ``agent`` waits, goes on with the answers that are there, and returns where it
    stands.

    The same after the first ``ainvoke``, and in another process. All calls of a ``batched`` turn have to be decided
    before it goes on. Those of ``per_call`` are answered one at a time: if LangChain refuses one of several answers
    that come together, the tools of the others may have run although they still wait.

    Raises ``ValueError``, before anybody is asked, for a tool whose ``allowed_decisions`` can't tell a denial.
    """
    while True:
        state = await agent.aget_state(config)
        answers = await _answers(approvals, state)
        if not answers and (state.interrupts or not state.next):
            return state
        # Without answers: a process has died between an answer and the end.
        await agent.ainvoke(Command(resume=dict(answers[:1])) if answers else None, config)


async def _answers(approvals: Approvals, state: StateSnapshot) -> list[tuple[str, Any]]:
    """What there is to answer, each with the id of its interrupt."""
    waiting = [(one, _reviews(one, state)) for one in state.interrupts]
    decided = iter(await approvals.decisions([review.call for _, reviews in waiting for review in reviews]))
    answers: list[tuple[str, Any]] = []
    for one, reviews in waiting:
        told = [(review, next(decided)) for review in reviews]
        if any(decision.is_open for _, decision in told):
            continue
        given = [review.answer(decision) for review, decision in told]
        answers.append((one.id, {"decisions": given} if "action_requests" in one.value else given[0]))
    return answers


def _reviews(one: Interrupt[Any], state: StateSnapshot) -> list[_Review]:
    """Raises ``ValueError`` for an interrupt of something else."""
    value = one.value
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        return [_review(str(value["tool_call_id"]), value, _allowed(one.response_schema))]
    if isinstance(value, Mapping) and "action_requests" in value:
        allowed = [frozenset(config["allowed_decisions"]) for config in value["review_configs"]]
        keys = _keys(value["action_requests"], state)
        return [_review(*each) for each in zip(keys, value["action_requests"], allowed, strict=True)]
    raise ValueError(
        "The agent waits at an interrupt that is not of HumanInTheLoopMiddleware. "
        "handraise.adapters.langgraph.resume is for interrupts of your own."
    )


def _review(key: str, request: Mapping[str, Any], allowed: frozenset[str]) -> _Review:
    tool, arguments = request["name"], request["args"]
    question = _written(request)
    if "approve" in allowed and allowed & {"reject", "respond"}:
        return _Review(PendingCall(key, tool, arguments, question), allowed)
    if "approve" not in allowed and "respond" in allowed:
        asks = PendingCall(
            key, tool, {}, question or _ASKS.format(tool=tool), {"response_type": "text", "context": arguments}
        )
        return _Review(asks, allowed)
    raise ValueError(
        f"interrupt_on[{tool!r}] allows {', '.join(sorted(allowed)) or 'nothing'}. "
        'Put "approve" and "reject" into its allowed_decisions, or "respond" alone for a tool that asks the user.'
    )


def _written(request: Mapping[str, Any]) -> str | None:
    """The description, if somebody has written one: LangChain's own repeats the name and the arguments, which people
    see anyway."""
    description = request.get("description")
    repeats = f"\n\nTool: {request['name']}\nArgs: {request['args']}"
    return str(description) if description and not description.endswith(repeats) else None


def _keys(requests: Sequence[Mapping[str, Any]], state: StateSnapshot) -> Iterator[str]:
    """The ids of a batch's calls, which it leaves out: they stand in the model's message, in the same order."""
    said = next(one for one in reversed(state.values["messages"]) if isinstance(one, AIMessage))
    calls = iter(said.tool_calls)
    for request in requests:
        for call in calls:
            if (call["name"], call["args"]) == (request["name"], request["args"]):
                yield str(call["id"])
                break


def _allowed(schema: object) -> frozenset[str]:
    """The decisions that a ``per_call`` interrupt takes, by its JSON Schema."""
    if not isinstance(schema, Mapping):
        raise ValueError("A tool_approval has no response_schema: this version of LangChain was not tried.")
    if "discriminator" in schema:
        return frozenset(schema["discriminator"]["mapping"])
    return frozenset({schema["properties"]["type"]["const"]})
