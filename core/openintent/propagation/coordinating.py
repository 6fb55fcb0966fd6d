"""Coordinators' policies for a suspended intent, carried out (RFC-0026 §3).

``isolate`` does nothing. ``block_dependents`` holds the phases that take its outputs. ``escalate`` is a line in its
log: no coordinator is ever suspended by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import Dependent, Intent, IntentStatus
from core.domain.intent_links import IntentHold, IntentLink
from core.domain.vocabulary import Event
from core.openintent.domain.coordinator import (
    DEPENDENCY_ABANDONED,
    INTENT_SUSPENDED,
    Coordinator,
    SuspensionPolicy,
    escalation,
)
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
