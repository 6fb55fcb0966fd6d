"""Hooks as processes: what a coding agent's program would start, with its files in a folder of the test."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handraise.coding_agents.hook_file import HookFile, HookSettings
from handraise.coding_agents.program_settings import OR_NO

from tests.world import World

HERE = Path(__file__).parent
PATIENCE = 60


@dataclass(frozen=True)
class Said:
    """How a hook has ended."""

    status: int
    out: str
    err: str

    @property
    def verdict(self) -> Any:
        """What the program reads, without the wrapping."""
        said = json.loads(self.out)
        inner = said.get("hookSpecificOutput", said)
        return inner["decision"] if isinstance(inner.get("decision"), dict) else inner

    @property
    def is_allowed(self) -> bool:
        """As the program takes it: nothing but exit 2 and an explicit no keeps the tool from running."""
        if self.status == 2:
            return False
        try:
            said = self.verdict
        except ValueError:
            return True
        return "deny" not in {said.get("behavior"), said.get("permissionDecision"), said.get("decision")}


class Started:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ended(self) -> Said:
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Said(self.process.returncode, out.decode(), err.decode())


@dataclass(frozen=True)
class Hooks:
    """The hooks of one user: the files are in ``folder``."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "config" / "hook.toml"

    @property
    def runs(self) -> Path:
        return self.folder / "deferred"

    def log_in(self, url: str, key: str, **more: Any) -> None:
        HookFile(self.file).write(HookSettings(url=url, api_key=key, **more))

    def words(self, program: str, seconds: int, *more: str) -> list[str]:
        script = str(HERE / "hook_program.py")
        return [sys.executable, "-I", script, program, str(seconds), str(self.file), str(self.runs), *more]

    def command(self, program: str, seconds: int, *more: str) -> str:
        """As ``install`` writes it."""
        return f"{shlex.join(self.words(program, seconds, *more))} {OR_NO}"

    async def start(
        self,
        call: Mapping[str, Any] | bytes,
        program: str = "claude-code",
        seconds: int = 60,
        *more: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Started:
        """Begin to answer ``call``."""
        process = await asyncio.create_subprocess_exec(
            *self.words(program, seconds, *more),
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(call if isinstance(call, bytes) else json.dumps(call).encode())
        await process.stdin.drain()
        process.stdin.close()
        return Started(process)

    async def run(self, call: Mapping[str, Any] | bytes, *arguments: Any, **more: Any) -> Said:
        return await (await self.start(call, *arguments, **more)).ended()


def permission(command: str = "rm -rf build", **more: Any) -> dict[str, Any]:
    """A call as Claude Code and Codex write it where they would ask their user."""
    return {
        "session_id": "session-1",
        "cwd": "/srv/shop",
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Cleans up"},
        **more,
    }


def before_use(command: str = "rm -rf build", call_id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    """A call as they write it before every use of a tool."""
    return permission(command, hook_event_name="PreToolUse", tool_use_id=call_id, **more)


def before_tool(command: str = "rm -rf build", **more: Any) -> dict[str, Any]:
    """A call as Gemini CLI writes it."""
    return permission(command, hook_event_name="BeforeTool", tool_name="run_shell_command", **more)


async def asked(world: World, number: int = 1) -> dict[str, Any]:
    """The open question, or an ended one, as soon as there are so many."""
    async with asyncio.timeout(PATIENCE):
        while len(items := (await world.call("GET", "/v1/suspensions", "admin")).json()["items"]) < number:
            await asyncio.sleep(0.02)
    await world.settle()
    assert len(items) == number
    question = next((item for item in items if item["resolution"] is None), items[0])
    return {**question, "suspension_id": question["id"]}
