"""CrewAI flows: ``@human_feedback`` as a question to people.

A step with :class:`People` as its provider pauses the flow, and its persistence keeps the pause. What the step returns
is asked about: :func:`approval` of a call, or its ``message``. :func:`resume` asks, and in another process goes on. The
next step reads what people have said with :func:`said`, and runs an approved call with :func:`run`.

Source: https://docs.crewai.com/en/learn/human-feedback-in-flows; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NoReturn, TypeVar, cast

from crewai.flow import Flow
from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.flow.persistence import FlowPersistence
from pydantic import BaseModel, ConfigDict, JsonValue, PrivateAttr, ValidationError

from handraise.adapters.approvals import Approvals, Decision, PendingCall
from handraise.questions import Options

Result = TypeVar("Result")
_OURS = "handraise"


class EmitRefused(ValueError):
    """The step has ``emit=``, with which a language model would decide what the person's answer means."""


class FlowAnswer(BaseModel):
    """What people have said to a step; the text that the flow gets as its feedback is the JSON of it.

    ``resolution`` is ``None`` if nobody was asked, since people have just denied the same. ``value`` is the answer, and
    ``None`` of silence. ``told`` is what a model should read.
    """

    model_config = ConfigDict(frozen=True)

    handraise: str
    """The key of the pause."""
    resolution: Literal["responded", "expired", "cancelled"] | None
    value: JsonValue = None
    reason: str | None = None
    by: str | None = None
    told: str


class People:
    """The ``provider`` of a step of which people are asked: the flow pauses there.

    It raises :class:`EmitRefused` if the step has ``emit=``. Nobody is asked before the pause has been saved.
    """

    def request_feedback(self, context: PendingFeedbackContext, flow: Flow[Any]) -> NoReturn:
        """Called by CrewAI when the step has returned."""
        if context.emit:
            raise EmitRefused(
                f"The step {context.method_name} has emit={list(context.emit)}: with it a language model decides what "
                "the person has meant, and an empty answer becomes the first outcome. Leave emit out: a @router after "
                "the step decides by said(self.last_human_feedback).value, and metadata={'choices': […]} has buttons."
            )
        raise HumanFeedbackPending(context=context)


def approval(tool: str, arguments: Mapping[str, JsonValue], *, question: str | None = None) -> dict[str, JsonValue]:
    """What a step returns to ask whether ``tool`` may run with ``arguments``; :func:`run` in the next step runs it."""
    return {_OURS: "approval", "tool": tool, "arguments": dict(arguments), "question": question}


def pending(flow: Flow[Any]) -> PendingCall | None:
    """The call or the question at which ``flow``, of ``from_pending``, waits."""
    return None if flow.pending_feedback is None else _pending(flow.pending_feedback)


async def resume(
    flow_type: type[Flow[Any]], flow_id: str, persistence: FlowPersistence, approvals: Approvals
) -> HumanFeedbackPending | Any:
    """Asks about the pause of the flow ``flow_id`` if nobody was asked yet, goes on with every answer that is there,
    and returns as ``kickoff`` does: what the flow waits for, or its output.

    A process that dies after the answer and before the next pause, or the end, goes on from the same answer.
    Raises ``ValueError`` if the flow does not wait: it never did, or it has ended.
    """
    while True:
        flow = flow_type.from_pending(flow_id, _Kept(persistence))
        context = cast("PendingFeedbackContext", flow.pending_feedback)
        [decision] = await approvals.decisions([_pending(context)])
        if decision.is_open:
            return HumanFeedbackPending(context=context)
        outcome = await flow.resume_async(_said(decision).model_dump_json())
        if not isinstance(outcome, HumanFeedbackPending):
            persistence.clear_pending_feedback(flow_id)
            return outcome


def said(result: HumanFeedbackResult) -> FlowAnswer:
    """What people have said. Raises ``ValueError`` if the flow went on with another feedback than :func:`resume`'s."""
    try:
        return FlowAnswer.model_validate_json(result.feedback)
    except ValidationError:
        raise ValueError(
            f"The feedback to {result.method_name} does not come from handraise.adapters.crewai: go on with resume(), "
            "and give the step provider=People()."
        ) from None


async def run(
    result: HumanFeedbackResult, approvals: Approvals, function: Callable[..., Awaitable[Result]]
) -> Result | str:
    """Runs ``function`` with the arguments of :func:`approval`, if a person has approved them, once. Otherwise returns
    what to tell the model, and nothing has run (:meth:`Approvals.run`)."""
    people = said(result)
    if not _is_approval(result.output):
        raise ValueError(f"The step {result.method_name} has not returned an approval().")
    call = _call(people.handraise, result.output)
    if people.resolution is None:
        return people.told
    return await approvals.run(call, lambda: function(**call.arguments))


def _pending(context: PendingFeedbackContext) -> PendingCall:
    key = (
        f"{context.method_name} {context.requested_at.isoformat()}"  # kept by the flow: a loop's next pause has another
    )
    if _is_approval(context.method_output):
        return _call(key, context.method_output)
    answered: dict[str, Any] = {name: context.metadata[name] for name in _ANSWERED_BY if name in context.metadata}
    asks = cast("Options", {"context": {"output": context.method_output}, **(answered or {"response_type": "text"})})
    return PendingCall(key, context.method_name, {}, context.message, asks)


_ANSWERED_BY = ("choices", "response_type", "form_schema")


def _is_approval(output: Any) -> bool:
    return isinstance(output, Mapping) and output.get(_OURS) == "approval"


def _call(key: str, output: Mapping[str, Any]) -> PendingCall:
    return PendingCall(key, output["tool"], output["arguments"], output["question"])


def _said(decision: Decision) -> FlowAnswer:
    record = decision.record
    if record is None:
        return FlowAnswer(handraise=decision.call.key, resolution=None, told=decision.told)
    responded = record.resolution == "responded"
    return FlowAnswer(
        handraise=decision.call.key,
        resolution=cast("Any", record.resolution),
        value=record.response if responded else None,
        reason=record.reason if responded else None,
        by=record.responded_by if responded else None,
        told=decision.told,
    )


class _Kept(FlowPersistence):
    """``inner``, but CrewAI does not clear a pause before the flow has gone on to the next, or to its end."""

    persistence_type: str = "HandraiseKept"
    _inner: FlowPersistence = PrivateAttr()

    def __init__(self, inner: FlowPersistence) -> None:
        super().__init__()
        self._inner = inner

    def init_db(self) -> None:
        self._inner.init_db()

    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel) -> None:
        self._inner.save_state(flow_uuid, method_name, state_data)

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        state: dict[str, Any] | None = self._inner.load_state(flow_uuid)
        return state

    def save_pending_feedback(
        self, flow_uuid: str, context: PendingFeedbackContext, state_data: dict[str, Any] | BaseModel
    ) -> None:
        self._inner.save_pending_feedback(flow_uuid, context, state_data)

    def load_pending_feedback(self, flow_uuid: str) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        kept: tuple[dict[str, Any], PendingFeedbackContext] | None = self._inner.load_pending_feedback(flow_uuid)
        return kept

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """:func:`resume` does it, once the flow has ended."""
