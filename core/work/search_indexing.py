"""Search indexing: the index of questions' texts follows the log, a little with each look.

Whatever it has not reached is looked through when somebody searches (``core/store/search.py``). So it may lag, be
killed or stand still, and no question is missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core.database.call_deadlines import LONG
from core.database.database import Database
from core.ports import Clock
from core.store import event_log, log_followers, search_index

EVERY = timedelta(seconds=5)
LINES_AT_ONCE = 4_000
"""Of the log: a few milliseconds' worth."""


@dataclass(slots=True)
class SearchIndexing:
    """Any number of processes may do this; one of them moves the index at a time."""

    database: Database
    clock: Clock
    _next: datetime | None = None
    _looked_at: int = -1
    _making: search_index.Making | None = None

    async def look(self) -> datetime | None:
        """Returns ``None`` unless there is more to do at once: the next look comes anyway, and does what else is due
        first."""
        now = self.clock.now()
        if self._next is not None and self._next - EVERY <= now < self._next:
            return None
        noted_all = await self._note()
        cleaned_all = await self._clean()
        made_all = await self._make()
        is_done = noted_all and cleaned_all and made_all
        self._next = now + EVERY if is_done else None
        return None if is_done else now

    async def _note(self) -> bool:
        """Note what was asked since. Whether that was all, or so little is left that it can wait."""
        cursor = await self.database.read(lambda conn: log_followers.place(conn, search_index.FOLLOWER))
        if cursor is None:
            await self.database.write(search_index.begin)
            return False
        reached = await self.database.read(lambda conn: event_log.settled_after(conn, cursor, LINES_AT_ONCE))
        if reached == cursor:
            return True
        ids = await self.database.read(lambda conn: event_log.questions_after(conn, cursor, reached))
        await self.database.write(lambda tx: search_index.note(tx, cursor, reached, ids))
        left = await self.database.read(lambda conn: event_log.count_after(conn, reached, LINES_AT_ONCE))
        return left < LINES_AT_ONCE

    async def _clean(self) -> bool:
        """Clean one segment; whether there was none."""
        done = await self.database.read(search_index.cleaned, within=LONG)
        if done is not None:
            await self.database.write(lambda tx: search_index.clean(tx, done), within=LONG)
            return False
        await self._look_after_others()
        return True

    async def _look_after_others(self) -> None:
        """Take one segment in turn, and forget what an older process has removed from the database."""
        segment = await self.database.read(lambda conn: search_index.segment_after(conn, self._looked_at))
        self._looked_at = -1 if segment is None else segment
        if segment is None:
            return
        gone = await self.database.read(lambda conn: search_index.forgotten_elsewhere(conn, segment))
        if gone:
            await self.database.write(lambda tx: search_index.forget(tx, gone))

    async def _make(self) -> bool:
        """Make some of the next segment; whether there was none to make."""
        begun, self._making = self._making, None  # a portion that fails is not gone on with
        made = await self.database.read(lambda conn: search_index.make_some(conn, begun), within=LONG)
        self._making = made if isinstance(made, search_index.Making) else None
        if isinstance(made, search_index.Segment):
            await self.database.write(lambda tx: search_index.add(tx, made), within=LONG)
        return made is None
