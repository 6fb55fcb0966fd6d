"""The real programs, each with a scripted model: does the command run, and what is the model told?

Source: docs/how-to/coding-agents.md, whose tables these are.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from handraise.coding_agents.deferred import DeferredRuns, resume_runs
from handraise.coding_agents.hook_file import HookFile
from handraise.coding_agents.hook_protocol import Program
from handraise.coding_agents.program_run import run_once
from handraise.coding_agents.program_settings import OR_NO
from handraise.coding_agents.scripted_model import ScriptedModel, serving

from tests.coding_agents.hooks import Hooks, asked
from tests.coding_agents.programs import path_of
from tests.world import KEYS, World

pytestmark = pytest.mark.coding_agents

LIMIT = 120
TRUSTED = {Program.CODEX: ["--dangerously-bypass-hook-trust"]}
EVERY_CALL = {Program.CLAUDE_CODE: "PreToolUse", Program.CODEX: "PreToolUse", Program.GEMINI: "BeforeTool"}
FOUND = os.environ.get("HANDRAISE_CODING_AGENTS", "").split(",")


@dataclass
class Desk:
    """One program, its home, and a model that asks for ``turns``."""

    program: Program
    home: Path
    model: ScriptedModel
    rules: dict[str, Any]

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in (self.home / "project").iterdir())

    async def run(self, hooks: dict[str, str], seconds: int, **more: Any) -> subprocess.CompletedProcess[str]:
        """With these commands as hooks, by event, which the program ends after ``seconds``."""
        timeout = seconds * 1000 if self.program is Program.GEMINI else seconds
        matcher = ".*" if self.program is Program.GEMINI else "*"
        groups = {
            event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}]
            for event, command in hooks.items()
        }
        arguments = [*more.pop("arguments", []), *TRUSTED.get(self.program, [])]
        with serving(self.model):
            return await asyncio.to_thread(
                run_once,
                self.program,
                path_of(self.program),
                self.home,
                self.model.url,
                {**self.rules, "hooks": groups},
                arguments=arguments,
                seconds=LIMIT,
                **more,
            )


def desk(program: Program, home: Path, turns: Sequence[Sequence[str]], *, allowed: bool = True) -> Desk:
    if program.value not in FOUND:
        pytest.skip(f"{program} can't be had: `make coding-agents` says why")
    home.mkdir(exist_ok=True)
    rules = {"permissions": {"allow": ["Bash"]}} if allowed and program is Program.CLAUDE_CODE else {}
    return Desk(program, home, ScriptedModel(turns), rules)


@pytest.fixture
def hooks(world: World, tmp_path: Path) -> Hooks:
    hooks = Hooks(tmp_path)
    hooks.log_in(world.url, KEYS["agent"])
    return hooks


@pytest.mark.parametrize("program", Program)
@pytest.mark.parametrize(("value", "ran"), [("approve", ["ran"]), ("deny", [])])
async def test_a_call_runs_if_a_person_approves_it_and_the_model_is_told_why_not(
    world: World, hooks: Hooks, tmp_path: Path, program: Program, value: str, ran: list[str]
) -> None:
    at = desk(program, tmp_path / "home", [["touch ran"]])
    running = asyncio.create_task(at.run({EVERY_CALL[program]: hooks.command(program.value, 100)}, 100))
    question = await asked(world)
    assert question["action"]["arguments"]["command"] == "touch ran"
    await world.answer(question, value, metadata={"reason": 'It\'s "mine" – ask first.'})
    await running
    assert at.files == ran
    [told] = at.model.told
    assert ran or 'Their reason: It\'s "mine" – ask first.' in told.replace('\\"', '"')


@pytest.mark.parametrize("value", ["approve", "deny"])
async def test_claude_code_asks_where_it_would_ask_its_user(
    world: World, hooks: Hooks, tmp_path: Path, value: str
) -> None:
    at = desk(Program.CLAUDE_CODE, tmp_path / "home", [["touch ran"]], allowed=False)
    running = asyncio.create_task(at.run({"PermissionRequest": hooks.command("claude-code", 100)}, 100))
    await world.answer(await asked(world), value, metadata={"reason": "not today"})
    await running
    assert at.files == (["ran"] if value == "approve" else [])
    assert value == "approve" or at.model.told[0].endswith("Their reason: not today")


FAILURES = {
    "missing program": f"/nonexistent/python -I -m handraise hook x {OR_NO}",
    "killed": f"sh -c 'kill -9 $$' {OR_NO}",
    "status 1": f"sh -c 'exit 1' {OR_NO}",
    "a traceback": f"python3 -c 'raise ValueError' {OR_NO}",
}


@pytest.mark.parametrize("program", Program)
@pytest.mark.parametrize("failure", ["dead service", "hanging service", "no file", *FAILURES])
async def test_no_failure_of_ours_runs_the_command(
    hooks: Hooks, tmp_path: Path, program: Program, failure: str
) -> None:
    at = desk(program, tmp_path / "home", [["touch ran"]])
    command, seconds = FAILURES.get(failure, hooks.command(program.value, 30)), 30
    if failure == "no file":
        hooks.file.unlink()
    server = await asyncio.start_server(lambda *_: asyncio.sleep(3600), "127.0.0.1", 0)
    if failure in {"dead service", "hanging service"}:
        port = server.sockets[0].getsockname()[1] if failure == "hanging service" else 1
        hooks.log_in(f"http://127.0.0.1:{port}", "k")
    await at.run({EVERY_CALL[program]: command}, seconds)
    server.close()
    assert (at.files, len(at.model.told)) == ([], 1)


@pytest.mark.parametrize("program", Program)
async def test_what_no_hook_can_help_their_own_time_out(tmp_path: Path, program: Program) -> None:
    """As the page says in bold. If this fails, the program has become safer, and the page should say so."""
    at = desk(program, tmp_path / "home", [["touch ran"]])
    await at.run({EVERY_CALL[program]: f"sleep 6 {OR_NO}"}, 2)
    assert at.files == ["ran"]


async def test_what_no_hook_can_help_codex_without_trust(tmp_path: Path) -> None:
    at = desk(Program.CODEX, tmp_path / "home", [["touch ran"]])
    home, command = at.home, "echo no >&2; exit 2"
    groups = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]}
    with serving(at.model):
        run = (Program.CODEX, path_of(Program.CODEX), home, at.model.url, {"hooks": groups})
        await asyncio.to_thread(run_once, *run)
    assert at.files == ["ran"]


@pytest.mark.parametrize("commands", [["touch a"], ["touch a", "touch b"]], ids=["one call", "two at once"])
async def test_a_deferred_run_goes_on_with_its_last_call_once(
    world: World, hooks: Hooks, tmp_path: Path, commands: list[str]
) -> None:
    at = desk(Program.CLAUDE_CODE, tmp_path / "home", [[f"echo x >> {one.split()[1]}" for one in commands]])
    deferring = {"PreToolUse": hooks.command("claude-code", 100, "--defer")}
    first = json.loads((await at.run(deferring, 100)).stdout)
    assert first["stop_reason"] == "tool_deferred"
    assert at.files == []
    claude = tmp_path / "claude"
    with serving(at.model):
        environ = f"HOME={at.home} ANTHROPIC_BASE_URL={at.model.url} ANTHROPIC_API_KEY=scripted"
        claude.write_text(f'#!/bin/sh\n{environ} exec {path_of(Program.CLAUDE_CODE)} "$@"\n')
        claude.chmod(0o700)
        runs, settings = DeferredRuns(hooks.runs), HookFile(hooks.file).read()
        resuming = asyncio.create_task(
            asyncio.to_thread(resume_runs, settings, [str(claude), "--output-format", "json"], print, runs=runs)
        )
        while not resuming.done():
            for item in (await world.call("GET", "/v1/suspensions?status=open", "admin")).json()["items"]:
                await world.answer({**item, "suspension_id": item["id"]}, "approve")
            await asyncio.sleep(0.2)
        assert await resuming == 0
    lines = {name: (at.home / "project" / name).read_text() for name in at.files}
    assert lines == {commands[-1].split()[1]: "x\n"}, "of several at once Claude Code takes up the last alone"
