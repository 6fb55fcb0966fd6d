"""Surroundings: what stands around the intent that a question is asked for, as asking sees it.

Asking knows one intent at a time. What else follows from its move, by when it has to end, and who hears of it is the
business of :mod:`core.openintent`, which is handed in through these ports.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from core.database.database import Tx
from core.domain.intent import Intent, IntentStatus
from core.store.outbox import Row


class Surroundings(Protocol):
    """What stands around an intent. Each call belongs to the transaction that holds the intent."""

    def follow(
        self, tx: Tx, before: IntentStatus, intent: Intent, now: datetime, suspension_id: str | None = None
    ) -> Intent:
        """Write down what follows from ``intent`` having come from ``before``. Returns it as it is to be kept then.

        Raises :class:`BeginAgain` if another transaction holds one of those around it.
        """
        ...

    def must_end_by(self, tx: Tx, intent: Intent, since: datetime) -> datetime | None:
        """The first deadline around ``intent`` that ends a question opened at ``since`` (RFC-0026 §2 rule 5)."""
        ...


class Subscribers(Protocol):
    """Whoever hears of events."""

    async def still_wants(self, subscription_id: str, intent_id: str) -> bool:
        """Whether the subscriber may have events of this intent, and wants them, at this moment."""
        ...

    def wants_no_more(self, tx: Tx, subscription_id: str) -> bool:
        """The subscriber has refused an event. False if it had ended before."""
        ...


CallbackLost = Callable[[Tx, Intent, Row, str, datetime], None]
"""Writes down that a callback to an agent will never arrive: in this transaction, which holds the intent, of the row as
it has ended (refused or dead), the agent, and when. It may be told of one row more than once."""
