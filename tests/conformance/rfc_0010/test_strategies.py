"""RFC-0010, "Strategies": when the next go is due, with the cap, a spread, and an end."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from core.openintent.domain.retry import FailurePolicy, RetryStrategy, retry_delay
from tests.conformance.rfc_0010.failing import fail, intent_with, logged
from tests.world import World

PATTERNS = {
    "fixed": [1, 1, 1, 1],
    "exponential": [1, 2, 4, 8],
    "linear": [1, 2, 3, 4],
}
"""Seconds after the failure of attempt 1, 2, …: the table's last column."""


def test_each_strategy_waits_as_its_pattern_says() -> None:
    for name, seconds in PATTERNS.items():
        policy = FailurePolicy(RetryStrategy(name))
        waits = [retry_delay(policy, attempt) for attempt in range(1, 5)]
        assert waits == [timedelta(seconds=one) for one in seconds], name


@pytest.mark.parametrize("strategy", list(RetryStrategy))
@pytest.mark.parametrize("draw", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_no_wait_is_above_the_longest_or_nothing_at_all(strategy: RetryStrategy, draw: float) -> None:
    policy = FailurePolicy(strategy, base_delay_ms=1, max_delay_ms=7000)
    for attempt in (1, 2, 40, 100, 1_000_000):
        assert timedelta(0) < retry_delay(policy, attempt, draw) <= timedelta(milliseconds=7000)


def test_a_draw_spreads_the_wait_by_a_tenth_to_either_side() -> None:
    policy = FailurePolicy(RetryStrategy.FIXED, base_delay_ms=1000)
    waits = [retry_delay(policy, 1, draw) / timedelta(milliseconds=1) for draw in (0.0, 0.5, 1.0)]
    assert waits == [900, 1000, 1100]


def test_the_longest_wait_is_reached_and_never_passed() -> None:
    policy = FailurePolicy(RetryStrategy.EXPONENTIAL, base_delay_ms=1000, max_delay_ms=5000)
    assert [retry_delay(policy, attempt).seconds for attempt in range(1, 6)] == [1, 2, 4, 5, 5]
    assert retry_delay(policy, 5, 1.0) == timedelta(seconds=5)


def waits_of(recorded: list[dict[str, str | None]]) -> list[float | None]:
    """The seconds between each failure and its retry."""
    return [
        None
        if one["retry_scheduled_at"] is None
        else (
            datetime.fromisoformat(one["retry_scheduled_at"]) - datetime.fromisoformat(str(one["occurred_at"]))
        ).total_seconds()
        for one in recorded
    ]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("strategy", PATTERNS)
async def test_a_failure_is_given_the_time_of_its_retry(room: World, strategy: str) -> None:
    intent = await intent_with(room, strategy=strategy, max_retries=4, failure_threshold=100)
    recorded = [await fail(room, intent) for _ in range(5)]
    assert [one["attempt_number"] for one in recorded] == [1, 2, 3, 4, 5]
    assert waits_of(recorded) == [*PATTERNS[strategy], None]


@pytest.mark.asyncio(loop_scope="module")
async def test_none_retries_nothing(room: World) -> None:
    intent = await intent_with(room, strategy="none", max_retries=5)
    assert (await fail(room, intent))["retry_scheduled_at"] is None
    [said] = await logged(room, intent, "failure_recorded")
    assert said["exhausted"] is True


@pytest.mark.asyncio(loop_scope="module")
async def test_max_retries_counts_the_tries_after_the_first(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", max_retries=2)
    recorded = [await fail(room, intent, attempt_number=number) for number in (1, 2, 3)]
    assert [one["retry_scheduled_at"] is None for one in recorded] == [False, False, True]


@pytest.mark.asyncio(loop_scope="module")
async def test_the_delays_of_the_service_differ(room: World) -> None:
    """By default they are drawn: agents that failed together do not come back together."""
    from random import random

    drawn, room.service.services.openintent.retrying.draw = room.service.services.openintent.retrying.draw, random
    intent = await intent_with(room, strategy="fixed", base_delay_ms=100_000, max_delay_ms=200_000)
    try:
        waits = waits_of([await fail(room, intent, attempt_number=1) for _ in range(20)])
    finally:
        room.service.services.openintent.retrying.draw = drawn
    assert len(set(waits)) > 1 and all(one is not None and 90 <= one <= 110 for one in waits)
