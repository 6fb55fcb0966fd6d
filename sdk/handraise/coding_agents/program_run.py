"""One run of a coding agent's program with a scripted model, in a home of its own: nothing of the user's is read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from handraise.coding_agents.hook_protocol import Program
from handraise.coding_agents.program_settings import settings_file_in

BINARIES = {Program.CLAUDE_CODE: "claude", Program.CODEX: "codex", Program.GEMINI: "gemini"}
_SETTINGS = {Program.GEMINI: {"security": {"auth": {"selectedType": "gemini-api-key"}}}}
_PROMPT = "Do it."
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_CODEX = """\
model = "gpt-5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED"
"""


def run_once(
    program: Program,
    binary: str,
    home: Path,
    url: str,
    settings: Mapping[str, Any],
    *,
    arguments: Sequence[str] = (),
    prompt: str | None = _PROMPT,
    seconds: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run ``binary`` in ``home/project``, with ``settings`` as its user's and the model at ``url``.

    Raises ``subprocess.TimeoutExpired``, and then nothing that it has started runs any more; ``OSError`` if it can't be
    started.
    """
    folder, file = home / "project", settings_file_in(home, program)
    folder.mkdir(exist_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**_SETTINGS.get(program, {}), **settings}))
    if program is Program.CODEX:
        (file.parent / "config.toml").write_text(_CODEX.format(url=url))
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    command = [binary, *_arguments(program, arguments, prompt)]
    with subprocess.Popen(  # noqa: S603 (the user's own program)
        command,
        cwd=folder,
        env={**kept, "HOME": str(home), "NO_PROXY": "*", **_model(program, url)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            out, err = running.communicate(timeout=seconds)
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(command, running.returncode, out, err)


def _arguments(program: Program, more: Sequence[str], prompt: str | None) -> list[str]:
    said = [] if prompt is None else [prompt]
    match program:
        case Program.CLAUDE_CODE:
            return ["-p", "--output-format", "json", *more, *said]
        case Program.CODEX:
            return ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", *more, *said]
        case Program.GEMINI:
            return ["--approval-mode", "yolo", "--model", "gemini-2.5-flash", *more, "-p", *said]


def _model(program: Program, url: str) -> dict[str, str]:
    match program:
        case Program.CLAUDE_CODE:
            quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
            return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted", **quiet}
        case Program.CODEX:
            return {"SCRIPTED": "scripted"}
        case Program.GEMINI:
            return {
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_API_KEY": "scripted",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GEMINI_CLI_NO_RELAUNCH": "true",
            }
