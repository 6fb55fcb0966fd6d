"""Coordinators: an agent that looks after an intent or a portfolio, until when, and what follows if an intent is
suspended.

Failover, hand-over and replacement are not done here: the owner names another coordinator.

Source: RFC-0013; RFC-0026 §3; API.md §7; decision 0062.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import JsonValue

from core.domain.vocabulary import Event
from core.errors import InvalidTransition

ESCALATION_REQUIRED = "coordinator.escalation_required"
INTENT_SUSPENDED = "intent_suspended"
DEPENDENCY_ABANDONED = "dependency_abandoned"
_MISSED = 2
"""Heartbeats that may be missed before a coordinator counts as unresponsive (RFC-0013)."""


class SuspensionPolicy(StrEnum):
    """What follows when an intent that is looked after is suspended (RFC-0026 §3)."""

    ISOLATE = "isolate"
    BLOCK_DEPENDENTS = "block_dependents"
    ESCALATE = "escalate"


class CoordinatorStatus(StrEnum):
    """``unresponsive`` is worked out when it is read, and never kept."""

    ACTIVE = "active"
    PAUSED = "paused"
    UNRESPONSIVE = "unresponsive"
    COMPLETING = "completing"
    COMPLETED = "completed"


ACTING = frozenset({CoordinatorStatus.ACTIVE, CoordinatorStatus.COMPLETING})
"""Of those the policies count: a coordinator that is paused or done has nothing to say."""


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Of an intent, or of a portfolio. ``details`` are fields without a meaning here."""

    id: str
    intent_id: str | None
    portfolio_id: str | None
    agent_id: str
    status: CoordinatorStatus
    suspension_policy: SuspensionPolicy
    heartbeat_interval: timedelta
    granted_at: datetime
    created_by: str
    last_heartbeat: datetime | None = None
    expires_at: datetime | None = None
    version: int = 1
    details: Mapping[str, JsonValue] = field(default_factory=dict)

    def shown_status(self, now: datetime) -> CoordinatorStatus:
        """Its status at ``now``: over at its end, unresponsive when two heartbeats are missing."""
        if self.expires_at is not None and self.expires_at <= now:
            return CoordinatorStatus.COMPLETED
        silent = now - (self.last_heartbeat or self.granted_at)
        if self.status is CoordinatorStatus.ACTIVE and silent > _MISSED * self.heartbeat_interval:
            return CoordinatorStatus.UNRESPONSIVE
        return self.status


@dataclass(frozen=True, slots=True)
class CoordinatorChange:
    """The change; ``None`` leaves a field as it is."""

    status: CoordinatorStatus | None = None
    suspension_policy: SuspensionPolicy | None = None
    guardrails: Mapping[str, JsonValue] | None = None


def coordinator_changed(coordinator: Coordinator, wanted: CoordinatorChange, now: datetime) -> Coordinator:
    """``coordinator`` after ``wanted``. Raises :class:`InvalidTransition` if it is over."""
    check_acts(coordinator, now)
    details = dict(coordinator.details)
    if wanted.guardrails is not None:
        details["guardrails"] = dict(wanted.guardrails)
    return replace(
        coordinator,
        status=wanted.status or coordinator.status,
        suspension_policy=wanted.suspension_policy or coordinator.suspension_policy,
        details=details,
        version=coordinator.version + 1,
    )


def check_acts(coordinator: Coordinator, now: datetime) -> None:
    """Raises :class:`InvalidTransition` if it is over."""
    if coordinator.shown_status(now) is CoordinatorStatus.COMPLETED:
        raise InvalidTransition("The coordinator is done.", status=CoordinatorStatus.COMPLETED.value)


def escalation(coordinator: Coordinator, intent_id: str, suspension_id: str | None, reason: str) -> Event:
    """The event that calls a coordinator, for the log of the suspended intent."""
    said: dict[str, JsonValue] = {
        "coordinator_id": coordinator.id,
        "agent_id": coordinator.agent_id,
        "intent_id": intent_id,
        "suspension_id": suspension_id,
        "reason": reason,
    }
    return Event(ESCALATION_REQUIRED, said)
