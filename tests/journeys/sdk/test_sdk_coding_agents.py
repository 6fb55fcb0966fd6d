"""The hooks of coding agents against the service itself: a call runs if, and only if, a person has approved it."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from handraise.coding_agents.deferred import DeferredRuns, resume_runs
from handraise.coding_agents.hook_file import HookFile

from tests.coding_agents.hooks import Hooks, Started, asked, before_tool, before_use, permission
from tests.world import KEYS, World

LIMIT = 60


@pytest.fixture
def hooks(world: World, tmp_path: Path) -> Hooks:
    hooks = Hooks(tmp_path)
    hooks.log_in(world.url, KEYS["agent"])
    return hooks


async def answered(world: World, started: Started, value: str, number: int = 1, **more: Any) -> Any:
    """What the hook says after a person's answer."""
    given = await world.answer(await asked(world, number), value, **more)
    assert given.status_code == 200, given.text
    return (await started.ended()).verdict


async def test_an_approved_permission_request_is_allowed_and_its_receipt_is_used_up(world: World, hooks: Hooks) -> None:
    started = await hooks.start(permission())
    question = await asked(world)
    assert question["question"] == "May Claude Code run this command in shop?"
    assert question["action"] == {
        "tool": "Bash",
        "arguments": {"command": "rm -rf build", "description": "Cleans up"},
        "folder": "/srv/shop",
        "program": "claude-code",
    }
    assert (await answered(world, started, "approve")) == {"behavior": "allow"}
    receipt = (await world.call("GET", f"/v1/suspensions/{question['id']}")).json()["receipt"]
    again = {"receipt": receipt, "action": question["action"], "when": "approve"}
    assert (await world.call("POST", "/v1/receipts/verify", json=again)).json()["detail"]["error"] == "receipt_used"


async def test_a_denials_reason_reaches_the_model_word_for_word(world: World, hooks: Hooks) -> None:
    started = await hooks.start(permission())
    reason = 'Not "build": it holds the signed release.\nUse dist.'
    said = await answered(world, started, "deny", metadata={"reason": reason})
    assert said["behavior"] == "deny"
    assert said["message"].endswith(f"Their reason: {reason}")


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini"])
async def test_each_program_is_answered_as_it_reads_it(world: World, hooks: Hooks, program: str) -> None:
    call = before_tool() if program == "gemini" else before_use()
    no = await answered(world, await hooks.start(call, program), "deny", metadata={"reason": "too much"})
    other = before_tool() if program == "gemini" else before_use(call_id="toolu_2")
    yes = await answered(world, await hooks.start(other, program), "approve", 2)
    decision, reason = (
        ("decision", "reason") if program == "gemini" else ("permissionDecision", "permissionDecisionReason")
    )
    assert (yes[decision], no[decision]) == ("allow", "deny")
    assert no[reason].endswith("too much")


async def test_silence_is_told_as_silence(world: World, hooks: Hooks) -> None:
    started = await hooks.start(permission(), "claude-code", 600)
    await asked(world)
    await world.advance(seconds=600)
    said = (await started.ended()).verdict
    assert said["behavior"] == "deny"
    assert "neither an approval nor a denial" in said["message"]
    assert "said no" not in said["message"]


async def test_a_platforms_fallback_approves_nothing(world: World, hooks: Hooks) -> None:
    """The default of the key could mean yes: for a hook silence never does."""
    policy = {"max_attempts": 2, "interval_seconds": 60, "final_fallback_policy": "complete_with_fallback"}
    await world.call("PUT", "/v1/agents/me/default-retry-policy", json=policy)
    started = await hooks.start(permission(), "claude-code", 600)
    question = await asked(world)
    assert question["fallback_policy"] == "fail"
    await world.advance(seconds=600)
    assert (await started.ended()).verdict["behavior"] == "deny"


async def test_two_permission_requests_of_the_same_command_are_two_questions(world: World, hooks: Hooks) -> None:
    first = await hooks.start(permission())
    assert (await answered(world, first, "approve")) == {"behavior": "allow"}
    second = await hooks.start(permission())
    assert (await answered(world, second, "deny", 2))["behavior"] == "deny"


async def test_a_call_that_comes_back_joins_its_question_and_runs_once(world: World, hooks: Hooks) -> None:
    one, two = await hooks.start(before_use()), await hooks.start(before_use())
    await asyncio.sleep(1)
    question = await asked(world)
    await world.answer(question, "approve")
    verdicts = [(await started.ended()).verdict for started in (one, two)]
    assert sorted(said["permissionDecision"] for said in verdicts) == ["allow", "deny"]
    again = await hooks.run(before_use())
    assert again.verdict["permissionDecision"] == "deny"
    assert "used" in again.verdict["permissionDecisionReason"]


async def test_a_call_that_comes_back_with_another_command_is_refused(world: World, hooks: Hooks) -> None:
    assert (await answered(world, await hooks.start(before_use()), "approve"))["permissionDecision"] == "allow"
    other = await hooks.run(before_use("rm -rf /"))
    assert other.verdict["permissionDecision"] == "deny"


async def test_a_hook_that_is_ended_takes_its_question_back(world: World, hooks: Hooks) -> None:
    started = await hooks.start(permission())
    question = await asked(world)
    started.process.terminate()
    assert (await started.ended()).status == 2
    assert (await world.show(question))["resolution"] == "cancelled"


async def test_the_users_list_asks_nobody(world: World, hooks: Hooks, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    listed = await hooks.run(permission("ls -la", cwd=str(project)))
    assert listed.verdict == {"behavior": "allow"}
    started = await hooks.start(permission("ls -la /etc", cwd=str(project)))
    assert (await answered(world, started, "deny"))["behavior"] == "deny"


async def test_a_deferred_run_goes_on_once_after_the_answer(world: World, hooks: Hooks, tmp_path: Path) -> None:
    """``claude`` is a program that calls the hook again and notes what it said, as Claude Code does on --resume."""
    call = before_use(cwd=str(tmp_path))
    (tmp_path / "call.json").write_text(json.dumps(call))
    claude = tmp_path / "claude"
    claude.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/started\n'
        f"({hooks.command('claude-code', 60, '--defer')}) < {tmp_path}/call.json >> {tmp_path}/verdicts\n"
    )
    claude.chmod(0o700)
    said = await hooks.run(call, "claude-code", 60, "--defer")
    assert said.verdict["permissionDecision"] == "defer"
    [kept] = hooks.runs.rglob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700

    still = await hooks.run(call, "claude-code", 60, "--defer")
    assert still.verdict["permissionDecision"] == "defer"
    settings = HookFile(hooks.file).read()
    resuming = asyncio.create_task(
        asyncio.to_thread(
            resume_runs, settings, [str(claude), "--model", "m"], lambda _: None, runs=DeferredRuns(hooks.runs)
        )
    )
    await asyncio.sleep(0.5)
    assert not (tmp_path / "started").exists()
    await world.answer(await asked(world), "approve")
    async with asyncio.timeout(LIMIT):
        assert await resuming == 0
    assert (tmp_path / "started").read_text() == "-p --resume session-1 --model m\n"
    assert json.loads((tmp_path / "verdicts").read_text())["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert list(hooks.runs.rglob("*.json")) == []
    again = await hooks.run(call, "claude-code", 60, "--defer")
    assert again.verdict["permissionDecision"] == "deny"
