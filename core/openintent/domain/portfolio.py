"""Portfolios: groups of intents, and the progress of their members. Pure.

Members never change a portfolio: its status is its owner's word, and its progress is computed when it is read (RFC-0026
§2 rule 1, rule 4).

Source: RFC-0007; RFC-0026 §2, §10; docs/decisions/0060.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from core.domain.intent import IntentStatus
from core.errors import InvalidTransition
from core.openintent.domain.aggregate import Aggregate

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
