"""Rows that this process has leased and never got into its hands: the commit that leased them stands, but its
acknowledgement was lost with the connection, so that nobody was told to send them. As long as this process lives nobody
else would take them up either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from core.lanes import Lanes
from core.store import outbox
from core.store.database import Database
from core.transitions import LEASE

log = structlog.get_logger(__name__)

EVERY = timedelta(seconds=5)
IN_TRANSIT = timedelta(seconds=10)
"""How old a lease must be: between a commit and the lane a row is in nobody's hands for a moment."""


@dataclass(slots=True)
class Mislaid:
    """Gives such rows back, as surely not sent."""

    database: Database
    lanes: Lanes
    _searched_at: datetime | None = None

    async def search(self, now: datetime) -> None:
        """At most :data:`EVERY` so often, and after each step back of the host's clock."""
        if self._searched_at is not None and timedelta(0) <= now - self._searched_at < EVERY:
            return
        self._searched_at = now
        owner, held, before = self.lanes.owner, self.lanes.held, now + LEASE - IN_TRANSIT
        leased = await self.database.read(lambda conn: outbox.leased_before(conn, owner, before))
        lost = leased - held
        if lost:
            found = await self.database.write(lambda tx: outbox.give_back_mislaid(tx, lost, owner, before))
            log.warning("relay.mislaid_rows_found", rows=found)
