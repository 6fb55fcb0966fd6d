"""The pytest plugin for those who write agents: the first example of docs/how-to/testing-agents.md."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.sheet import Sheet

ROOT = Path(__file__).parents[2]
EXAMPLE = "test_silence_denies_after_three_hours"
RUNS = 3
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Whatever other plugins are installed here, and how long they take."""

REPORTING = """
import pathlib


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed:
        pathlib.Path("took").write_text(str(report.duration))
"""


async def measured(folder: Path, sheet: Sheet) -> None:
    page = (ROOT / "docs" / "how-to" / "testing-agents.md").read_text()
    for name, program in re.findall(r"```python\n# (\w*refunds\.py)\n(.*?)```", page, re.DOTALL):
        (folder / name).write_text(program)
    (folder / "conftest.py").write_text(REPORTING)
    runs = [_run(folder) for _ in range(RUNS)]
    sheet.at_most("its example, the test's own call", 1000 * statistics.median(call for call, _ in runs), 100, "ms")
    sheet.at_most("pytest with that test alone, start to end", statistics.median(whole for _, whole in runs), 5, "s")


def _run(folder: Path) -> tuple[float, float]:
    """Seconds of the test's call, the first of its session, and of the whole process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "handraise_testing", "-p", "no:cacheprovider", "-k", EXAMPLE]
    began = time.monotonic()
    subprocess.run(command, cwd=folder, env=os.environ | ALONE, check=True, capture_output=True)
    return float((folder / "took").read_text()), time.monotonic() - began
