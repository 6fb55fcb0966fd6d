"""Writing to an intent's log: the lines, the intent's new head, and the news of it, in the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.domain.intent import Intent
from core.domain.vocabulary import Event
from core.hub import EVERYTHING, Hub
from core.store import event_log, intents
from core.store.database import Tx


@dataclass(frozen=True, slots=True)
class IntentLog:
    """Writes lines. ``key`` is what they are sealed with."""

    hub: Hub
    key: bytes

    def write(self, tx: Tx, intent: Intent, now: datetime, *events: Event) -> Intent:
        """Add ``events``; returns the intent with its new head, kept. It must be locked in this transaction, or be
        made in it."""
        grown = event_log.append(tx, intent, events, now, self.key)
        intents.advance(tx, grown)
        self.hub.announce(tx, EVERYTHING, intent.id)
        return grown
