"""Whether a hook works here: its file, the service, the program's settings, and one call by the program itself."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from handraise.coding_agents.hook_file import HookFile, HookSettings
from handraise.coding_agents.hook_protocol import DISPLAYED, EVENTS, Program
from handraise.coding_agents.program_run import BINARIES, run_once
from handraise.coding_agents.program_settings import (
    OR_NO,
    HookEntry,
    commands_in,
    read_settings,
    settings_file,
    with_hook,
)
from handraise.coding_agents.scripted_model import ScriptedModel, serving
from handraise.errors import ConfigurationError, HandraiseError
from handraise.sync_client import HandraiseSync

_ANSWERING = {"operator", "admin"}
_TRUST = (
    "Codex runs a hook only after you have trusted it, and says nothing if it does not. `codex` asks you at its start; "
    "nothing shows from outside whether you have."
)
_EXEC = "`codex exec` never asks anybody, so that PermissionRequest has no effect there: use --every-call."


@dataclass(frozen=True)
class HookFinding:
    """``ok`` is ``None`` for what can't be said, or is only worth knowing."""

    ok: bool | None
    subject: str
    text: str


def examine(program: Program, binary: str | None, project: Path) -> list[HookFinding]:
    """Every finding, in the order in which a person would mend them."""
    return [*_of_the_service(), *_of_the_settings(program, project), *_of_the_program(program, binary)]


def checked_key(settings: HookSettings) -> str:
    """The key's name. Raises :class:`ConfigurationError` if it could answer: the agent can read it."""
    with HandraiseSync(settings.url, settings.api_key, patience_seconds=5) as people:
        me = people.me()
    if found := sorted(_ANSWERING & set(me.roles)):
        raise ConfigurationError(
            f"{me.name} is the key of an {found[0]}: the agent can read it, and could answer. Make one of role agent."
        )
    return me.name


def _of_the_service() -> Iterator[HookFinding]:
    try:
        settings = HookFile().read()
        yield HookFinding(True, "file", f"{HookFile().path} is yours alone")
        yield HookFinding(True, "service", f"{settings.url} knows the key as {checked_key(settings)}")
    except HandraiseError as problem:
        yield HookFinding(False, "service", str(problem))


def _of_the_settings(program: Program, project: Path) -> Iterator[HookFinding]:
    found = False
    for file in (settings_file(program), settings_file(program, project)):
        try:
            ours = commands_in(read_settings(file))
        except (ConfigurationError, TypeError, KeyError, AttributeError) as problem:
            yield HookFinding(False, "settings", f"{file}: {problem}")
            continue
        for event, command, timeout in ours:
            found = True
            wrong = _wrong(program, command, timeout)
            yield HookFinding(not wrong, "settings", f"{file}: {event}: {wrong or command}")
    if not found:
        yield HookFinding(False, "settings", f"no hook is written: `handraise hook install {program.value}`")
    if program is Program.CODEX:
        yield HookFinding(None, "trust", _TRUST)
        yield HookFinding(None, "exec", _EXEC)


def _wrong(program: Program, command: str, timeout: object) -> str | None:
    words = shlex.split(command)
    if shutil.which(words[0]) is None:
        return f"{words[0]} is not there any more: install it again"
    if not command.endswith(OR_NO):
        return f"the command does not end in {OR_NO}: what goes wrong with it would be a yes. Install it again"
    said = int(words[words.index("--timeout") + 1]) if "--timeout" in words else None
    if said is None or timeout != (said * 1000 if program is Program.GEMINI else said):
        return "its timeout and that of its command differ: the later one would be a yes. Install it again"
    return None


def _of_the_program(program: Program, binary: str | None) -> Iterator[HookFinding]:
    path = shutil.which(binary or BINARIES[program])
    if path is None:
        yield HookFinding(None, "program", f"{DISPLAYED[program]} is not found, so that it was not tried")
        return
    try:
        version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
        yield HookFinding(True, "program", f"{path}: {version.stdout.strip()}")
        yield _one_call(program, path)
    except (OSError, subprocess.TimeoutExpired) as failure:
        yield HookFinding(False, "program", f"{path} did not come to an end ({type(failure).__name__})")


def _one_call(program: Program, path: str) -> HookFinding:
    """The program with a model that asks for one command, and the hook in a mode that says no."""
    said, event = f"no-{uuid.uuid4()}", EVENTS[program][-1]
    settings = with_hook({}, HookEntry(program, 60, every_call=True), "--say-no", said)
    trusted = ["--dangerously-bypass-hook-trust"] if program is Program.CODEX else []
    with tempfile.TemporaryDirectory() as folder, serving(ScriptedModel([["touch ran"]])) as model:
        run_once(program, path, Path(folder), model.url, settings, arguments=trusted)
        ran = Path(folder, "project", "ran").exists()
    if ran:
        return HookFinding(False, "one call", f"the command ran although the hook of {event} said no")
    if not any(said in one for one in model.told):
        return HookFinding(False, "one call", f"the command did not run, but not because of the hook of {event}")
    return HookFinding(
        True, "one call", f"the hook of {event} said no, the command did not run, the model was told why"
    )
