"""The hook's own files and those of the programs: what is written, what is refused, and what is left as it is."""

from __future__ import annotations

import json
import re
import stat
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from handraise.coding_agents import project as project_module
from handraise.coding_agents.agent_hook import SHORTEST_SECONDS, asked_seconds
from handraise.coding_agents.command_list import DEFAULT
from handraise.coding_agents.hook_file import HookFile, HookSettings, check_url, settings_of
from handraise.coding_agents.hook_protocol import (
    Allow,
    Defer,
    Deny,
    HookEvent,
    Program,
    UnreadableCall,
    read_call,
    written,
)
from handraise.coding_agents.isolation import margin
from handraise.coding_agents.program_settings import (
    OR_NO,
    HookEntry,
    commands_in,
    with_hook,
    without_hook,
    write_settings,
)
from handraise.coding_agents.project import Project, may_hold_repositories, only_harmless
from handraise.errors import ConfigurationError

CALL = {"session_id": "s", "cwd": "/srv/shop", "tool_name": "Bash", "tool_input": {"command": "rm x"}}


def test_what_is_written_is_read_again_and_is_the_users_alone(tmp_path: Path) -> None:
    file = HookFile(tmp_path / "new" / "hook.toml")
    settings = HookSettings(
        url="https://people.example", api_key='k"\\é😀', responders=("a@example.com",), commands=("make test",)
    )
    file.write(settings)
    assert file.read() == settings
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    file.write(HookSettings(url="https://people.example", api_key="k"))
    assert file.read().commands == DEFAULT
    assert [one.name for one in file.path.parent.iterdir()] == ["hook.toml"]


def test_the_file_of_the_documentation_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "coding-agents.md").read_text()
    [example] = re.findall(r"(?s)```toml\n(.*?)```", page)
    settings = settings_of(example, "the page")
    assert len(settings.unasked.commands) == 4
    assert settings.notify_to == "slack:C0OPS"


@pytest.mark.parametrize(
    "url", ["https://people.example", "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:1"]
)
def test_a_url_that_nobody_can_come_between(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://people.example",
        "http://10.0.0.1",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "https://user:password@people.example",
        "http://127.0.0.1@evil.example",
        "ftp://127.0.0.1",
        "people.example",
        "https://",
        "http://[",
        "",
    ],
)
def test_any_other_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        check_url(url)


def test_a_refusal_names_no_value() -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings_of('url = "https://people.example"\napi_key = 7\n', "hook.toml")
    assert "hook.toml: api_key" in str(refused.value)


def test_what_lies_inside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    folder = home / "shop"
    (folder / "src").mkdir(parents=True)
    (home / "secret").write_text("x")
    (folder / "out").symlink_to(home / "secret")
    (folder / "up").symlink_to(home)
    monkeypatch.setattr(project_module, "own_home", lambda: str(home))
    shop = Project(str(folder))
    inside = [".", "src", "src/new.py", str(folder / "src"), "src/../src"]
    outside = ["..", "../secret", "out", "up/secret", "/etc/passwd", ".env", "src/.hidden", ".git/config", str(home)]
    assert [shop.holds(path) for path in inside] == [True] * len(inside)
    assert [shop.holds(path) for path in outside] == [False] * len(outside)
    assert not any(Project(str(place)).holds("x") for place in (home, tmp_path, "/", "shop"))


