"""Dependents of a moving intent: held when it is suspended, freed when it is completed.

Coordinators' policies for a suspended intent are carried out here too: ``isolate`` does nothing, ``block_dependents``
holds the phases that take its outputs, ``escalate`` is a line in its log. No coordinator is ever suspended by itself.

Source: RFC-0026 §2 rule 2, §3; API.md §7, "Blocking".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import Dependent, EdgeKind, Intent, IntentHold, IntentLink, IntentStatus
from core.domain.vocabulary import Event
from core.openintent.domain.coordinator import (
    DEPENDENCY_ABANDONED,
    INTENT_SUSPENDED,
    Coordinator,
    SuspensionPolicy,
    escalation,
)
from core.openintent.domain.propagation import (
    Followed,
    Upstreams,
    upstream_abandoned,
    upstream_suspended,
    upstreams_changed,
)
from core.openintent.propagation.tasks import tasks_ready
from core.openintent.store import coordinators, intent_edges

_LOOKED_AFTER = IntentLink.COORDINATORS | IntentLink.PARENT | IntentLink.PORTFOLIOS
"""An intent without any of these has no coordinator, and costs no query."""


def of_suspended(tx: Tx, intent: Intent, now: datetime) -> Sequence[Coordinator]:
    """The coordinators of an intent that has just been suspended; empty if it has not."""
    if intent.status is not IntentStatus.SUSPENDED or not intent.links & _LOOKED_AFTER:
        return ()
    return coordinators.covering(tx.conn, [intent.id], now).get(intent.id, ())


def escalated(intent: Intent, those: Sequence[Coordinator], suspension_id: str | None) -> list[Event]:
    """A line for each of ``those`` that wants to be called."""
    wanting = [one for one in those if one.suspension_policy is SuspensionPolicy.ESCALATE]
    return [escalation(one, intent.id, suspension_id, INTENT_SUSPENDED) for one in wanting]


def input_hold(those: Sequence[Coordinator]) -> IntentHold:
    """The hold of phases that take outputs of a suspended intent with the coordinators ``those``."""
    blocks = any(one.suspension_policy is SuspensionPolicy.BLOCK_DEPENDENTS for one in those)
    return IntentHold.COORDINATOR if blocks else IntentHold.NONE


def hold_by_sources(conn: sa.Connection, intent_id: str, now: datetime) -> IntentHold:
    """:func:`input_hold` over all sources of the inputs of ``intent_id``."""
    sources = intent_edges.suspended_sources(conn, intent_id)
    found = coordinators.covering(conn, sources, now) if sources else {}
    return input_hold([one for those in found.values() for one in those])


def abandoned(tx: Tx, dependents: Sequence[Dependent], now: datetime) -> Mapping[str, list[Event]]:
    """For each dependent of an abandoned intent: a line for each of its coordinators (API.md §7)."""
    looked_after = [one.id for one in dependents if one.links & _LOOKED_AFTER]
    found = coordinators.covering(tx.conn, looked_after, now) if looked_after else {}
    return {
        intent_id: [escalation(one, intent_id, None, DEPENDENCY_ABANDONED) for one in those]
        for intent_id, those in found.items()
    }


Lines = tuple[Dependent, Sequence[Event]]


def hold_or_free(tx: Tx, upstream: Intent, inputs: IntentHold, now: datetime) -> list[Lines]:
    """The dependents that the move of ``upstream`` changes, locked, each with its lines. ``inputs`` is the hold of
    those that only take its outputs, while it is suspended."""
    if upstream.status not in _FELT:
        return []
    completed = upstream.status is IntentStatus.COMPLETED
    held = intent_edges.lock_dependents(tx, upstream.id)
    # Read once they are held, and not before: of two upstreams that are completed at once, the later one sees both.
    left = intent_edges.unmet_beside(tx.conn, upstream.id) if completed else {}
    rule = _rule(upstream, left, inputs)
    dependents = [one for one, _ in held]
    ready = tasks_ready(tx, _free_phases(dependents, left), now) if completed else {}
    called = abandoned(tx, dependents, now) if upstream.status is IntentStatus.ABANDONED else {}
    lines: list[Lines] = []
    for one, kinds in held:
        after = rule(one, kinds)
        events = [event for event in (after.event, ready.get(one.id), *called.get(one.id, ())) if event is not None]
        if events or after.intent != one:
            lines.append((after.intent, events))
    return lines


def _free_phases(dependents: Sequence[Dependent], left: Mapping[str, Upstreams]) -> list[str]:
    """The phases among them that wait for no upstream any more."""
    return [one.id for one in dependents if one.links & IntentLink.PHASE and one.id not in left]


_FELT = frozenset({IntentStatus.SUSPENDED, IntentStatus.COMPLETED, IntentStatus.ABANDONED})
"""Statuses of an upstream that change its dependents."""


def _rule(
    upstream: Intent, left: Mapping[str, Upstreams], inputs: IntentHold
) -> Callable[[Dependent, Sequence[str]], Followed[Dependent]]:
    """The effect of ``upstream``'s status on a dependent with edges of those kinds. ``left`` are each dependent's
    other uncompleted upstreams."""
    match upstream.status:
        case IntentStatus.SUSPENDED:
            return lambda one, kinds: upstream_suspended(one, upstream.id, _hold(kinds, inputs))
        case IntentStatus.COMPLETED:
            return lambda one, _kinds: upstreams_changed(one, left.get(one.id, Upstreams()))
        case _:
            return lambda one, _kinds: upstream_abandoned(one, upstream)


def _hold(kinds: Sequence[str], inputs: IntentHold) -> IntentHold:
    hold = IntentHold.UPSTREAM if EdgeKind.DEPENDENCY in kinds else IntentHold.NONE
    return hold | inputs if EdgeKind.INPUT in kinds else hold
