"""Leases on an intent: an agent holds a part of it, its scope, alone and until a time.

A lease ends by the wall clock, whether or not its end is written down. While its intent waits for a person it does not
end: its holder stays the holder (RFC-0025 §2). If its time ended meanwhile, it stands for another :data:`GRACE` after
the wait, so that the resumed agent can renew it before another agent takes the scope.

Source: RFC-0003; RFC-0025 §2; API.md §7; decision 0055.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from core.domain.intent import Intent, IntentStatus, Wait
from core.errors import IntentNotActive, ScopeNotHeld

GRACE = timedelta(minutes=1)
"""How long a lease that lapsed while its intent waited for a person stands after that."""
_RARELY = timedelta(minutes=15)

OVER = frozenset({IntentStatus.COMPLETED, IntentStatus.ABANDONED})
"""An intent that is over has no work left: nobody holds a part of it."""


class LeaseStatus(StrEnum):
    """RFC-0003. ``released`` by its holder or with its intent, ``revoked`` by somebody else."""

    ACTIVE = "active"
    RELEASED = "released"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class IntentLease:
    """``agent_id`` is the key that holds ``scope``. ``status`` is the one written last; :func:`as_it_stands`
    computes the true status at an instant."""

    id: str
    intent_id: str
    agent_id: str
    scope: str
    status: LeaseStatus
    acquired_at: datetime
    expires_at: datetime
    released_at: datetime | None = None

    @property
    def is_active(self) -> bool:
        return self.status is LeaseStatus.ACTIVE


def ends_at(lease: IntentLease, waits: Sequence[Wait]) -> datetime | None:
    """When the lease ends if nobody renews it; ``None`` while its intent waits. ``waits`` are those of its intent,
    in order."""
    end = lease.expires_at
    for wait in waits:
        if wait.began >= end:
            break
        if wait.ended is None:
            return None
        if end <= wait.ended:
            end = wait.ended + GRACE
    return end


def as_it_stands(lease: IntentLease, intent: Intent, waits: Sequence[Wait], now: datetime) -> IntentLease:
    """The lease with its true status ``now``, written down or not."""
    if not lease.is_active:
        return lease
    if intent.status in OVER:
        was_held = intent.updated_at < lease.expires_at
        return let_go(lease, LeaseStatus.RELEASED, intent.updated_at) if was_held else expired(lease)
    end = ends_at(lease, waits)
    return lease if end is None or now < end else expired(lease)


def expired(lease: IntentLease) -> IntentLease:
    return replace(lease, status=LeaseStatus.EXPIRED)


def renewed(lease: IntentLease, duration: timedelta, now: datetime) -> IntentLease:
    """The lease that ends ``duration`` from ``now`` on. Raises :class:`ScopeNotHeld` for one that has ended."""
    check_held(lease)
    return replace(lease, expires_at=now + duration)


def let_go(lease: IntentLease, how: LeaseStatus, now: datetime) -> IntentLease:
    """The lease after somebody has ended it."""
    return replace(lease, status=how, released_at=now)


def check_held(lease: IntentLease) -> None:
    """Raises :class:`ScopeNotHeld` if it has ended."""
    if not lease.is_active:
        raise ScopeNotHeld("The agent holds this scope no longer; it can take it anew if nobody else has.")


def check_open_to_work(intent: Intent) -> None:
    """Raises :class:`IntentNotActive` for an intent that is over."""
    if intent.status in OVER:
        raise IntentNotActive(f"Nobody takes a scope of an intent that is {intent.status}.")


def next_look(lease: IntentLease, intent: Intent, now: datetime) -> datetime:
    """When to look again whether a standing lease has ended. While its intent waits: after as long again as it has
    waited, a minute at least and a quarter of an hour at most; a wait may take weeks."""
    if intent.status is not IntentStatus.SUSPENDED:
        return max(lease.expires_at, now + GRACE)
    return max(lease.expires_at, now + min(max(now - lease.expires_at, GRACE), _RARELY))
