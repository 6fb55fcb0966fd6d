"""A model that calls the tool once for each of the calls, then says that it is done."""

from __future__ import annotations

from typing import Any

from common import CALLS, tell
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def _next(messages: list[ModelMessage], _: Any) -> ModelResponse:
    requests = [one for one in messages if isinstance(one, ModelRequest)]
    returned = [part for one in requests for part in one.parts if isinstance(part, ToolReturnPart)]
    tell({part.tool_call_id: str(part.content) for part in returned})
    return ModelResponse(parts=[TextPart("Done.")] if returned else [_call(call) for call in CALLS])


def _call(call: dict[str, Any]) -> ToolCallPart:
    if "question" in call:
        return ToolCallPart("ask", {"question": call["question"]}, tool_call_id=call["id"])
    return ToolCallPart("refund", {"order": call["order"], "amount": call["amount"]}, tool_call_id=call["id"])


def Scripted() -> FunctionModel:
    return FunctionModel(_next)
