"""Only ``core/database`` tells one database from the other; migrations are written for each."""

from __future__ import annotations

import ast
import re
from pathlib import Path

CORE = Path(__file__).parents[3] / "core"
NAMED = re.compile(r"^(sqlite|postgresql)|^sqlalchemy\.dialects")


def test_only_core_database_names_a_dialect() -> None:
    naming = [
        path.relative_to(CORE).as_posix()
        for path in sorted(CORE.rglob("*.py"))
        if path.relative_to(CORE).parts[0] != "database" and "migrations" not in path.parts and _names_one(path)
    ]
    assert naming == []


def _names_one(path: Path) -> bool:
    """Whether a text, a module or a keyword in it is a dialect's, or ``dialect.name`` is looked at."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr == "name" and ast.unparse(node.value).endswith("dialect"):
            return True
        values = (value for _, value in ast.iter_fields(node) if isinstance(value, str))
        if not isinstance(node, ast.Expr) and any(NAMED.search(value) for value in values):
            return True
    return False
