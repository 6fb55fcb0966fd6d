"""The state diagram of docs/internals/architecture.md is drawn from the machine itself."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_architecture_page_shows_the_moves_as_they_are() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "internals" / "draw_machine.py"))["diagram"]()
    assert drawn in (ROOT / "docs" / "internals" / "architecture.md").read_text()
