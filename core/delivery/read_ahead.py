"""The questions of notices whose turn has come, read a few at a time.

After a burst of the clock's, hundreds of notices wait for their turn. One read then brings the questions of several
that come next. If other processes write too, each is good for :data:`~core.delivery.queues.FRESH`. Whoever settles the
notice of a question that has ended meanwhile withdraws it, as one that was on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.database.database import Database
from core.delivery.queues import Lanes
from core.domain.suspension import Suspension
from core.store import suspensions
from core.store.outbox import Row, RowKind

AHEAD = 15
"""Notices that follow, and whose questions are read too: as many as leave within ``FRESH`` over a few connections."""

Reading = asyncio.Task[Mapping[str, Suspension]]


@dataclass(slots=True)
class ReadAhead:
    """One for the relay. Used from the event loop."""

    database: Database
    lanes: Lanes
    _under_way: dict[str, Reading] = field(default_factory=dict)
    """By the id of each row whose question is being read."""

    async def question(self, row: Row) -> Suspension | None:
        """As it was a moment ago; ``None`` if there is none. Raises :class:`DatabaseUnavailable`."""
        found: Suspension | None = None
        for _ in range(2 if self.lanes.alone else 1):  # whatever changed while it was read is read once more
            if (known := self.lanes.just_seen(row)) is not None:
                return known
            reading = self._under_way.get(row.id) or self._begin(row)
            found = (await asyncio.shield(reading)).get(row.suspension_id or "")
            if found is None:
                return None
        return found

    def _begin(self, row: Row) -> Reading:
        rows = [row, *filter(self._is_unknown, self.lanes.following(row.channel, AHEAD))]
        reading = asyncio.create_task(self._read(rows), name="relay-questions")
        self._under_way |= dict.fromkeys((one.id for one in rows), reading)
        reading.add_done_callback(lambda _: self._ended(rows))
        return reading

    def _is_unknown(self, row: Row) -> bool:
        return row.kind is RowKind.NOTIFY and row.id not in self._under_way and self.lanes.just_seen(row) is None

    async def _read(self, rows: Sequence[Row]) -> Mapping[str, Suspension]:
        at = self.lanes.elapsed()
        wanted = [*dict.fromkeys(row.suspension_id for row in rows if row.suspension_id is not None)]
        found = await self.database.read(lambda conn: suspensions.those(conn, wanted))
        self.lanes.read(found, at)
        return found

    def _ended(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._under_way.pop(row.id, None)
