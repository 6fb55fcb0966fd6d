"""Claude Agent SDK in a virtual environment of its own. It runs the Claude Code of ``programs``, on the ``PATH``."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from tests.coding_agents.programs import FOLDER, ROOT, Missing

HERE = ROOT / "tests/coding_agents"
SDK = ROOT / "sdk"
REQUIREMENTS = HERE / "agent_sdk.txt"
VENV = FOLDER / "claude-agent-sdk"
PYTHON = VENV / "bin/python"
ADAPTER = "handraise.adapters.claude_agent"
NAME = "claude-agent-sdk"
"""What ``HANDRAISE_CODING_AGENTS`` calls it."""


def installed() -> str:
    """The version of the SDK, which :data:`PYTHON` then has. Raises :class:`Missing`."""
    stamp = VENV / "installed"
    wanted = f"{sys.version}\n{REQUIREMENTS.read_text()}\n{(SDK / 'pyproject.toml').read_text()}"
    if not (stamp.exists() and stamp.read_text() == wanted):
        _install()
        stamp.write_text(wanted)
    [version] = re.findall(r"(?m)^claude-agent-sdk==([^ ;\\]+)", REQUIREMENTS.read_text())
    return version


def types() -> int:
    """Checks the adapter's types beside the SDK. Returns mypy's status."""
    mypy = ["-m", "mypy", "--cache-dir", FOLDER / "mypy", "--python-executable", PYTHON, "-m", ADAPTER]
    return subprocess.run([sys.executable, *mypy], cwd=ROOT, check=False).returncode


def _install() -> None:
    """From its source: the wheel brings a second Claude Code, of 385 MB."""
    shutil.rmtree(VENV, ignore_errors=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", str(VENV)],
        [*pip, "--no-binary", "claude-agent-sdk", "--require-hashes", "-r", str(REQUIREMENTS)],
        [*pip, "--no-deps", "--no-build-isolation", "-e", str(SDK)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"{' '.join(command[1:4])} has failed: {done.stderr.strip()[-300:]}")
