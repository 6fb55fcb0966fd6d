"""A run without the specification's fixtures says that they were left out, and one with them does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.openarmature.fixtures import VARIABLE, cases

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LINE = "OpenArmature's fixtures were not run: HANDRAISE_CONFORMANCE_DIR is not set."


def collected(*asked: Path, **variables: str) -> str:
    """What pytest says of these files."""
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE} | variables
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", *map(str, asked)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for capability in ("harness", "suspension"):
        (tmp_path / capability).mkdir()
        (tmp_path / capability / "001-one.yaml").write_text("cases: [{name: only}]")
    return tmp_path


def test_a_run_without_the_folder_says_so_in_one_line() -> None:
    said = collected(HERE)
    assert said.splitlines().count(LINE) == 1
    assert "test_a_fixture_of_the_harness" not in said
    assert LINE not in collected(ROOT / "tests" / "test_names.py")


def test_a_run_with_the_folder_takes_its_fixtures(folder: Path) -> None:
    said = collected(HERE, **{VARIABLE: str(folder)})
    assert "test_a_fixture_of_the_harness[001-only]" in said
    assert LINE not in said


def test_a_folder_without_fixtures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="HANDRAISE_CONFORMANCE_DIR names a folder that has no harness"):
        cases("harness", str(tmp_path))
