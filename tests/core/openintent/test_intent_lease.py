"""When a lease on an intent ends, and what stands (RFC-0003; RFC-0025 §2; decision 0055)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.intent import IntentStatus, Wait
from core.errors import ScopeNotHeld
from core.openintent.domain.intent_lease import (
    GRACE,
    IntentLease,
    LeaseStatus,
    as_it_stands,
    ends_at,
    let_go,
    next_look,
    renewed,
)
from tests.core.examples import after
from tests.core.store_examples import an_intent

TEN = after(minutes=10)
LEASE = IntentLease("lease-1", "intent-1", "agent", "refunds", LeaseStatus.ACTIVE, after(minutes=0), TEN)
INTENT = replace(an_intent(), status=IntentStatus.ACTIVE)
WAITING = replace(INTENT, status=IntentStatus.SUSPENDED)


def wait(began: float, ended: float | None) -> Wait:
    return Wait(after(minutes=began), None if ended is None else after(minutes=ended))


@pytest.mark.parametrize(
    ("waits", "end"),
    [
        ([], TEN),
        ([wait(2, 5)], TEN),  # over before it matters
        ([wait(2, 9.9)], TEN),
        ([wait(2, 10)], after(minutes=10) + GRACE),
        ([wait(2, 50)], after(minutes=50) + GRACE),
        ([wait(2, None)], None),
        ([wait(10, 50)], TEN),  # it had ended
        ([wait(11, None)], TEN),
        ([wait(2, 50), wait(50.5, 70)], after(minutes=70) + GRACE),
        ([wait(2, 50), wait(50.5, None)], None),
        ([wait(2, 50), wait(51, None)], after(minutes=51)),
        ([wait(2, 5), wait(20, None)], TEN),
    ],
)
def test_a_wait_holds_up_the_end_of_what_stood_when_it_began(waits: list[Wait], end: datetime | None) -> None:
    assert ends_at(LEASE, waits) == end


def test_the_end_is_the_first_instant_at_which_it_does_not_stand() -> None:
    assert as_it_stands(LEASE, INTENT, [], TEN - timedelta(microseconds=1)) == LEASE
    assert as_it_stands(LEASE, INTENT, [], TEN).status is LeaseStatus.EXPIRED


@pytest.mark.parametrize("status", [IntentStatus.COMPLETED, IntentStatus.ABANDONED])
def test_on_an_intent_that_is_over_nothing_is_held(status: IntentStatus) -> None:
    over = replace(INTENT, status=status, updated_at=after(minutes=5))
    assert as_it_stands(LEASE, over, [], after(minutes=6)) == let_go(LEASE, LeaseStatus.RELEASED, after(minutes=5))
    later = replace(over, updated_at=after(minutes=11))
    assert as_it_stands(LEASE, later, [], after(minutes=12)).status is LeaseStatus.EXPIRED


@pytest.mark.parametrize("how", [LeaseStatus.RELEASED, LeaseStatus.EXPIRED, LeaseStatus.REVOKED])
def test_what_has_ended_stays_ended_and_is_not_renewed(how: LeaseStatus) -> None:
    ended = replace(LEASE, status=how)
    assert as_it_stands(ended, WAITING, [wait(2, None)], after(minutes=3)) == ended
    with pytest.raises(ScopeNotHeld):
        renewed(ended, timedelta(seconds=5), after(minutes=3))


def test_a_renewal_counts_from_now_on() -> None:
    assert renewed(LEASE, timedelta(seconds=5), after(minutes=3)).expires_at == after(minutes=3, seconds=5)


@pytest.mark.parametrize(("held_up", "again"), [(0, 1), (1, 1), (4, 4), (15, 15), (10_000, 15)])
def test_a_long_wait_is_looked_at_ever_less_often(held_up: int, again: int) -> None:
    now = TEN + timedelta(minutes=held_up)
    assert next_look(LEASE, WAITING, now) == now + timedelta(minutes=again)


minutes = st.integers(0, 200)


@given(st.lists(minutes, max_size=8, unique=True).map(sorted), minutes)
def test_a_lease_never_comes_back(edges: list[int], length: int) -> None:
    """Whatever is asked when: once it has ended, no later instant of the same story finds it held."""
    lease = replace(LEASE, expires_at=after(minutes=length))
    held = []
    for now in range(210):
        waits = [
            wait(began, ended if ended is not None and ended <= now else None)
            for began, ended in zip(edges[::2], [*edges[1::2], None], strict=False)
            if began <= now
        ]
        intent = WAITING if waits and waits[-1].ended is None else INTENT
        held.append(as_it_stands(lease, intent, waits, after(minutes=now)).is_active)
    assert held == sorted(held, reverse=True)
