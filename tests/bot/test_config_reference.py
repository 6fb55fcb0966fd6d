"""The page of all settings is drawn from the models, and each setting says what it does."""

from __future__ import annotations

import runpy
from pathlib import Path

from bot.config.known import TREE, Node, pattern

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "configuration.md"


def settings_of(node: Node, path: tuple[str | int, ...] = ()) -> list[str]:
    """Every key at which a plain value stands."""
    inside = [found for key, below in node.keys.items() for found in settings_of(below, (*path, key))]
    items = settings_of(node.items, (*path, 0)) if node.items is not None else []
    return [*inside, *items] or [pattern(path)]


def test_the_page_is_as_it_is_drawn() -> None:
    """A setting without a docstring raises here, with its key."""
    drawn = runpy.run_path(str(ROOT / "docs" / "internals" / "draw_configuration.py"))["page"]()
    assert drawn == PAGE.read_text(), (
        "python docs/internals/draw_configuration.py > docs/reference/configuration.md draws it again"
    )


def test_every_setting_has_a_row_with_a_meaning() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    meanings = {row[0].strip("`"): row[-1] for row in rows}
    wanted = settings_of(TREE)
    assert len(wanted) > 100
    assert sorted(meanings) == sorted(wanted)
    assert [key for key, meaning in meanings.items() if len(meaning.split()) < 4 or not meaning.endswith(".")] == []
