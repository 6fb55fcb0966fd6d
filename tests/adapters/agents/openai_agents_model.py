"""A model that calls the tool once for each of the calls, then says that it is done."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from common import CALLS, tell
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents import Model, ModelResponse, Usage, set_tracing_disabled

set_tracing_disabled(True)


class Scripted(Model):
    """Calls the tool, then says that it is done."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        outputs = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        tell({item["call_id"]: str(item["output"]) for item in outputs})
        output = _done() if outputs else [_call(call) for call in CALLS]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def _call(call: dict[str, Any]) -> ResponseFunctionToolCall:
    arguments = json.dumps({"order": call["order"], "amount": call["amount"]})
    return ResponseFunctionToolCall(arguments=arguments, call_id=call["id"], name="refund", type="function_call")


def _done() -> list[Any]:
    text = ResponseOutputText(text="Done.", type="output_text", annotations=[])
    return [ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")]
