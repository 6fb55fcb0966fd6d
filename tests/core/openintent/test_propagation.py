"""What the move of one intent does to those around it: the rules alone (RFC-0002; RFC-0026 §2; API.md §7)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.domain.intent import EdgeKind, Intent, IntentHold, IntentStatus
from core.errors import DependenciesIncomplete
from core.openintent.domain.propagation import (
    Upstreams,
    check_completion,
    check_ready,
    check_unblocked,
    dependency_added,
    settled,
    upstream_abandoned,
    upstream_suspended,
    upstreams_changed,
)

NOW = datetime(2026, 3, 24, 10, tzinfo=UTC)
DRAFT, ACTIVE, BLOCKED = IntentStatus.DRAFT, IntentStatus.ACTIVE, IntentStatus.BLOCKED
SUSPENDED, COMPLETED, ABANDONED = IntentStatus.SUSPENDED, IntentStatus.COMPLETED, IntentStatus.ABANDONED
NONE, ALL = Upstreams(), frozenset(IntentStatus)


def intent(status: IntentStatus, held: IntentHold = IntentHold.NONE, name: str = "one") -> Intent:
    return Intent(
        id=name,
        title="t",
        description="",
        status=status,
        version=3,
        state={},
        constraints={},
        confidence=0.0,
        created_by="refund-agent",
        created_at=NOW,
        updated_at=NOW,
        held=held,
    )


def unmet(*statuses: IntentStatus, kind: str = EdgeKind.DEPENDENCY) -> Upstreams:
    return Upstreams({(kind, status): 1 for status in statuses})


@pytest.mark.parametrize("status", sorted(ALL))
def test_only_an_active_dependent_is_blocked_when_an_upstream_is_suspended(status: IntentStatus) -> None:
    after = upstream_suspended(intent(status), "up", IntentHold.UPSTREAM)
    assert after.intent.status is (BLOCKED if status is ACTIVE else status)
    assert after.intent.version == (4 if status is ACTIVE else 3)
    assert (after.event is not None) is (status is ACTIVE)
    assert after.intent.held == (IntentHold.UPSTREAM if status in {ACTIVE, SUSPENDED} else IntentHold.NONE)


def test_what_was_blocked_by_its_own_agent_is_never_ours() -> None:
    own = intent(BLOCKED)
    assert upstream_suspended(own, "up", IntentHold.UPSTREAM).intent == own
    assert upstreams_changed(own, NONE).intent == own
    check_unblocked(own, unmet(ACTIVE))


def test_our_own_block_ends_when_all_upstreams_are_completed_and_no_sooner() -> None:
    held = intent(BLOCKED, IntentHold.UPSTREAM)
    for left in (unmet(ACTIVE), unmet(SUSPENDED, DRAFT), unmet(ABANDONED)):
        assert upstreams_changed(held, left).intent == held
        with pytest.raises(DependenciesIncomplete):
            check_unblocked(held, left)
    after = upstreams_changed(held, NONE)
    assert (after.intent.status, after.intent.held, after.intent.version) == (ACTIVE, IntentHold.NONE, 4)
    assert after.event is not None
    assert after.event.payload == {"from": "blocked", "to": "active", "reason": "dependencies_completed"}


def test_children_hold_nobody_and_keep_their_parent_from_being_completed() -> None:
    children = unmet(ACTIVE, SUSPENDED, kind=EdgeKind.CHILD)
    assert settled(DRAFT, intent(ACTIVE), children).intent.status is ACTIVE
    assert upstreams_changed(intent(BLOCKED, IntentHold.UPSTREAM), children).intent.status is ACTIVE
    check_ready(children)
    with pytest.raises(DependenciesIncomplete) as refusal:
        check_completion(intent(ACTIVE), children)
    assert refusal.value.details == {"incomplete_dependencies": 0, "incomplete_children": 2}


def test_every_status_but_completed_keeps_the_gate_shut() -> None:
    check_completion(intent(ACTIVE), NONE)
    for status in ALL - {COMPLETED}:
        with pytest.raises(DependenciesIncomplete):
            check_completion(intent(ACTIVE), unmet(status))
    with pytest.raises(DependenciesIncomplete):
        check_completion(intent(BLOCKED), NONE)


def test_a_draft_is_activated_only_with_its_dependencies_completed() -> None:
    blocked = settled(DRAFT, intent(ACTIVE), unmet(ACTIVE))
    assert (blocked.intent.status, blocked.intent.held) == (BLOCKED, IntentHold.UPSTREAM)
    assert blocked.event is not None and blocked.event.payload["reason"] == "dependencies_incomplete"
    assert settled(DRAFT, intent(ACTIVE), NONE).intent.status is ACTIVE
    with pytest.raises(DependenciesIncomplete):
        check_ready(unmet(ACTIVE))


def test_what_is_owed_is_paid_when_the_own_suspension_ends_unless_all_are_completed_by_then() -> None:
    owed = intent(ACTIVE, IntentHold.UPSTREAM)
    assert settled(SUSPENDED, owed, unmet(ACTIVE)).intent.status is BLOCKED
    free = settled(SUSPENDED, owed, NONE)
    assert (free.intent.status, free.intent.held, free.event) == (ACTIVE, IntentHold.NONE, None)
    assert settled(SUSPENDED, intent(ACTIVE), unmet(SUSPENDED)).intent.status is BLOCKED
    assert settled(SUSPENDED, intent(ACTIVE), unmet(ACTIVE)).intent.status is ACTIVE


def test_who_lifts_its_own_block_under_a_suspended_upstream_is_blocked_by_us() -> None:
    after = settled(BLOCKED, intent(ACTIVE), unmet(SUSPENDED))
    assert (after.intent.status, after.intent.held) == (BLOCKED, IntentHold.UPSTREAM)


@pytest.mark.parametrize("status", [COMPLETED, ABANDONED])
def test_whoever_has_ended_is_held_by_nobody(status: IntentStatus) -> None:
    assert settled(SUSPENDED, intent(status, IntentHold.UPSTREAM), unmet(SUSPENDED)).intent.held is IntentHold.NONE
    assert upstream_abandoned(intent(status), intent(ABANDONED, name="up")).event is None


def test_a_dependency_that_is_added_blocks_only_while_it_is_suspended() -> None:
    for status in ALL - {SUSPENDED}:
        assert dependency_added(intent(ACTIVE), intent(status, name="up")).intent.status is ACTIVE
    asked = intent(SUSPENDED, name="up")
    assert dependency_added(intent(ACTIVE), asked).intent.status is BLOCKED
    assert dependency_added(intent(SUSPENDED), asked).intent.held is IntentHold.UPSTREAM
    assert dependency_added(intent(DRAFT), asked).intent == intent(DRAFT)


def test_one_hold_may_end_while_another_keeps_the_intent_blocked() -> None:
    both = intent(BLOCKED, IntentHold.UPSTREAM | IntentHold.COORDINATOR)
    after = upstreams_changed(both, unmet(ACTIVE, kind=EdgeKind.INPUT))
    assert (after.intent.status, after.intent.held, after.event) == (BLOCKED, IntentHold.COORDINATOR, None)
