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


MISSPELT = """
from handraise import Handraise

async def ask(people: Handraise) -> None:
    {call}
"""


def said_by_mypy(folder: Path, call: str) -> list[str]:
    """What mypy says of one call, line by line."""
    (folder / "ask.py").write_text(MISSPELT.format(call=call))
    command = ["mypy", "--strict", "--config-file", "", "--cache-dir", str(folder), "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", *command, str(folder / "ask.py")], cwd=SDK, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()


def said_by_pyright(folder: Path, call: str) -> list[str]:
    (folder / "ask.py").write_text(MISSPELT.format(call=call))
    settings = {"include": [str(folder / "ask.py")], "typeCheckingMode": "standard", "extraPaths": [str(SDK)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    return [line for one in json.loads(done.stdout)["generalDiagnostics"] for line in one["message"].splitlines()]


@pytest.mark.parametrize("said_by", [said_by_mypy, said_by_pyright])
def test_a_misspelt_keyword_is_named_in_the_first_line_and_hardly_another_follows(
    said_by: Callable[[Path, str], list[str]], tmp_path: Path
) -> None:
    calls = ['suspend("Go?", choices=["a"], timeot_seconds=3)', 'request_veto("Go?", timeout_seconds=3, contxt={})']
    for call, keyword in zip(calls, ("timeot_seconds", "contxt"), strict=True):
        first, *others = said_by(tmp_path, f"await people.{call}")
        assert f'"{keyword}"' in first
        assert len(others) <= 1, "mypy adds where the method stands"


def test_mypy_names_a_misspelt_keyword_before_the_overloads_and_the_nearest_beside_it(tmp_path: Path) -> None:
    """Pyright says in two lines that no overload fits, and names none."""
    first, *_ = said_by_mypy(tmp_path, 'await people.request_input(question="Go?", timeot_seconds=3)')
    assert 'Unexpected keyword argument "timeot_seconds"' in first
    assert 'did you mean "timeout_seconds"?' in first
