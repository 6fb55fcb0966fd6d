"""Pages that tests hold: no error code and no event without its line, no threat without a test."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ERRORS, EVENTS = ROOT / "docs/reference/errors.md", ROOT / "docs/reference/events.md"
SECURITY = ROOT / "docs/explanation/security.md"

_DOTTED = re.compile(r"(action|notice|rule|intent|plan|task|coordinator|portfolio|engagement)\.[a-z_]+")
_NAMED = re.compile(
    r"[a-z_]+_(created|changed|patched|assigned|unassigned|added|removed|recorded|resolved|triggered|set)"
    r"|lease_[a-z]+ed|(added_to|removed_from)_portfolio"
)
NO_EVENTS = {"governance_policy.deadline"}


def rows(page: Path) -> dict[str, str]:
    """What a page's tables say of each code or event."""
    lines = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]
    return {cell.strip("`"): cells[-1] for cells in lines for cell in cells[:-1] if cell.startswith("`")}


def modules(folder: str) -> Iterator[ast.Module]:
    for file in sorted((ROOT / folder).rglob("*.py")):
        if "migrations" not in file.parts:
            yield ast.parse(file.read_text())


def constants(folder: str) -> Iterator[ast.AST]:
    for module in modules(folder):
        yield from ast.walk(module)


def texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def named_constants() -> Iterator[str]:
    """The texts that have a name of their own in a module of ``core``."""
    for module in modules("core"):
        for node in module.body:
            if isinstance(node, ast.Assign):
                yield from texts(node.value)


def test_the_page_of_errors_is_as_it_is_drawn() -> None:
    """An error without a docstring raises here, with its name."""
    drawn = runpy.run_path(str(ROOT / "docs/internals/draw_errors.py"))["page"]()
    assert drawn == ERRORS.read_text(), "python docs/internals/draw_errors.py > docs/reference/errors.md draws it again"


def test_every_error_that_is_written_by_hand_is_on_the_page() -> None:
    """``envelope("…")`` names a code that no class stands for."""
    codes = {
        text
        for node in constants("bot")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "envelope"
        for text in texts(node.args[0])
    }
    assert len(codes) > 5
    assert codes - rows(ERRORS).keys() == set()


def test_every_event_has_its_line_and_every_line_is_an_event() -> None:
    dotted = {text for node in constants("core") for text in texts(node) if _DOTTED.fullmatch(text)}
    named = {text for text in named_constants() if _NAMED.fullmatch(text)}
    assert len(dotted) > 30 and len(named) > 15
    assert (dotted | named) - NO_EVENTS == rows(EVENTS).keys()


def test_each_line_says_something() -> None:
    for page in (ERRORS, EVENTS):
        assert [name for name, text in rows(page).items() if len(text.split()) < 2 or not text.endswith(".")] == []


def threats() -> list[list[str]]:
    """The rows of the table of threats, cell by cell."""
    _, _, below = SECURITY.read_text().partition("\n## Threats\n")
    table, _, _ = below.partition("\n## ")
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]


def test_each_threat_names_its_defence_and_tests_that_exist() -> None:
    assert len(threats()) > 20
    missing = []
    for attacker, _, defence, held in threats():
        assert attacker and len(defence.split()) > 2
        for file, _, name in (node.partition("::") for node in held.split(", ")):
            if not re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE):
                missing.append(f"{file}::{name}")
    assert missing == []
