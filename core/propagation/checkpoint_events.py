"""Checkpoints that were answered: their plan's log says so in the transaction that records the answer, whichever way
it came (RFC-0012)."""

from __future__ import annotations

from core.domain.checkpoint import verdict_event
from core.domain.intent import IntentStatus
from core.domain.vocabulary import Event
from core.store import checkpoints, suspensions
from core.store.database import Tx


def checkpoint_events(tx: Tx, before: IntentStatus, suspension_id: str | None) -> list[Event]:
    """What the end of ``suspension_id`` is for its checkpoint, if it is one's."""
    if before is not IntentStatus.SUSPENDED or suspension_id is None:
        return []
    checkpoint, asked = checkpoints.of_suspension(tx.conn, suspension_id), suspensions.get(tx.conn, suspension_id)
    event = None if checkpoint is None or asked is None else verdict_event(checkpoint, asked)
    return [] if event is None else [event]
