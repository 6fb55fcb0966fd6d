"""Whether a call may run at once, or a person has to be asked. Pure, over what the folder says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from handraise.coding_agents.command_list import ListedCommand, is_listed
from handraise.coding_agents.hook_protocol import HookCall, Program

_GIT = "git "
_BESIDE_A_COMMAND = {"command", "description", "timeout", "run_in_background"}
"""Arguments of a shell tool that change nothing of what runs, or where."""


class ProjectView(Protocol):
    """What the project's folder says: whether a path is inside, and whether Git may look without asking."""

    def holds(self, path: str) -> bool: ...

    def has_a_harmless_repository(self) -> bool: ...


@dataclass(frozen=True)
class Reading:
    """The arguments of a tool that reads: ``paths`` must lie inside the project, ``patterns`` must not leave it."""

    paths: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


_GREP = {"output_mode", "-A", "-B", "-C", "-n", "-i", "-o", "context", "type", "head_limit", "offset", "multiline"}
_CLAUDE_CODE = {
    "Read": Reading(frozenset({"file_path"}), others=frozenset({"offset", "limit", "pages"})),
    "Glob": Reading(frozenset({"path"}), frozenset({"pattern"})),
    "Grep": Reading(frozenset({"path"}), frozenset({"glob"}), frozenset({"pattern", *_GREP})),
}
_GEMINI = {
    "read_file": Reading(frozenset({"file_path"}), others=frozenset({"start_line", "end_line"})),
    "list_directory": Reading(frozenset({"dir_path"})),
    "glob": Reading(frozenset({"dir_path"}), frozenset({"pattern"})),
}
READING: Mapping[Program, Mapping[str, Reading]] = {
    Program.CLAUDE_CODE: _CLAUDE_CODE,
    Program.CODEX: {},  # it reads by its shell
    Program.GEMINI: _GEMINI,
}


@dataclass(frozen=True)
class Unasked:
    """What the user lets run without a question: commands, tools by name, and reading inside the project."""

    commands: Sequence[ListedCommand] = ()
    tools: frozenset[str] = frozenset()
    reading: bool = False


def needs_nobody(call: HookCall, unasked: Unasked, project: ProjectView) -> bool:
    """Whether ``call`` may run without anybody's being asked."""
    if call.command is not None:
        return set(call.arguments) <= _BESIDE_A_COMMAND and _is_listed(call.command, unasked, project)
    if call.tool in unasked.tools:
        return True
    reading = READING[call.program].get(call.tool)
    return unasked.reading and reading is not None and _stays_inside(call.arguments, reading, project)


def _is_listed(command: str, unasked: Unasked, project: ProjectView) -> bool:
    if not is_listed(command, unasked.commands, project.holds):
        return False
    return not command.startswith(_GIT) or project.has_a_harmless_repository()


def _stays_inside(arguments: Mapping[str, JsonValue], reading: Reading, project: ProjectView) -> bool:
    known = reading.paths | reading.patterns | reading.others
    paths = [arguments[name] for name in reading.paths & set(arguments)] or ["."]
    patterns = [arguments[name] for name in reading.patterns & set(arguments)]
    return (
        set(arguments) <= known
        and all(isinstance(path, str) and project.holds(path) for path in paths)
        and all(isinstance(pattern, str) and _is_relative(pattern) for pattern in patterns)
    )


def _is_relative(pattern: str) -> bool:
    return not pattern.startswith(("/", "~")) and ".." not in pattern and "\\" not in pattern
