"""Writing to an intent's log: the lines, the intent's new head, and its news, in the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.database.database import Tx
from core.domain.intent import Intent, IntentStatus
from core.domain.vocabulary import Event
from core.hub import Hub
from core.openintent.propagation.consequences import Consequences
from core.store import event_log, intents


@dataclass(frozen=True, slots=True)
class IntentLog:
    """Writes lines. ``key`` seals them, ``consequences`` follow a move."""

    hub: Hub
    key: bytes
    consequences: Consequences

    def write(self, tx: Tx, intent: Intent, now: datetime, *events: Event) -> Intent:
        """Add ``events``; returns the stored intent with its new head. It must be locked in this transaction, or
        made in it."""
        grown = event_log.append(tx, intent, events, now, self.key)
        intents.advance(tx, grown)
        self.hub.announce_intents(tx, intent.id)
        return grown

    def moved(self, tx: Tx, before: IntentStatus, intent: Intent, now: datetime, *events: Event) -> Intent:
        """:meth:`write` for an intent that has moved from ``before``, with all consequences.

        Raises :class:`BeginAgain` if another transaction holds one of the intents around it.
        """
        intent = event_log.append(tx, intent, events, now, self.key)
        intent = self.consequences.follow(tx, before, intent, now)
        intents.advance(tx, intent)
        self.hub.announce_intents(tx, intent.id)
        return intent
