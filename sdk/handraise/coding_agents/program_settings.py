"""The hook's entry in a program's own settings: what is written where. Nothing else in them changes.

The command names this Python by its absolute path and runs it isolated (``-I``): neither the project's folder nor a
variable decides what it imports. It ends in :data:`OR_NO`: a Python that is gone, or killed, is a no.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handraise.coding_agents.agent_hook import SHORTEST_SECONDS
from handraise.coding_agents.hook_protocol import EVENTS, HookEvent, Program
from handraise.errors import ConfigurationError

DEFAULT_SECONDS = 600
_IN_HOME = {
    Program.CLAUDE_CODE: ".claude/settings.json",
    Program.CODEX: ".codex/hooks.json",
    Program.GEMINI: ".gemini/settings.json",
}
_IN_PROJECT = {**_IN_HOME, Program.CLAUDE_CODE: ".claude/settings.local.json"}
NEXT = {
    Program.CLAUDE_CODE: ("`handraise hook doctor claude-code` tries it.",),
    Program.CODEX: (
        "Codex does not run it until you have trusted it: start codex, and answer what it asks about hooks.",
        "`codex exec` never asks anybody: there only --every-call has an effect.",
    ),
    Program.GEMINI: ("Gemini CLI runs it before every call of a tool. `handraise hook doctor gemini` tries it.",),
}
"""What a person should know after the hook has been written."""

OR_NO = """|| sh -c 'echo "handraise: the hook has failed, so it is no" >&2; exit 2'"""
"""Whatever the status, it is 2 then, and with words: Codex and Gemini CLI take a 2 without any for yes."""

_MARK = " -m handraise hook "
_NAME = "handraise"


@dataclass(frozen=True)
class HookEntry:
    """What is written: the hook at ``events``, which the program ends after ``seconds``."""

    program: Program
    seconds: int = DEFAULT_SECONDS
    every_call: bool = False
    defer: bool = False

    @property
    def events(self) -> Sequence[HookEvent]:
        """With ``defer`` both: a call that can't be deferred comes back as a permission request."""
        known = EVENTS[self.program]
        if self.defer:
            return known
        return known[-1:] if self.every_call else known[:1]

    def command(self, event: HookEvent, *more: str) -> str:
        """For a shell. ``more`` are further arguments."""
        words = [sys.executable, "-I", "-m", "handraise", "hook", self.program.value, "--timeout", str(self.seconds)]
        defer = ["--defer"] if self.defer and event is HookEvent.PRE_TOOL_USE else []
        return f"{shlex.join([*words, *defer, *more])} {OR_NO}"

    def hook(self, event: HookEvent, *more: str) -> dict[str, Any]:
        """As the program's settings have it."""
        seconds = self.seconds * 1000 if self.program is Program.GEMINI else self.seconds
        name = {"name": _NAME} if self.program is Program.GEMINI else {}
        return {**name, "type": "command", "command": self.command(event, *more), "timeout": seconds}


def check(entry: HookEntry, python: str = sys.executable) -> None:
    """Raises :class:`ConfigurationError` if ``entry`` can't be, or its command would not start: isolated, Python sees
    no packages of the user's own folder and none of the current one."""
    if entry.seconds < SHORTEST_SECONDS:
        raise ConfigurationError(f"The hook needs at least {SHORTEST_SECONDS} seconds.")
    if entry.defer and entry.program is not Program.CLAUDE_CODE:
        raise ConfigurationError("Claude Code alone can defer.")
    look = [python, "-I", "-c", "import handraise.cli.app"]
    if subprocess.run(look, capture_output=True, check=False).returncode:  # noqa: S603
        raise ConfigurationError(
            f"{python} -I can't import handraise: install it with pipx, or into a virtual environment."
        )


def settings_file(program: Program, project: Path | None = None) -> Path:
    """The program's settings: the user's, or those of one project, which name a path of this machine."""
    return settings_file_in(Path.home(), program) if project is None else project / _IN_PROJECT[program]


def settings_file_in(home: Path, program: Program) -> Path:
    return home / _IN_HOME[program]


def with_hook(settings: Mapping[str, Any], entry: HookEntry, *more: str) -> dict[str, Any]:
    """``settings`` with ``entry`` in place of every earlier one of ours; ``more`` are further arguments of its command.
    Raises as :func:`without_hook`."""
    left = without_hook(settings)
    hooks = dict(left.pop("hooks", {}))
    matcher = ".*" if entry.program is Program.GEMINI else "*"
    for event in entry.events:
        hooks[event.value] = [*hooks.get(event.value, []), {"matcher": matcher, "hooks": [entry.hook(event, *more)]}]
    return {**left, "hooks": hooks}


def without_hook(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``settings`` without ours. Raises :class:`ConfigurationError` if the hooks have no shape that is known."""
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    try:
        left = {event: _without_ours(groups) for event, groups in settings.get("hooks", {}).items()}
    except (TypeError, AttributeError, KeyError):
        raise ConfigurationError("its hooks have another shape than the documented one") from None
    hooks = {event: groups for event, groups in left.items() if groups}
    return {**rest, "hooks": hooks} if hooks else rest


def commands_in(settings: Mapping[str, Any]) -> list[tuple[str, str, object]]:
    """Ours, as (event, command, the program's own time-out)."""
    hooks = settings.get("hooks", {})
    return [
        (event, hook["command"], hook.get("timeout"))
        for event, groups in hooks.items()
        for group in groups
        for hook in group["hooks"]
        if _is_ours(hook)
    ]


def read_settings(file: Path) -> dict[str, Any]:
    """Empty if there are none. Raises :class:`ConfigurationError`."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise ConfigurationError(f"{file} can't be read as JSON, so it is left as it is.") from None
    if not isinstance(settings, dict):
        raise ConfigurationError(f"{file} is not a JSON object, so it is left as it is.")
    return settings


def write_settings(file: Path, settings: Mapping[str, Any]) -> None:
    """In one step, with the mode that the file had. A link stays one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    place = file.resolve()
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o600
    made = place.with_name(f".{place.name}.{os.getpid()}")
    made.touch(mode=0o600)
    made.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    made.chmod(mode)
    made.replace(place)


def _without_ours(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    kept = [{**group, "hooks": [hook for hook in group["hooks"] if not _is_ours(hook)]} for group in groups]
    return [group for group, before in zip(kept, groups, strict=True) if group["hooks"] or not before["hooks"]]


def _is_ours(hook: Mapping[str, Any]) -> bool:
    return _MARK in str(hook.get("command", ""))
