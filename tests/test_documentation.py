"""The documentation names files that exist: pages, their links, and each package's half page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PACKAGES = sorted(path for top in ("core", "channels", "bot") for path in (ROOT / top).rglob("__init__.py"))
FILE = re.compile(r"\b((?:core|channels|bot|tests|docs|sdk)/[\w/.-]+\.(?:py|md))\b")
NO_MODULES = {"handraise", "now", "suspension_id", "yaml"}
"""Words in the packages' half pages that stand in double backticks and are no modules."""


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_file_that_a_page_names_or_links_to_exists(page: Path) -> None:
    text = page.read_text()
    named = {ROOT / path for path in FILE.findall(text)}
    linked = {page.parent / path for path in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in path}
    assert [str(path) for path in sorted(named | linked) if not path.exists()] == []


@pytest.mark.parametrize("package", PACKAGES, ids=_id)
def test_every_package_says_what_it_is_and_names_only_modules_that_exist(package: Path) -> None:
    said = ast.get_docstring(ast.parse(package.read_text()))
    assert said, "an empty __init__.py: say what happens here, in which order to read, what must never be"
    folder = package.parent
    known = {path.stem for path in [*folder.iterdir(), *folder.parent.iterdir()]}
    for inside in (path for path in folder.iterdir() if path.is_dir()):
        known |= {path.stem for path in inside.iterdir()}
    named = {word.split(".")[-1] for word in re.findall(r"``([a-z_]+(?:\.[a-z_]+)?)``", said)}
    assert sorted(named - known - NO_MODULES) == []


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_every_page_stands_in_the_index() -> None:
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text()
    pages = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    assert [page for page in sorted(pages) if not page.startswith("decisions/0") and f"({page})" not in index] == [
        "README.md"
    ]


def test_every_decision_stands_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    assert [path.name for path in sorted(folder.glob("0*.md")) if f"({path.name})" not in index] == []


def test_no_decision_has_another_ones_number() -> None:
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("0*.md")]
    assert len(numbers) == len(set(numbers))
