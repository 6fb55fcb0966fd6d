"""Dependents of a moving intent: held when it is suspended, freed when it is completed.

Source: RFC-0026 §2 rule 2; API.md §7, "Blocking".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from core.database.database import Tx
from core.domain.intent import Dependent, Intent, IntentStatus
from core.domain.intent_links import EdgeKind, IntentHold, IntentLink
from core.domain.vocabulary import Event
from core.openintent.domain.propagation import (
    Followed,
    Upstreams,
    upstream_abandoned,
    upstream_suspended,
    upstreams_changed,
)
from core.openintent.propagation.coordinating import abandoned
from core.openintent.propagation.phases import tasks_ready
from core.openintent.store import intent_edges

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
