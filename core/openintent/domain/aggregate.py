"""The aggregate of an intent: the progress of its children (RFC-0002; RFC-0026 §2 rule 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.domain.intent import IntentStatus


@dataclass(frozen=True, slots=True)
class Few:
    """The ids of the oldest of some intents, and ``number``, the count of all."""

    ids: tuple[str, ...] = ()
    number: int = 0


MOST_NAMED = 100
"""So many intents are named of those that block and of those that are ready; all of them are counted."""


def few(ids: Sequence[str]) -> Few:
    """From all ids, oldest first."""
    return Few(tuple(ids[:MOST_NAMED]), len(ids))


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``counts`` by status. ``blocking``: not completed, and others wait for them. ``ready``: drafts and active ones
    whose dependencies are completed."""

    counts: Mapping[IntentStatus, int] = field(default_factory=dict)
    blocking: Few = field(default_factory=Few)
    ready: Few = field(default_factory=Few)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def by_status(self) -> dict[IntentStatus, int]:
        """Every status, also those with no intent."""
        return {status: self.counts.get(status, 0) for status in IntentStatus}

    @property
    def completion_percentage(self) -> int:
        """Rounded down: 100 means that all are completed."""
        return 100 * self.counts.get(IntentStatus.COMPLETED, 0) // self.total if self.total else 0
