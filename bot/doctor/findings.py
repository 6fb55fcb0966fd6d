"""Findings: the result of a check, its severity, and how to mend it. Pure.

Others' words (a server's greeting, an authserv-id) go through :func:`quoted`, short and on one line.

Source: docs/decisions/0069 (the shape of ``--json``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from handraise.cli.terminal import one_line

_LONGEST_QUOTE = 80


class Severity(StrEnum):
    """A ``fault`` keeps people from being asked or from answering. A ``warning`` may do so later, or for some of
    them."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """``subject`` is a stable name (``slack.scopes``), ``found`` and ``mend`` are sentences. ``mend`` is empty if all
    is well."""

    level: Severity
    subject: str
    found: str
    mend: str = ""

    @property
    def line(self) -> str:
        mend = f" → {self.mend}" if self.mend else ""
        return f"{self.level:<8} {self.subject:<21} {self.found}{mend}"

    @property
    def json(self) -> dict[str, str]:
        return {"level": self.level.value, "subject": self.subject, "found": self.found, "mend": self.mend}


def ok(subject: str, found: str) -> Finding:
    return Finding(Severity.OK, subject, found)


def warning(subject: str, found: str, mend: str) -> Finding:
    return Finding(Severity.WARNING, subject, found, mend)


def fault(subject: str, found: str, mend: str) -> Finding:
    return Finding(Severity.FAULT, subject, found, mend)


def worst(findings: Iterable[Finding]) -> Severity:
    """The worst level among them; ``ok`` if there are none."""
    order = list(Severity)
    return max((one.level for one in findings), key=order.index, default=Severity.OK)


def quoted(text: str) -> str:
    """Another's words, made harmless."""
    return f"“{one_line(text, _LONGEST_QUOTE)}”"


def some(names: Iterable[str], most: int = 5) -> str:
    """``a, b and 3 more``."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
