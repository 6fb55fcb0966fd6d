"""What the outbox keeps beside suspensions: events to subscribers, alerts, sign-in links. Done ones leave after a week.

A suspension's own messages leave with it (``retention``). Nothing is lost with these: events stay in the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core.ports import Clock
from core.store import outbox
from core.store.database import Database

KEPT = timedelta(days=7)
EVERY = timedelta(hours=1)
AT_ONCE = 500
"""A few milliseconds' worth, so that no answer waits for it."""


@dataclass(slots=True)
class OutboxRetention:
    """Removes what was done a week ago, some of it with every look until nothing is left."""

    database: Database
    clock: Clock
    _next: datetime | None = None

    async def look(self) -> datetime | None:
        """Returns ``None`` unless there is more to do at once: the rest waits for a look that comes anyway."""
        now = self.clock.now()
        if self._next is not None and self._next - EVERY <= now < self._next:
            return None
        before = now - KEPT
        removed = await self.database.write(lambda tx: outbox.remove_settled(tx, before, AT_ONCE))
        self._next = now + EVERY if removed < AT_ONCE else None
        return None if self._next is not None else now
