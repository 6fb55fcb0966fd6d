"""Showing intents: the extra fields that clients see, computed for a whole page at once.

The state includes the record of the latest suspension (RFC-0025 §5). An intent with children shows their progress
(RFC-0002; RFC-0026 §2 rule 4); one without children costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from core.domain.intent import RESERVED, Intent
from core.domain.intent_links import IntentLink
from core.domain.machine import next_attempt_at
from core.domain.people import Actor
from core.domain.record import record_json
from core.domain.wire import JsonObject, plain
from core.openintent.domain.aggregate import Aggregate
from core.openintent.store import aggregates
from core.store import suspensions


@dataclass(frozen=True, slots=True)
class Shown:
    """An intent with its state as clients see it, the mirrored suspension record included. ``aggregate`` is that of
    its children, ``None`` without any."""

    intent: Intent
    state: JsonObject
    aggregate: Aggregate | None = None


def reader(by: Actor) -> str | None:
    """The key whose intents ``by`` may read: an agent's own, ``None`` for all."""
    return None if by.reads_all else by.key or by.identity


def shown(conn: sa.Connection, found: Sequence[Intent], by: Actor) -> list[Shown]:
    """Intents as ``by``, who may read them, sees them."""
    parents = [intent.id for intent in found if intent.links & IntentLink.CHILDREN]
    below = aggregates.of_children(conn, parents, reader(by)) if parents else {}
    asked = suspensions.those(conn, [intent.suspension_id for intent in found if intent.suspension_id is not None])
    several = []
    for intent in found:
        state = dict(intent.state)
        suspension = None if intent.suspension_id is None else asked.get(intent.suspension_id)
        if suspension is not None:
            state[RESERVED] = plain(record_json(suspension, next_attempt_at(suspension)))
        several.append(Shown(intent, state, below.get(intent.id)))
    return several
