"""Those who depend on an intent that moves: held when it is suspended, freed when it is completed.

Source: RFC-0026 §2 rule 2; API.md §7, "Blocking".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.domain.intent import Intent, IntentStatus
from core.domain.intent_links import EdgeKind, Hold
from core.domain.propagation import Followed, Upstreams, upstream_abandoned, upstream_suspended, upstreams_changed
from core.domain.vocabulary import Event
from core.store import intent_edges, intents
from core.store.database import Tx

Lines = tuple[Intent, Sequence[Event]]


def hold_or_free(tx: Tx, upstream: Intent) -> list[Lines]:
    """The dependents that the move of ``upstream`` changes, locked, each with what its log says of it."""
    rule = _rule(tx, upstream)
    if rule is None:
        return []
    kinds = intent_edges.live_dependents(tx.conn, upstream.id)
    dependents = intents.lock_around(tx, upstream, list(kinds))
    followed = [(one, rule(one, kinds[one.id])) for one in dependents]
    return [
        (after.intent, [after.event] if after.event else [])
        for before, after in followed
        if after.event is not None or after.intent != before
    ]


def _rule(tx: Tx, upstream: Intent) -> Callable[[Intent, Sequence[str]], Followed] | None:
    """What ``upstream``'s status does to a dependent that hangs on it by edges of those kinds."""
    match upstream.status:
        case IntentStatus.SUSPENDED:
            return lambda one, kinds: upstream_suspended(one, upstream.id, _hold(kinds))
        case IntentStatus.COMPLETED:
            left = intent_edges.unmet_beside(tx.conn, upstream.id)
            return lambda one, _kinds: upstreams_changed(one, left.get(one.id, Upstreams()))
        case IntentStatus.ABANDONED:
            return lambda one, _kinds: upstream_abandoned(one, upstream)
        case _:
            return None


def _hold(kinds: Sequence[str]) -> Hold:
    return Hold.UPSTREAM if EdgeKind.DEPENDENCY in kinds else Hold.NONE
