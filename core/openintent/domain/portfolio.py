"""Portfolios: groups of intents, and the progress of their members; and the aggregate of an intent's children. Pure.

Members never change a portfolio: its status is its owner's word, and its progress is computed when it is read (RFC-0026
§2 rule 1, rule 4).

Source: RFC-0002; RFC-0007; RFC-0026 §2, §10; docs/decisions/0060.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from core.domain.intent import IntentStatus
from core.errors import InvalidTransition


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


ADDED = "added_to_portfolio"
REMOVED = "removed_from_portfolio"


class PortfolioStatus(StrEnum):
    """What the owner says of it. The words of the published client, which knows no others."""

    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class MembershipRole(StrEnum):
    """What an intent is in a portfolio. Nothing goes by it."""

    PRIMARY = "primary"
    MEMBER = "member"
    DEPENDENCY = "dependency"


class PortfolioProgress(StrEnum):
    """What the members of a portfolio come to (RFC-0026 §2 rule 4)."""

    COMPLETED = "completed"
    FAILED = "failed"
    IN_PROGRESS = "in_progress"


@dataclass(frozen=True, slots=True)
class Portfolio:
    """``deadline`` is the one of its ``governance_policy``. ``created_by`` is the key that owns it."""

    id: str
    name: str
    description: str | None
    created_by: str
    status: PortfolioStatus
    governance_policy: Mapping[str, JsonValue]
    deadline: datetime | None
    metadata: Mapping[str, JsonValue]
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PortfolioMember:
    """An intent in a portfolio. A higher ``priority`` comes first in lists; neither it nor the role has another
    effect."""

    id: str
    portfolio_id: str
    intent_id: str
    role: MembershipRole
    priority: int
    added_at: datetime


def progress(members: Aggregate) -> PortfolioProgress:
    """Completed if all members are, failed if any is abandoned, else in progress; an empty portfolio is in progress."""
    if members.counts.get(IntentStatus.ABANDONED):
        return PortfolioProgress.FAILED
    if members.total and members.counts.get(IntentStatus.COMPLETED) == members.total:
        return PortfolioProgress.COMPLETED
    return PortfolioProgress.IN_PROGRESS


def suspended(members: Aggregate) -> int:
    """How many of them wait for a person."""
    return members.counts.get(IntentStatus.SUSPENDED, 0)


def check_portfolio_move(current: PortfolioStatus, wanted: PortfolioStatus) -> None:
    """Raises :class:`InvalidTransition` unless an active portfolio ends."""
    if current is not PortfolioStatus.ACTIVE or wanted is PortfolioStatus.ACTIVE:
        raise InvalidTransition(f"A portfolio can't go from {current} to {wanted}.", status=current.value)


def was_in(portfolio_id: str, position: int, comings_and_goings: Sequence[tuple[int, str, str]]) -> bool:
    """Whether an intent was in the portfolio at ``position`` of its log; the lines of its coming and going count as
    in."""
    within = False
    for at, what, portfolio in comings_and_goings:
        if portfolio != portfolio_id or at > position:
            continue
        within = what == ADDED or at == position
    return within
