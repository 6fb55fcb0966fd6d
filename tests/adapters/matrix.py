"""The matrix: what holds of which framework, and of MCP. Tests fill its cells; as a plugin of pytest it is printed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

import pytest

from tests.adapters.frameworks import FRAMEWORKS, MCP_ROWS, Framework

COLUMNS = (
    *("approve", "deny with reason", "silence", "edited", "two at once"),
    *("died asking", "died in the tool", "second resume"),
)

HELD: dict[tuple[str, str], str] = {}
"""Of a row and a column: what came of its test."""

Record = Callable[[str, object], None]


def column(name: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """The test is the matrix' column called ``name``."""
    assert name in COLUMNS

    def named(test: Callable[..., object]) -> Callable[..., object]:
        test.column = name  # type: ignore[attr-defined]
        return test

    return named


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Here too if a worker of pytest-xdist ran it."""
    said = dict(report.user_properties)
    if "column" in said and (report.when == "call" or report.failed):
        HELD[str(said["row"]), str(said["column"])] = str(said.get("cell", "yes")) if report.passed else "NO"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The matrix: every framework and every way of MCP with its version, and what held of it."""
    if not HELD:
        return
    rows = table(HELD)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    terminalreporter.section("adapters")
    for row in rows:
        terminalreporter.write_line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def table(held: Mapping[tuple[str, str], str]) -> list[list[str]]:
    """The heading and the rows, of what came of each row's columns. A row that nothing was tried of is left out; ``-``
    stands for a column that was not tried, or that the row has no meaning for."""
    columns = [column for column in COLUMNS if column in {tried for _, tried in held}]
    tried = {row for row, _ in held}
    rows = [[_with_version(one), *_cells(held, one.name, columns)] for one in FRAMEWORKS if one.name in tried]
    rows += [[f"mcp {version('mcp')}, {row}", *_cells(held, row, columns)] for row in MCP_ROWS if row in tried]
    return [["", *columns], *rows]


def _cells(held: Mapping[tuple[str, str], str], row: str, columns: Sequence[str]) -> list[str]:
    return [held.get((row, column), "-") for column in columns]


def _with_version(framework: Framework) -> str:
    asking = f"import importlib.metadata as m; print(m.version({framework.distributions[0]!r}))"
    ran = subprocess.run([framework.python, "-c", asking], check=True, capture_output=True, text=True)
    return f"{framework.distributions[0]} {ran.stdout.strip()} {framework.kind}".strip()
