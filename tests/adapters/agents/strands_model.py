"""A model that calls the tool once for each of the calls, then says that it is done."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from common import CALLS, tell
from strands.models import Model


class Scripted(Model):
    """Calls the tool, then says that it is done."""

    def update_config(self, **_: Any) -> None:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        blocks = [block for message in messages for block in message["content"]]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        tell({result["toolUseId"]: result["content"][0]["text"] for result in results})
        yield {"messageStart": {"role": "assistant"}}
        for start, delta in [({}, {"text": "Done."})] if results else map(_call, CALLS):
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}


def _call(call: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    arguments = json.dumps({"order": call["order"], "amount": call["amount"]})
    return {"toolUse": {"name": "refund", "toolUseId": call["id"]}}, {"toolUse": {"input": arguments}}
