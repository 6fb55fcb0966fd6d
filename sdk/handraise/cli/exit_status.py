"""Exit statuses of ``ask`` and ``run``: what a shell's ``&&`` goes by.

Which answer is a no is the service's own rule (:mod:`handraise.negatives`). Silence is 0 only if it was agreed to mean
going on: a fallback that is no refusal, or a veto window without objection. It is never told as a denial.

Source: API.md §9; docs/decisions/0111.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handraise.negatives import is_negative

Record = Mapping[str, Any]

DONE = 0
REFUSED = 1
AWAY = 2
DENIED = 3
NOBODY = 4
CANCELLED = 5
INTERRUPTED = 130


def status_of(ended: Record) -> int:
    """The status for the record of a question that has ended."""
    if ended["resolution"] == "cancelled":
        return CANCELLED
    if ended["resolution"] == "responded":
        return DENIED if ended["response"] in noes(ended) else DONE
    value = ended["continued_with"]
    return NOBODY if value is None or value in noes(ended) else DONE


def value_of(ended: Record) -> Any:
    """The answer, or what silence was agreed to mean; ``None`` if nothing says how to go on."""
    return ended["response"] if ended["resolution"] == "responded" else ended["continued_with"]


def noes(record: Record) -> list[str]:
    """The values of the choices that say no. A text or a form never does."""
    given = {choice["value"]: choice.get("metadata") or {} for choice in record["choices"]}
    return [value for value in given if is_negative(value, given[value], given.keys() - {value})]
