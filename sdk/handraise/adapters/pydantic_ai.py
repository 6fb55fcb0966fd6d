"""Pydantic AI: an agent's deferred tool calls as questions to people.

:class:`Approved` is a capability of the agent: a tool that needs approval uses its receipt up right before it runs. The
run ends with ``DeferredToolRequests``; :func:`results` asks, and later has what the next run needs. With
:class:`ApprovedInline` the run itself waits.

Source: https://pydantic.dev/docs/ai/deferred-tools/; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDefinition, ToolDenied

from handraise.adapters.approvals import Approvals, Decision, PendingCall
from handraise.questions import Options


class Approved(AbstractCapability[Any]):
    """Tools that need approval run once, and only with the arguments that a person has approved. Otherwise the model
    reads why not."""

    def __init__(self, approvals: Approvals) -> None:
        self.approvals = approvals

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, handler: Any
    ) -> Any:
        """Called by Pydantic AI around each tool. ``call`` has the arguments as they are validated now."""
        if tool_def.kind != "unapproved" and not ctx.tool_call_approved:
            return await handler(args)
        return await self.approvals.run(_approval(call), lambda: handler(args))


class ApprovedInline(Approved):
    """As :class:`Approved`, and the run waits for people instead of ending: the process has to live meanwhile."""

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Called by Pydantic AI with all deferred calls of a turn."""
        return _results(requests, await self.approvals.wait(pending(requests)))


def pending(requests: DeferredToolRequests) -> list[PendingCall]:
    """The approvals and the questions (``CallDeferred(kind="question")``) among ``requests``. A question's text is
    the ``question`` of its metadata or of its arguments, and so are its ``choices``; without those it is a text."""
    questions = [call for call in requests.calls if requests.kind(call.tool_call_id) == "question"]
    return [_approval(call) for call in requests.approvals] + [_question(call, requests) for call in questions]


async def results(requests: DeferredToolRequests, approvals: Approvals) -> DeferredToolResults | None:
    """Asks about each of ``requests`` that nobody was asked about yet; returns the results for the next
    ``agent.run`` once **all** of them have ended, and ``None`` before: Pydantic AI takes no part of them.

    Calls that are run outside of the agent are not in it: add yours.
    """
    decisions = await approvals.decisions(pending(requests))
    return None if any(decision.is_open for decision in decisions) else _results(requests, decisions)


def _results(requests: DeferredToolRequests, decisions: Sequence[Decision]) -> DeferredToolResults:
    approvals = [decision for decision in decisions if decision.call.asks is None]
    questions = [decision for decision in decisions if decision.call.asks is not None]
    return requests.build_results(
        approvals={one.call.key: ToolApproved() if one.approved else ToolDenied(one.told) for one in approvals},
        calls={one.call.key: _answer(one) for one in questions},
    )


def _answer(decision: Decision) -> object:
    """The person's answer; if there is none, what the model is to be told."""
    record = decision.record
    return record.response if record is not None and record.resolution == "responded" else decision.told


def _approval(call: ToolCallPart) -> PendingCall:
    return PendingCall(call.tool_call_id, call.tool_name, call.args_as_dict(raise_if_invalid=True))


def _question(call: ToolCallPart, requests: DeferredToolRequests) -> PendingCall:
    said = {**call.args_as_dict(raise_if_invalid=True), **requests.metadata.get(call.tool_call_id, {})}
    asks: Options = {"choices": said["choices"]} if "choices" in said else {"response_type": "text"}
    return PendingCall(call.tool_call_id, call.tool_name, {}, str(said.get("question", call.tool_name)), asks)
