"""Portfolios: intents that somebody looks at together. What they are, and what their members come to; pure.

A portfolio has no state of its members' making: its own status is its owner's word, and what its members come to is
worked out when it is read (RFC-0026 §2 rule 1, rule 4).

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
    """``deadline`` is the one of its ``governance_policy``. ``created_by`` is the key whose it is."""

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
    """An intent in a portfolio. A higher ``priority`` comes first; nothing goes by it here, nor by the role."""

    id: str
    portfolio_id: str
    intent_id: str
    role: MembershipRole
    priority: int
    added_at: datetime


def progress(members: Aggregate) -> PortfolioProgress:
    """Completed when all members are, failed when any is abandoned, else in progress; so is a portfolio without any."""
    if members.counts.get(IntentStatus.ABANDONED):
        return PortfolioProgress.FAILED
    if members.total and members.counts.get(IntentStatus.COMPLETED) == members.total:
        return PortfolioProgress.COMPLETED
    return PortfolioProgress.IN_PROGRESS


def suspended(members: Aggregate) -> int:
    """How many of them wait for a person."""
    return members.counts.get(IntentStatus.SUSPENDED, 0)


def check_portfolio_move(current: PortfolioStatus, wanted: PortfolioStatus) -> None:
    """Raises :class:`InvalidTransition` for all but an active portfolio's end."""
    if current is not PortfolioStatus.ACTIVE or wanted is PortfolioStatus.ACTIVE:
        raise InvalidTransition(f"A portfolio can't go from {current} to {wanted}.", status=current.value)


def was_in(portfolio_id: str, position: int, comings_and_goings: Sequence[tuple[int, str, str]]) -> bool:
    """Whether an intent was in the portfolio at that place of its log; both lines that say so belong to it."""
    within = False
    for at, what, portfolio in comings_and_goings:
        if portfolio != portfolio_id or at > position:
            continue
        within = what == ADDED or at == position
    return within
