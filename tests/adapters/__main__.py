"""Adapters and recipes with the published frameworks and engines, in virtual environments of their own, and MCP: types,
tests, the matrix.

``--ci`` runs those of the first environment alone, and MCP. What else stands behind ``python -m tests.adapters`` goes
to pytest; then types are not checked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.adapters.frameworks import ENGINES, FRAMEWORKS, GROUPS, HERE, ROOT, VENVS

SDK = ROOT / "sdk"
MCP = ROOT / "tests/journeys/mcp_server/test_mcp_matrix.py"


def installed(group: str) -> Path:
    """The Python of the group's virtual environment, made anew if the requirements or this Python are other ones."""
    requirements, folder = HERE / f"requirements/{group}.txt", VENVS / group
    stamp, wanted = folder / "installed", f"{sys.version}\n{requirements.read_text()}\n{_of_the_sdk()}"
    if not (stamp.exists() and stamp.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", requirements], check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", SDK], check=True)
        stamp.write_text(wanted)
    return folder / "bin/python"


def _of_the_sdk() -> str:
    return (SDK / "pyproject.toml").read_text()


def _pins(group: str) -> str:
    """The group's frameworks with their versions, as they are installed."""
    listed = (HERE / f"requirements/{group}.txt").read_text()
    names = ENGINES | {name for one in FRAMEWORKS if one.group == group for name in one.distributions}
    return ", ".join(sorted(line for line in re.findall(r"(?m)^\S+==[^ ;\\]+", listed) if line.split("==")[0] in names))


def _types(group: str, python: Path) -> int:
    named = sorted({one.module for one in FRAMEWORKS if one.group == group})
    modules = [part for one in named for part in ("-p", one)]
    if not modules:
        return 0
    mypy = ["-m", "mypy", "--cache-dir", VENVS / f"mypy-{group}", "--python-executable", python]
    return subprocess.run([sys.executable, *mypy, *modules], cwd=ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    ci = "--ci" in arguments
    others = [one for one in arguments if one != "--ci"]
    groups = GROUPS[:1] if ci else GROUPS
    statuses = []
    for group in groups:
        python = installed(group)
        print(f"{group}: {_pins(group)}", flush=True)
        statuses += [] if others else [_types(group, python)]
    environ = os.environ | {"HANDRAISE_ADAPTERS": ",".join(groups)}
    pytest = [sys.executable, "-m", "pytest", "-p", "tests.adapters.matrix", "-n", "2", "--dist", "load"]
    pytest += ["-m", "adapters or mcp", *map(str, others or [HERE, MCP])]
    return next(filter(None, [*statuses, subprocess.run(pytest, cwd=ROOT, env=environ, check=False).returncode]), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
