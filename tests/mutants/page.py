"""The requirements of ``docs/reference/conformance.md``: every row of its tables that begins with an id."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path("docs") / "reference" / "conformance.md"
OUT_OF_SCOPE = "out of scope: "
ROW = re.compile(r"^\| (?P<id>(?:\d{4}|[HS])-\S+) \| (?P<rule>.+) \| (?P<held>.*) \|$")
NODE = re.compile(r"`((?:sdk/)?tests/[\w/]+\.py::test_\w+(?:\[[^`]+\])?)`")


@dataclass(frozen=True)
class Requirement:
    """One row. ``tests`` are pytest's node ids; without any, ``held`` says why it is out of scope."""

    id: str
    rule: str
    held: str

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(NODE.findall(self.held))


def requirements(text: str) -> Sequence[Requirement]:
    """Every row, in the page's order."""
    rows = (ROW.match(line) for line in text.splitlines())
    return [Requirement(row["id"], row["rule"], row["held"]) for row in rows if row]
