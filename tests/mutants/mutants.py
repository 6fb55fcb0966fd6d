"""The mutants: small patches, each of which breaks one requirement. They are listed in the ``.toml`` files beside this.

[[mutant]]
breaks = "0025-2.1"               # the requirement's id
file = "core/domain/machine.py"
before = '''…'''                  # stands in that file exactly once
after = '''…'''
test = "test_name"                # only where one test of the row holds what is broken, and the others do not

[unbroken]
"0025-1.1" = "why no patch breaks it"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).parent


class DoesNotApply(Exception):
    """The text that a mutant replaces is not in its file, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    breaks: str
    file: str
    before: str
    after: str
    test: str | None = None

    def applied(self, source: str) -> str:
        """The broken source; raises :class:`DoesNotApply`."""
        found = source.count(self.before)
        if found != 1:
            raise DoesNotApply(f"what it replaces stands in {self.file} {found} times: {self.before.strip()!r}")
        return source.replace(self.before, self.after)

    def tests_of(self, row: Sequence[str]) -> list[str]:
        """Those of the row's tests that have to fail."""
        return [node for node in row if self.test is None or node.partition("::")[2] == self.test]


def listed(folder: Path = LISTS) -> tuple[Sequence[Mutant], Mapping[str, str]]:
    """All mutants of a folder, and why some requirements have none."""
    mutants: list[Mutant] = []
    unbroken: dict[str, str] = {}
    for file in sorted(folder.glob("*.toml")):
        read = tomllib.loads(file.read_text())
        mutants += [Mutant(**entry) for entry in read.get("mutant", [])]
        unbroken |= read.get("unbroken", {})
    return mutants, unbroken
