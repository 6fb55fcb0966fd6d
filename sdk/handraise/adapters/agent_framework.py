"""Microsoft Agent Framework: an agent's approval requests as questions to people.

:func:`approved` makes a tool one that needs approval, and that uses its receipt up itself right before it runs. The
session and the requests stay with the agent. :func:`responses` asks, and later has what the next run goes on with.

The framework takes no reason with a "no", and tells the model "rejected by user" of silence too. So every decided
request gets a "go on" (``approved=True``), which decides nothing: :class:`ApprovedTool` asks the service itself what a
person has said, and returns that instead of running. :func:`responses` gives none to a tool that doesn't.

Source: https://learn.microsoft.com/en-us/agent-framework/agents/tools/tool-approval; how to use it:
``docs/how-to/frameworks``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from agent_framework import Agent, Content, FunctionInvocationContext, FunctionTool
from agent_framework.exceptions import ToolException
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_jsonable_python

from handraise.adapters.approvals import NOT_APPROVED, Approvals, PendingCall


class ApprovedTool(FunctionTool):
    """A tool of :func:`approved`. Its body can be reached by :meth:`invoke` alone, which needs an unused approval."""

    def __init__(self, tool: FunctionTool, approvals: Approvals) -> None:
        super().__init__(
            name=tool.name,
            description=tool.description,
            approval_mode="always_require",
            kind=tool.kind,
            additional_properties=tool.additional_properties,
            func=tool,
            input_model=tool.input_model or tool.parameters(),
        )
        self._tool, self._approvals = tool, approvals

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise ToolException(f"{self.name} runs only as an agent's call that a person has approved.")

    async def invoke(
        self,
        *,
        arguments: BaseModel | Mapping[str, Any] | None = None,
        context: FunctionInvocationContext | None = None,
        tool_call_id: str | None = None,
        skip_parsing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Called by Agent Framework. ``arguments`` are those that the tool runs with."""
        if arguments is None:
            arguments = kwargs if context is None else context.arguments
        results: list[Any] = []

        async def body() -> None:
            options: dict[str, Any] = {"tool_call_id": tool_call_id, "skip_parsing": skip_parsing}
            results.append(await self._tool.invoke(arguments=arguments, context=context, **options))

        refused: str | None = NOT_APPROVED
        if tool_call_id is not None:
            refused = await self._approvals.run(_call(self, tool_call_id, arguments), body)
        if refused is None:
            return results[0]
        return refused if skip_parsing else [Content.from_text(refused)]


def approved(tool: FunctionTool, approvals: Approvals) -> ApprovedTool:
    """``tool``, of ``@tool``, as one that runs only after a person has approved this very call, and once.

    The run pauses before it. If its approval does not hold, the model reads why instead of the tool's result.
    """
    return ApprovedTool(tool, approvals)


def pending(agent: Agent[Any], requests: Sequence[Content]) -> list[PendingCall]:
    """The calls that ``requests``, a response's ``user_input_requests``, are about.

    Raises ``ValueError`` if one of them is not about a tool that the agent has by :func:`approved`.
    """
    tools = {one.name: one for one in agent.default_options.get("tools") or [] if isinstance(one, ApprovedTool)}
    return [_pending(request, tools) for request in requests]


async def responses(agent: Agent[Any], requests: Sequence[Content], approvals: Approvals) -> list[Content]:
    """Asks about each of ``requests`` that nobody was asked about yet; returns a response for each that has been
    decided, for ``agent.run(Message("user", …))`` with the same session: call it if there is any. What is still open
    is requested again by that run's response.

    Raises as :func:`pending` does: a response lets the tool look whether a person has approved it, and a tool that does
    not look would run.
    """
    decided = await approvals.decisions(pending(agent, requests))
    return [
        request.to_function_approval_response(approved=True)
        for request, decision in zip(requests, decided, strict=True)
        if not decision.is_open
    ]


def _pending(request: Content, tools: Mapping[str, ApprovedTool]) -> PendingCall:
    asked = request.function_call if request.type == "function_approval_request" else None
    tool = None if asked is None or asked.hosted else tools.get(str(asked.name))
    if asked is None or asked.call_id is None or tool is None:
        about = request.type if asked is None else asked.name
        raise ValueError(
            f"The request is not about a tool of approved(), but about {about}. Give the agent "
            "approved(tool, approvals) in place of that tool; or answer this request yourself, and leave it out here."
        )
    return _call(tool, asked.call_id, asked.parse_arguments() or {})


def _call(tool: FunctionTool, key: str, arguments: BaseModel | Mapping[str, Any]) -> PendingCall:
    """The framework runs a tool with what its model has made of the arguments: people are asked about the same."""
    given = arguments.model_dump(exclude_unset=True) if isinstance(arguments, BaseModel) else dict(arguments)
    shown: dict[str, JsonValue] = to_jsonable_python(given)
    if tool.input_model is not None:
        with suppress(ValidationError):  # then the framework does not run it either, and tells the model
            shown = tool.input_model.model_validate(given).model_dump(mode="json", exclude_unset=True)
    return PendingCall(key, tool.name, shown)
