"""What the types promise, as mypy and pyright read them (pyright in the build that PyPI has, basedpyright)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent / "typing_cases.py"
SDK = Path(__file__).parents[1]


def by_mypy(folder: Path) -> set[int]:
    """As an author's own mypy reads it: strict, and without pydantic's plugin."""
    command = ["mypy", "--strict", "--config-file", "", "--cache-dir", str(folder), "--no-error-summary", str(CASES)]
    done = subprocess.run([sys.executable, "-m", *command], cwd=SDK, capture_output=True, text=True, check=False)
    assert not done.stderr
    return {int(line) for line in re.findall(rf"{CASES.name}:(\d+): error", done.stdout)}


def by_pyright(folder: Path) -> set[int]:
    settings = {"include": [str(CASES)], "typeCheckingMode": "strict", "extraPaths": [str(SDK)]}
    (folder / "pyrightconfig.json").write_text(json.dumps({**settings, "reportUnusedExpression": False}))
    command = ["basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"}


@pytest.mark.parametrize("checked", [by_mypy, by_pyright])
def test_right_calls_are_accepted_and_wrong_ones_refused(checked: Callable[[Path], set[int]], tmp_path: Path) -> None:
    lines = CASES.read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert checked(tmp_path) == wrong
