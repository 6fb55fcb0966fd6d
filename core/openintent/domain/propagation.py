"""Propagation: every rule for what the move of one intent does to those around it. Nothing is performed here.

A suspension is always its intent's own (RFC-0026 §2 rule 1): parents, portfolios, plans and workflows show it when they
are read, and none of their rows is written. A move writes the intents that depend on it, its own tasks, and lines of
the log. It is not transitive: an intent that becomes blocked blocks no other.

Source: RFC-0002 (graph, completion gate); RFC-0026 §2, §3; API.md §7, "Blocking".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Generic

from core.domain.intent import HOLD_OF, EdgeKind, Intent, IntentHold, IntentStatus, Moving
from core.domain.vocabulary import STATUS_CHANGED, Event
from core.domain.wire import JsonObject
from core.errors import DependenciesIncomplete

DEPENDENCY_FAILED = "intent.dependency_failed"
MEMBER_SUSPENDED = "portfolio.member_suspended"
MEMBER_RESUMED = "portfolio.member_resumed"

UPSTREAM_SUSPENDED = "upstream_suspended"
DEPENDENCIES_INCOMPLETE = "dependencies_incomplete"
DEPENDENCIES_COMPLETED = "dependencies_completed"

ENDED = frozenset({IntentStatus.COMPLETED, IntentStatus.ABANDONED})
_GOES_ON = frozenset({IntentStatus.ACTIVE, IntentStatus.BLOCKED})


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The uncompleted upstreams of one intent: counts by kind of edge and status."""

    unmet: Mapping[tuple[str, IntentStatus], int] = field(default_factory=dict)

    def holds(self) -> IntentHold:
        """The hold of a blocked intent."""
        held = IntentHold.NONE
        for kind, _ in self.unmet:
            held |= HOLD_OF.get(kind, IntentHold.NONE)
        return held

    def suspends(self) -> bool:
        """Whether a dependency of it is suspended."""
        return (EdgeKind.DEPENDENCY, IntentStatus.SUSPENDED) in self.unmet

    def suspends_inputs(self) -> bool:
        """Whether a source of its inputs is suspended."""
        return (EdgeKind.INPUT, IntentStatus.SUSPENDED) in self.unmet

    def of_kind(self, wanted: str) -> int:
        return sum(count for (kind, _), count in self.unmet.items() if kind == wanted)


@dataclass(frozen=True, slots=True)
class Followed(Generic[Moving]):
    """An intent after a rule, and its event, ``None`` if there is nothing to log."""

    intent: Moving
    event: Event | None = None


# --- The intent that moves ------------------------------------------------------------------------------------------


def settled(
    before: IntentStatus, intent: Intent, upstreams: Upstreams, inputs: IntentHold = IntentHold.NONE
) -> Followed[Intent]:
    """The intent that has moved from ``before``, as its own upstreams leave it.

    A draft is activated only with its dependencies completed (RFC-0002). An intent that was owed a block becomes
    blocked when its own suspension ends; so does one whose upstream is suspended just then (RFC-0026 §2 rule 2). An
    agent that lifts its own block under a suspended upstream hands the block over to us. ``inputs`` is a coordinator's
    hold while a source of its inputs is suspended (RFC-0026 §3).
    """
    if intent.status in ENDED:
        return Followed(intent.holding(IntentHold.NONE))
    if intent.status is not IntentStatus.ACTIVE:
        return Followed(intent)
    owed = (intent.held & upstreams.holds()) | inputs
    reason = UPSTREAM_SUSPENDED
    if upstreams.suspends():
        owed |= IntentHold.UPSTREAM
    if before is IntentStatus.DRAFT and upstreams.of_kind(EdgeKind.DEPENDENCY):
        owed |= IntentHold.UPSTREAM
        reason = DEPENDENCIES_INCOMPLETE
    if not owed:
        return Followed(intent.holding(IntentHold.NONE))
    blocked = replace(intent, status=IntentStatus.BLOCKED, held=owed)
    return Followed(blocked, _status_changed(intent.status, blocked.status, reason))


def check_unblocked(intent: Intent, upstreams: Upstreams) -> None:
    """Raises :class:`DependenciesIncomplete` for an intent that we have blocked, until all its upstreams are
    completed (API.md §7)."""
    if intent.status is IntentStatus.BLOCKED and intent.held & upstreams.holds():
        raise DependenciesIncomplete("The intent becomes active by itself once what it depends on is completed.")


