"""Problems: all errors of a configuration, reported at once; each with its key and what is allowed.

A text is never quoted, since a misplaced one may be a secret: a value is reported by its kind. Only a number, true and
false are reported as they are, and not even those if the setting is a secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue

from core.errors import ConfigError

MOST_LINES = 50
"""So many are written out; whoever has more has them from one mistake."""

_KINDS = ((str, "text"), (list, "a list"), (dict, "keys and values"), (date, "a date"), (int | float, "a number"))


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """``key`` is the setting as the file has it (``people[0].email``), or the variable that it comes from; empty if the
    file as a whole is meant. ``message`` is one sentence with the key in it, ``nearest`` the known key that was
    probably meant. ``file`` is absent if a variable is to be mended."""

    key: str
    message: str
    file: Path | None = None
    found: str | None = None
    nearest: str | None = None

    @property
    def line(self) -> str:
        said = self.message if self.found is None else f"{self.message}; found {self.found}"
        return said if self.file is None else f"{self.file}: {said}"

    @property
    def about(self) -> str:
        """The line without its file and its key."""
        return replace(self, message=self.message.removeprefix(f"{self.key} "), file=None).line

    def as_json(self) -> dict[str, str]:
        """Without what there is nothing to say of."""
        file = None if self.file is None else str(self.file)
        fields = {"key": self.key, "message": self.message, "found": self.found, "nearest": self.nearest, "file": file}
        return {name: value for name, value in fields.items() if value is not None}


class InvalidConfiguration(ConfigError):
    """The configuration has errors, each of them among ``fields``. Nothing of it was taken in.

    A lone problem is the ``message``; of several, each is one of the ``lines``.
    """

    code: ClassVar[str] = "invalid_configuration"

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        several = f"there are {len(self.problems)} errors in the configuration"
        fields: list[JsonValue] = [{"path": one.key, "message": one.about} for one in self.problems]
        super().__init__(self.problems[0].line if len(self.problems) == 1 else several, fields=fields)

    @property
    def lines(self) -> Sequence[str]:
        if len(self.problems) == 1:
            return (self.message,)
        more = len(self.problems) - MOST_LINES
        rest = [f"  and {more} more"] if more > 0 else []
        return (f"{self.message}:", *(f"  {problem.line}" for problem in self.problems[:MOST_LINES]), *rest)


def kind_of(value: object, *, is_secret: bool) -> str | None:
    """What was found, in words; ``None`` for what was not there at all."""
    if isinstance(value, bool | int | float) and not is_secret:
        return str(value).lower()
    return next((word for kind, word in _KINDS if isinstance(value, kind)), None)
