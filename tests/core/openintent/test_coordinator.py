"""A coordinator as it stands, and as it is changed (RFC-0013)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.errors import InvalidTransition
from core.openintent.domain.coordinator import (
    Coordinator,
    CoordinatorChange,
    CoordinatorStatus,
    SuspensionPolicy,
    coordinator_changed,
)

AT = datetime(2026, 3, 24, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ONE = Coordinator(
    "c", "i", None, "agent", CoordinatorStatus.ACTIVE, SuspensionPolicy.ISOLATE, MINUTE, AT, "owner", expires_at=None
)


def test_two_heartbeats_may_be_missed() -> None:
    assert ONE.shown_status(AT + 2 * MINUTE) is CoordinatorStatus.ACTIVE
    assert ONE.shown_status(AT + 2.1 * MINUTE) is CoordinatorStatus.UNRESPONSIVE
    beaten = replace(ONE, last_heartbeat=AT + MINUTE)
    assert beaten.shown_status(AT + 2.1 * MINUTE) is CoordinatorStatus.ACTIVE


def test_one_that_is_paused_owes_no_heartbeat() -> None:
    paused = replace(ONE, status=CoordinatorStatus.PAUSED)
    assert paused.shown_status(AT + 10 * MINUTE) is CoordinatorStatus.PAUSED


def test_it_is_done_at_its_end_to_the_second() -> None:
    ends = replace(ONE, expires_at=AT + MINUTE)
    assert ends.shown_status(AT + 0.9 * MINUTE) is CoordinatorStatus.ACTIVE
    assert ends.shown_status(AT + MINUTE) is CoordinatorStatus.COMPLETED
    with pytest.raises(InvalidTransition):
        coordinator_changed(ends, CoordinatorChange(CoordinatorStatus.ACTIVE), AT + MINUTE)


def test_what_is_left_out_stays() -> None:
    after = coordinator_changed(ONE, CoordinatorChange(guardrails={"most": 3}), AT)
    assert (after.status, after.suspension_policy) == (ONE.status, ONE.suspension_policy)
    assert (after.details, after.version) == ({"guardrails": {"most": 3}}, 2)
