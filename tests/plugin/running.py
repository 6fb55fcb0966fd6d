"""Pytest in a process of its own, as an agent's author runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PATIENCE = 300
"""Seconds; a test that hangs is what this plugin is there to prevent."""

WITH_ASYNCIO = (
    "-p",
    "pytest_asyncio.plugin",
    "-o",
    "asyncio_mode=auto",
    "-o",
    "asyncio_default_fixture_loop_scope=function",
)


def run_pytest(folder: Path, *options: str) -> dict[str, str]:
    """What became of each test of ``folder``, by its name: ``passed``, or what it failed with."""
    report = folder / "report.xml"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("HANDRAISE_", "PYTEST"))}
    environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "sdk" / "testing")}
    command = [sys.executable, "-m", "pytest", "-p", "handraise_testing", *(options or WITH_ASYNCIO)]
    command += ["-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    how: dict[str, Any] = {"cwd": folder, "env": environ, "timeout": PATIENCE}
    done = subprocess.run([*command, str(folder)], **how, capture_output=True, text=True, check=False)
    assert report.exists(), done.stdout + done.stderr
    found = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        ended = case.find("failure")
        ended = case.find("error") if ended is None else ended
        found[case.attrib["name"]] = "passed" if ended is None else f"{ended.get('message')}\n{ended.text}"
    return found
