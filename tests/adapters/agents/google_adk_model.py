"""A model that calls the tool once for each of the calls, then says that it is done."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from common import CALLS, tell
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part

USED = GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1, total_token_count=2)


class Scripted(BaseLlm):
    """Calls the tool, then says that it is done."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        results = [part.function_response for part in parts if part.function_response]
        tell({str(result.id): str((result.response or {}).get("result")) for result in results})
        said = [Part(text="Done.")] if results else [Part(function_call=_call(call)) for call in CALLS]
        yield LlmResponse(content=Content(role="model", parts=said), usage_metadata=USED)


def _call(call: dict[str, Any]) -> FunctionCall:
    return FunctionCall(id=call["id"], name="refund", args={"order": call["order"], "amount": call["amount"]})
