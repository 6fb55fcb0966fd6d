"""``make mutants`` itself: what it says of a mutant that breaks its rule, and of those that show nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutants import DoesNotApply, Mutant
from tests.mutants.patching import changed_functions

ROOT = Path(__file__).parents[2]
FILE = "core/domain/engagement.py"
TEST = "tests/core/domain/test_engagement.py::test_each_row_of_the_table_holds_up_to_its_limits"
MUTANTS = {
    "0000-broken": ("risk >= limits.defer_min_risk", "risk > limits.defer_min_risk"),
    "0000-broken-table": ("defer_min_risk: float = 0.80", "defer_min_risk: float = 0.81"),
    "0000-the-same": ("risk >= limits.defer_min_risk", "limits.defer_min_risk <= risk"),
    "0000-not-there": ("risk >= limits.defer_most_risk", "risk"),
    "0000-no-module": ("from dataclasses import", "from dataclass import"),
}
"""What is broken, and how."""


@pytest.mark.slow
def test_what_stays_green_or_does_not_apply_or_can_not_be_run_fails_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("".join(f"| {name} | A rule. | `{TEST}` |\n" for name in MUTANTS))
    (tmp_path / "list.toml").write_text(
        "".join(
            f"[[mutant]]\nbreaks = '{name}'\nfile = '{FILE}'\nbefore = '{before}'\nafter = '{after}'\n"
            for name, (before, after) in MUTANTS.items()
        )
    )
    whole = (ROOT / FILE).read_bytes()
    command = [sys.executable, "-m", "tests.mutants", "--list", str(tmp_path), "--page", str(tmp_path / "page.md")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    said = {line.split()[0]: line for line in ran.stdout.splitlines() if line}
    assert {name: said[name].split()[1] for name in MUTANTS} == {
        "0000-broken": "red",
        "0000-broken-table": "red",
        "0000-the-same": "GREEN",
        "0000-not-there": "ERROR",
        "0000-no-module": "ERROR",
    }
    assert "it does not apply" in said["0000-not-there"]
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert (ROOT / FILE).read_bytes() == whole


def test_what_a_mutant_replaces_stands_in_its_file_once() -> None:
    mutant = Mutant("0000-1", FILE, "a = 1", "a = 2")
    assert mutant.applied("a = 1\nb = 1\n") == "a = 2\nb = 1\n"
    for source in ("a = 3\n", "a = 1\na = 1\n"):
        with pytest.raises(DoesNotApply):
            mutant.applied(source)


WHOLE = """
LIMIT = 1
class Thing:
    size: int = LIMIT
    def grow(self, by: int = 1) -> int:
        def twice() -> int:
            return by * 2
        return self.size + twice()
"""


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("by * 2", "by * 3", {"Thing.grow"}),
        ("self.size + ", "", {"Thing.grow"}),
        ("LIMIT = 1", "LIMIT = 2", None),
        ("size: int = LIMIT", "size: int = 0", None),
        ("by: int = 1", "by: int = 2", None),
    ],
)
def test_only_what_stands_in_functions_is_taken_without_importing_anew(
    before: str, after: str, changed: set[str] | None
) -> None:
    assert changed_functions(WHOLE, WHOLE.replace(before, after)) == changed
