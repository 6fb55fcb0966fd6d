"""The README's picture of the machine is the machine's own."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_readme_shows_the_moves_as_they_are() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_machine.py"))["diagram"]()
    assert drawn in (ROOT / "README.md").read_text()
