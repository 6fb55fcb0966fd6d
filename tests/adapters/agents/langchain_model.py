"""A model that calls the tool once for each of the calls, then says that it is done."""

from __future__ import annotations

from typing import Any

from common import CALLS, tell
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        returned = [message for message in messages if isinstance(message, ToolMessage)]
        tell({message.tool_call_id: str(message.content) for message in returned})
        said = AIMessage("Done.") if returned else AIMessage("", tool_calls=[_call(call) for call in CALLS])
        return ChatResult(generations=[ChatGeneration(message=said)])


def _call(call: dict[str, Any]) -> Any:
    return {"id": call["id"], "name": "refund", "args": {"order": call["order"], "amount": call["amount"]}}