def check_ready(upstreams: Upstreams) -> None:
    """Raises :class:`DependenciesIncomplete` for a draft whose dependencies are not completed."""
    if upstreams.of_kind(EdgeKind.DEPENDENCY):
        raise DependenciesIncomplete("The intent waits for what it depends on.")


def check_completion(intent: Intent, upstreams: Upstreams) -> None:
    """The completion gate: every dependency and every child is completed; a suspended one is not (RFC-0002; RFC-0026
    §2 rule 2). What is blocked is never completed, whoever has blocked it (API.md §7). Raises
    :class:`DependenciesIncomplete`."""
    dependencies, children = upstreams.of_kind(EdgeKind.DEPENDENCY), upstreams.of_kind(EdgeKind.CHILD)
    if dependencies or children or intent.status is IntentStatus.BLOCKED:
        raise DependenciesIncomplete(
            "The intent can be completed once what it depends on and its children are.",
            incomplete_dependencies=dependencies,
            incomplete_children=children,
        )


# --- Those that depend on it ----------------------------------------------------------------------------------------


def upstream_suspended(dependent: Moving, upstream_id: str, hold: IntentHold) -> Followed[Moving]:
    """An active dependent becomes blocked; a suspended one is owed the block (RFC-0026 §2 rule 2; by a coordinator:
    §3). An agent's own block stays its own. Without a ``hold`` the dependent stays as it is: it takes outputs of the
    upstream, and no coordinator makes it wait for them."""
    if not hold:
        return Followed(dependent)
    match dependent.status:
        case IntentStatus.ACTIVE:
            blocked = dependent.moved(IntentStatus.BLOCKED, dependent.held | hold)
            return Followed(blocked, _status_changed(dependent.status, blocked.status, UPSTREAM_SUSPENDED, upstream_id))
        case IntentStatus.SUSPENDED:
            return Followed(dependent.holding(dependent.held | hold))
        case IntentStatus.BLOCKED if dependent.held:
            return Followed(dependent.holding(dependent.held | hold))
        case _:
            return Followed(dependent)


def dependency_added(dependent: Intent, upstream: Intent) -> Followed[Intent]:
    """``upstream`` is a new dependency. An active intent goes on, unless the upstream is suspended (API.md §7)."""
    if upstream.status is not IntentStatus.SUSPENDED:
        return Followed(dependent)
    return upstream_suspended(dependent, upstream.id, IntentHold.UPSTREAM)


def upstreams_changed(dependent: Moving, upstreams: Upstreams) -> Followed[Moving]:
    """Our own block ends when all upstreams are completed, not when one resumes (RFC-0026 §2 rule 2). ``upstreams``
    are the remaining ones."""
    held = dependent.held & upstreams.holds()
    if held == dependent.held:
        return Followed(dependent)
    if held or dependent.status is not IntentStatus.BLOCKED:
        return Followed(dependent.holding(held))
    active = dependent.moved(IntentStatus.ACTIVE, held)
    return Followed(active, _status_changed(dependent.status, active.status, DEPENDENCIES_COMPLETED))


def upstream_abandoned(dependent: Moving, upstream: Intent) -> Followed[Moving]:
    """Its dependents stay as they are, and their logs say why they will not go on by themselves (API.md §7)."""
    if dependent.status in ENDED:
        return Followed(dependent)
    said: JsonObject = {
        "dependency_id": upstream.id,
        "status": upstream.status.value,
        "abandonment_reason": upstream.abandonment_reason,
    }
    return Followed(dependent, Event(DEPENDENCY_FAILED, said))


# --- Portfolios -----------------------------------------------------------------------------------------------------


def member_event(before: IntentStatus, intent: Intent, portfolio_id: str, suspension_id: str | None) -> Event | None:
    """The event about a member for a portfolio's readers, in the member's own log (RFC-0026 §10, RFC-0007 patches)."""
    said: JsonObject = {"portfolio_id": portfolio_id, "intent_id": intent.id, "suspension_id": suspension_id}
    if intent.status is IntentStatus.SUSPENDED:
        return Event(MEMBER_SUSPENDED, said)
    if before is IntentStatus.SUSPENDED and intent.status in _GOES_ON:
        return Event(MEMBER_RESUMED, said)
    return None


@lru_cache(maxsize=64)
def _status_changed(before: IntentStatus, after: IntentStatus, reason: str, upstream_id: str | None = None) -> Event:
    """One event for all dependents of a move, so that its content is computed once."""
    said: JsonObject = {"from": before.value, "to": after.value, "reason": reason}
    if upstream_id is not None:
        said["upstream_intent_id"] = upstream_id
    return Event(STATUS_CHANGED, said)
