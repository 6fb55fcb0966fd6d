"""What the members of a portfolio come to, how one ends, and whether its deadline came first (RFC-0026 §2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.domain.intent import IntentStatus
from core.errors import InvalidTransition
from core.openintent.domain.portfolio import (
    Aggregate,
    PortfolioProgress,
    PortfolioStatus,
    check_portfolio_move,
    progress,
)

NOON = datetime(2026, 3, 24, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DONE, GIVEN_UP, WAITING = IntentStatus.COMPLETED, IntentStatus.ABANDONED, IntentStatus.SUSPENDED


@pytest.mark.parametrize(
    ("by_status", "expected"),
    [
        ({}, PortfolioProgress.IN_PROGRESS),
        ({DONE: 3}, PortfolioProgress.COMPLETED),
        ({DONE: 2, GIVEN_UP: 1}, PortfolioProgress.FAILED),
        ({GIVEN_UP: 1, WAITING: 1}, PortfolioProgress.FAILED),
        ({DONE: 2, WAITING: 1}, PortfolioProgress.IN_PROGRESS),
        ({WAITING: 2}, PortfolioProgress.IN_PROGRESS),
        *(
            ({DONE: 1, other: 1}, PortfolioProgress.IN_PROGRESS)
            for other in IntentStatus
            if other not in {DONE, GIVEN_UP}
        ),
    ],
)
def test_the_aggregate_is_as_the_rfcs_table_says(
    by_status: dict[IntentStatus, int], expected: PortfolioProgress
) -> None:
    assert progress(Aggregate(by_status)) is expected


def test_an_active_portfolio_ends_once() -> None:
    allowed = set()
    for current in PortfolioStatus:
        for wanted in PortfolioStatus:
            try:
                check_portfolio_move(current, wanted)
            except InvalidTransition:
                continue
            allowed.add((current.value, wanted.value))
    assert allowed == {("active", "completed"), ("active", "abandoned")}
