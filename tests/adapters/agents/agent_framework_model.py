"""A chat client that calls the tool once for each of the calls, then says that it is done."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from agent_framework import BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message
from common import CALLS, tell


class Scripted(FunctionInvocationLayer, BaseChatClient):  # type: ignore[type-arg]
    """Calls the tool, then says that it is done."""

    def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> Awaitable[ChatResponse[Any]]:
        return self._next(messages)

    async def _next(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        contents = [content for message in messages for content in message.contents]
        results = [content for content in contents if content.type == "function_result"]
        tell({str(result.call_id): str(result.result) for result in results})
        said = [Content.from_text("Done.")] if results else list(map(_call, CALLS))
        return ChatResponse(messages=[Message("assistant", said)])


def _call(call: dict[str, Any]) -> Content:
    arguments = {name: value for name, value in call.items() if name != "id"}
    return Content.from_function_call(call["id"], "refund", arguments=arguments)
