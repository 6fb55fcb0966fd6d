"""The callback of Claude Agent SDK by itself, as its ``WHAT`` says: prints what each call of it has returned."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from claude_agent_sdk import PermissionResult, ToolPermissionContext
from handraise import Handraise
from handraise.adapters.approvals import Approvals
from handraise.adapters.claude_agent import permission_callback


async def main(what: str) -> None:
    given: dict[str, Any] = {"command": {"ls"} if what == "no JSON" else "ls"}
    context = ToolPermissionContext(tool_use_id=None if what == "no id" else "toolu_1")
    async with Handraise() as people:
        callback = permission_callback(Approvals(people, "session-1"))
        calls = [asyncio.create_task(_returned(callback("Bash", given, context))) for _ in range(1 + (what == "twice"))]
        if what == "changed":
            while not [one async for one in people.list(session_id="session-1")]:
                await asyncio.sleep(0.05)
            given["command"] = "rm -rf /"
            print("changed", flush=True)
        print(json.dumps([list(one) for one in await asyncio.gather(*calls)]))


async def _returned(result: Any) -> tuple[str, str]:
    said: PermissionResult = await result
    return said.behavior, getattr(said, "message", "")


asyncio.run(main(sys.argv[1]))
