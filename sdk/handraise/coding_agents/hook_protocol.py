"""What the programs write to a hook, and how they read its answer. Pure.

Claude Code and Codex share a shape, Gemini CLI has its own. Everything but an allow or a deny is left out on purpose:
each of them runs the tool if a hook says what it does not understand.

Source: docs/how-to/coding-agents.md, which says the versions that were tried.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue


class Program(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"


class HookEvent(StrEnum):
    """When a program runs its hook: where it would ask its user, or before every call of a tool."""

    PERMISSION_REQUEST = "PermissionRequest"
    PRE_TOOL_USE = "PreToolUse"
    BEFORE_TOOL = "BeforeTool"


DISPLAYED = {Program.CLAUDE_CODE: "Claude Code", Program.CODEX: "Codex", Program.GEMINI: "Gemini CLI"}
EVENTS = {
    Program.CLAUDE_CODE: (HookEvent.PERMISSION_REQUEST, HookEvent.PRE_TOOL_USE),
    Program.CODEX: (HookEvent.PERMISSION_REQUEST, HookEvent.PRE_TOOL_USE),
    Program.GEMINI: (HookEvent.BEFORE_TOOL,),
}
"""The events of each program that decide anything; the first is the one that ``install`` takes by itself."""

_SHELLS = {Program.CLAUDE_CODE: "Bash", Program.CODEX: "Bash", Program.GEMINI: "run_shell_command"}


class UnreadableCall(Exception):
    """What the program wrote is not a call of a tool as it is documented. The message may be shown."""


@dataclass(frozen=True)
class HookCall:
    """One call of a tool that a program is about to make.

    ``folder`` is the absolute path in which the program works. ``call_id`` is ``None`` if the program gives none: then
    nothing makes two calls the same one.
    """

    program: Program
    event: HookEvent
    tool: str
    arguments: Mapping[str, JsonValue]
    session_id: str
    folder: str
    call_id: str | None = None

    @property
    def command(self) -> str | None:
        """The shell command, if the tool runs one."""
        command = self.arguments.get("command")
        return command if self.tool == _SHELLS[self.program] and isinstance(command, str) else None


@dataclass(frozen=True)
class Allow:
    pass


@dataclass(frozen=True)
class Deny:
    """``message`` is what the model is told, word for word."""

    message: str


@dataclass(frozen=True)
class Defer:
    """The program should end, and be resumed once there is an answer. Claude Code alone can."""


Verdict = Allow | Deny | Defer


def read_call(program: Program, written: bytes) -> HookCall:
    """Raises :class:`UnreadableCall`."""
    try:
        said = json.loads(written)
    except (ValueError, RecursionError):
        raise UnreadableCall("what stands on standard input is not JSON") from None
    if not isinstance(said, dict):
        raise UnreadableCall("what stands on standard input is JSON, but not an object")
    arguments = said.get("tool_input")
    if not isinstance(arguments, dict):
        raise UnreadableCall("tool_input is not an object")
    return HookCall(
        program=program,
        event=_event(program, said),
        tool=_text(said, "tool_name"),
        arguments=arguments,
        session_id=_text(said, "session_id"),
        folder=_text(said, "cwd"),
        call_id=_text(said, "tool_use_id") if "tool_use_id" in said else None,
    )


def written(call: HookCall, verdict: Verdict) -> str:
    """The verdict as the program reads it, on standard output with exit status 0."""
    match call.event:
        case HookEvent.PERMISSION_REQUEST:
            return _specific(call, {"decision": _permission(verdict)})
        case HookEvent.PRE_TOOL_USE:
            return _specific(call, _before_use(verdict))
        case HookEvent.BEFORE_TOOL:
            return json.dumps(_before_tool(verdict))


def _event(program: Program, said: Mapping[str, JsonValue]) -> HookEvent:
    name = _text(said, "hook_event_name")
    event = next((event for event in EVENTS[program] if event == name), None)
    if event is None:
        raise UnreadableCall(f"the event is not one of {', '.join(EVENTS[program])}")
    return event


def _text(said: Mapping[str, JsonValue], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str) or not value:
        raise UnreadableCall(f"{name} is not a text")
    return value


def _specific(call: HookCall, said: Mapping[str, JsonValue]) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": call.event.value, **said}})


def _permission(verdict: Verdict) -> dict[str, JsonValue]:
    match verdict:
        case Allow():
            return {"behavior": "allow"}
        case Deny(message):
            return {"behavior": "deny", "message": message}
        case Defer():
            raise ValueError("A permission request can't be deferred.")


def _before_use(verdict: Verdict) -> dict[str, JsonValue]:
    match verdict:
        case Allow():
            return {"permissionDecision": "allow"}
        case Deny(message):
            return {"permissionDecision": "deny", "permissionDecisionReason": message}
        case Defer():
            return {"permissionDecision": "defer"}


def _before_tool(verdict: Verdict) -> dict[str, JsonValue]:
    match verdict:
        case Allow():
            return {"decision": "allow"}
        case Deny(message):
            return {"decision": "deny", "reason": message}
        case Defer():
            raise ValueError("Gemini CLI can't defer.")