def test_a_clone_is_harmless_and_a_repository_with_a_program_in_it_is_not(tmp_path: Path) -> None:
    git = ["git", "-c", "init.defaultBranch=main", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "a").write_text("x")
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://example.com/shop.git"], check=True)
    (tmp_path / "src").mkdir()
    assert Project(str(tmp_path)).has_a_harmless_repository()
    assert Project(str(tmp_path / "src")).has_a_harmless_repository()

    config = tmp_path / ".git" / "config"
    before = config.read_text()
    for evil in ("core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "alias.st", "include.path"):
        subprocess.run([*git, "config", evil, "./evil"], check=True)
        assert not Project(str(tmp_path)).has_a_harmless_repository(), evil
        config.write_text(before)
    hook = tmp_path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert not Project(str(tmp_path)).has_a_harmless_repository()
    hook.unlink()

    subprocess.run([*git, "init", "-q", "inner"], check=True)
    index = [*git, "update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},inner"]
    subprocess.run(index, check=True)
    assert not Project(str(tmp_path)).has_a_harmless_repository()


def test_no_repository_is_not_a_harmless_one(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    assert not Project(str(tmp_path)).has_a_harmless_repository()


@pytest.mark.parametrize(
    "settings",
    [
        "[core] fsmonitor = x",
        "[core]\nfsmonitor",
        "[core]\nbare = fal\\\nse",
        '[core "x\\"]\n',
        "[Core]\npager = x",
        "x",
        "[core]\nbare = a;b",
    ],
)
def test_a_line_of_a_form_that_is_not_known_is_not_harmless(settings: str) -> None:
    assert not only_harmless(settings)


def test_an_index_that_can_not_be_read_may_hold_repositories() -> None:
    assert not may_hold_repositories(b"")
    for index in (b"x", b"DIRC" + struct.pack(">II", 4, 0), b"DIRC" + struct.pack(">II", 2, 1), b"\0" * 100):
        assert may_hold_repositories(index)


@pytest.mark.parametrize("program", Program)
@pytest.mark.parametrize("every_call", [False, True])
def test_a_hook_is_written_once_and_taken_out_again(program: Program, every_call: bool) -> None:
    theirs = {"matcher": "Bash", "hooks": [{"type": "command", "command": "./lint"}]}
    before: dict[str, Any] = {"model": "x", "hooks": {"PreToolUse": [theirs], "Stop": [theirs]}}
    once = with_hook(before, HookEntry(program, 60, every_call))
    twice = with_hook(once, HookEntry(program, 600, every_call))
    [(event, command, timeout)] = commands_in(twice)
    assert event == ("BeforeTool" if program is Program.GEMINI else "PreToolUse" if every_call else "PermissionRequest")
    assert command.endswith(f" -I -m handraise hook {program} --timeout 600 {OR_NO}")
    assert timeout == (600_000 if program is Program.GEMINI else 600)
    assert without_hook(twice) == before
    assert without_hook(with_hook({}, HookEntry(program))) == {}


def test_a_deferring_hook_is_there_for_what_can_not_be_deferred_too() -> None:
    found = commands_in(with_hook({}, HookEntry(Program.CLAUDE_CODE, 60, defer=True)))
    assert [(event, "--defer" in command) for event, command, _ in found] == [
        ("PermissionRequest", False),
        ("PreToolUse", True),
    ]


@pytest.mark.parametrize(
    "hooks", [[], "x", {"PreToolUse": {"a": 1}}, {"PreToolUse": [{}]}, {"PreToolUse": ["x"]}, {"A": 1}]
)
def test_settings_of_another_shape_are_left_as_they_are(hooks: Any) -> None:
    with pytest.raises(ConfigurationError):
        with_hook({"hooks": hooks}, HookEntry(Program.CODEX))


def test_settings_are_replaced_in_one_step_and_keep_their_mode_and_their_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_text("{}")
    real.chmod(0o644)
    link.symlink_to(real)
    write_settings(link, {"a": "é"})
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"a": "é"}
    assert stat.S_IMODE(real.stat().st_mode) == 0o644
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("seconds", [SHORTEST_SECONDS, 60, 600, 86_400])
def test_the_question_ends_before_the_hook_and_the_hook_before_the_program_loses_patience(seconds: int) -> None:
    assert 1 <= asked_seconds(seconds) < seconds - margin(seconds) <= seconds - 5


@pytest.mark.parametrize(
    ("event", "verdict", "said"),
    [
        ("PermissionRequest", Allow(), {"decision": {"behavior": "allow"}}),
        ("PermissionRequest", Deny("no"), {"decision": {"behavior": "deny", "message": "no"}}),
        ("PreToolUse", Allow(), {"permissionDecision": "allow"}),
        ("PreToolUse", Deny("no"), {"permissionDecision": "deny", "permissionDecisionReason": "no"}),
        ("PreToolUse", Defer(), {"permissionDecision": "defer"}),
    ],
)
def test_a_verdict_is_written_in_the_programs_own_words(event: str, verdict: Any, said: dict[str, Any]) -> None:
    call = read_call(Program.CLAUDE_CODE, json.dumps({**CALL, "hook_event_name": event}).encode())
    assert json.loads(written(call, verdict)) == {"hookSpecificOutput": {"hookEventName": event, **said}}


def test_gemini_has_words_of_its_own() -> None:
    call = read_call(Program.GEMINI, json.dumps({**CALL, "hook_event_name": "BeforeTool"}).encode())
    assert call.event is HookEvent.BEFORE_TOOL
    assert json.loads(written(call, Deny("no"))) == {"decision": "deny", "reason": "no"}
    assert json.loads(written(call, Allow())) == {"decision": "allow"}


def test_an_event_of_another_program_is_unreadable() -> None:
    with pytest.raises(UnreadableCall):
        read_call(Program.GEMINI, json.dumps({**CALL, "hook_event_name": "PreToolUse"}).encode())
