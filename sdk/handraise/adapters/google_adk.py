"""Google ADK: tool confirmations as questions to people.

:class:`ApprovedFunctionTool` requests a confirmation instead of running, and uses its receipt up right before it runs.
The session is kept by ADK's own session service. :func:`confirmations` asks, and later has the message that the run
goes on with.

Source: https://google.github.io/adk-docs/tools/confirmation/; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from google.adk.sessions.session import Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from handraise.adapters.approvals import Approvals, Decision, PendingCall

WAITS = "This call has not run yet: it waits for a person. Don't call it again meanwhile."

_OURS = "handraise"
_REQUEST = "adk_request_confirmation"


class ApprovedFunctionTool(FunctionTool):
    """``function`` as a tool that runs once, and only with the arguments that a person has approved. Otherwise the
    model reads why not."""

    def __init__(self, function: Callable[..., Any], approvals: Approvals) -> None:
        super().__init__(function)
        self._approvals = approvals

    async def check_require_confirmation(self, args: dict[str, Any], tool_context: ToolContext) -> bool:
        """Whether the session has a request for this call that is not answered yet.

        ADK takes an answer only if this or the tool's first response says so, and a process may have died between the
        request and that response. Before the request it is false: ADK's own request would say nothing of the arguments.
        """
        if tool_context.tool_confirmation is not None:
            return False
        requests = [call for event in tool_context.session.events for call in event.get_function_calls()]
        return any(asked.key == tool_context.function_call_id for asked in map(_requested, requests) if asked)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Called by ADK: first without a confirmation, then with what :func:`confirmations` has said."""
        call, said = PendingCall(tool_context.function_call_id or "", self.name, args), tool_context.tool_confirmation
        if said is None:
            request = {"key": call.key, **call.action}
            tool_context.request_confirmation(hint=call.text, payload={_OURS: request})
            tool_context.actions.skip_summarization = True
            return WAITS
        if not said.confirmed and isinstance(said.payload, str):
            return said.payload
        return await self._approvals.run(call, partial(super().run_async, args=args, tool_context=tool_context))


def pending(session: Session) -> list[tuple[str, PendingCall]]:
    """The calls at which ``session`` waits, each with the id of its request.

    A request has ended once its call has a response after the first answer. The response before it is :data:`WAITS`;
    without one after it, the process died in the tool.
    """
    waiting: dict[str, PendingCall] = {}
    answered: set[str] = set()
    for event in session.events:
        for made in event.get_function_calls():
            call = _requested(made)
            if call is not None and made.id:
                waiting[made.id] = call
        for told in event.get_function_responses():
            if event.author == "user":
                answered.add(told.id or "")
            else:
                ended = [key for key, call in waiting.items() if call.key == told.id and key in answered]
                for key in ended:
                    del waiting[key]
    return list(waiting.items())


async def confirmations(session: Session, approvals: Approvals) -> Content | None:
    """Asks about every call at which ``session`` waits that nobody was asked about yet. Returns what has been decided,
    as the ``new_message`` of ``Runner.run_async``; ``None`` if nothing has.
    """
    waiting = pending(session)
    decided = await approvals.decisions([call for _, call in waiting])
    parts = [
        Part(function_response=FunctionResponse(id=key, name=_REQUEST, response=_response(decision)))
        for (key, _), decision in zip(waiting, decided, strict=True)
        if not decision.is_open
    ]
    return Content(role="user", parts=parts) if parts else None


def _requested(made: FunctionCall) -> PendingCall | None:
    """The call that ``made`` asks a confirmation for, if it is one of ours."""
    if made.name != _REQUEST:
        return None
    payload = (made.args or {}).get("toolConfirmation", {}).get("payload")
    return PendingCall(**payload[_OURS]) if isinstance(payload, dict) and _OURS in payload else None


def _response(decision: Decision) -> dict[str, Any]:
    return {"confirmed": decision.approved, "payload": None if decision.approved else decision.told}
