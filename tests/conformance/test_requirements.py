"""``docs/reference/conformance.md`` is true: every row names tests that exist, or says why it is out of scope. Every
rule that tests hold is broken by a mutant that applies, or the list says why not (``tests/mutants``)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.mutants import Mutant, listed
from tests.mutants.page import NODE, OUT_OF_SCOPE, PAGE, Requirement, requirements

ROOT = Path(__file__).parents[2]
ROWS = requirements((ROOT / PAGE).read_text())
MUTANTS, UNBROKEN = listed()
HELD = {row.id: row for row in ROWS if row.tests}


def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_the_page_has_requirements_and_each_has_an_id_of_its_own() -> None:
    assert ROWS
    assert [name for name, count in Counter(row.id for row in ROWS).items() if count > 1] == []


def test_every_line_of_a_table_is_read() -> None:
    lines = [
        line for line in (ROOT / PAGE).read_text().splitlines() if line.startswith("| ") and "| Held by |" not in line
    ]
    assert len(lines) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_requirement_is_held_by_tests_that_exist_or_out_of_scope(row: Requirement) -> None:
    if not row.tests:
        assert row.held.startswith(OUT_OF_SCOPE) and len(row.held) > len(OUT_OF_SCOPE)
        return
    assert NODE.sub("", row.held).replace(", ", "") == "", "beside tests there is nothing in the last column"
    for file, _, name in (node.partition("::") for node in row.tests):
        assert name.partition("[")[0] in names_in(file), f"{file} has no {name}"


def test_every_requirement_that_is_held_is_broken_or_the_list_says_why_not() -> None:
    broken = {one.breaks for one in MUTANTS}
    assert broken | set(UNBROKEN) == set(HELD)
    assert broken & set(UNBROKEN) == set()
    assert all(UNBROKEN.values())


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{one.breaks}-{number}" for number, one in enumerate(MUTANTS)])
def test_a_mutant_applies_and_names_a_test_of_its_row(mutant: Mutant) -> None:
    broken = mutant.applied((ROOT / mutant.file).read_text())
    if mutant.file.endswith(".py"):
        compile(broken, mutant.file, "exec")
    assert mutant.tests_of(HELD[mutant.breaks].tests)
