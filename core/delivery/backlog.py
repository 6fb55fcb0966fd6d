"""The backlog: rows that are due and still in the database, taken as the queues have room.

As long as every lane takes what is due, one look by time is enough. If a lane is full or rests, its rows stay in the
database and must hide nobody else's. From then on the lanes with waiting rows are looked at one by one (two steps down
an index for each), until nothing is left behind.

Source: docs/decisions/0040.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter

from core.database.database import Database, Tx
from core.delivery.lanes import Lanes
from core.engine.transitions import LEASE
from core.ports import Clock
from core.store import outbox
from core.store.outbox import Row

_MANY = 50
_SHARE = 20
"""A look at more lanes than that is not repeated before twenty times as long as it took."""


@dataclass(slots=True)
class _Left:
    """How the lanes of one channel that are behind are looked at. ``refill`` have room again."""

    refill: set[str] = field(default_factory=set)
    looks_at: float = 0.0
    next_due: datetime | None = None


@dataclass(slots=True)
class Backlog:
    """One for the relay; used from one task at a time."""

    database: Database
    lanes: Lanes
    clock: Clock
    _left: dict[str, _Left] = field(default_factory=dict)

    async def look(self) -> datetime | None:
        """Take what is due and fits; returns when the next row is due. A channel that is full says so itself, later,
        and so does a lane (:meth:`has_room_again`)."""
        now = self.clock.now()
        plain = [channel for channel in self.lanes.wants_more() if not self.lanes.behind(channel)]
        for channel, due_at in (await self._next_due(plain)).items():
            if due_at <= now:
                await self._take(channel, now)
        moments = [*(await self._next_due([one for one in plain if not self.lanes.behind(one)])).values()]
        for channel in self.lanes.wants_more():
            if self.lanes.behind(channel) and (at := await self._take_by_lanes(channel, now)) is not None:
                moments.append(at)
        return min(moments, default=None)

    def has_room_again(self, row: Row) -> bool:
        """Whether the lane of ``row`` has left rows behind that it takes now: a look fetches them."""
        left = self._of(row.channel)
        if not self.lanes.is_behind(row.channel, row.lane) or row.lane in left.refill:
            return False
        if self.lanes.wants(row.channel, row.lane, self.clock.now()):
            left.refill.add(row.lane)
            return True
        return False

    def _of(self, channel: str) -> _Left:
        return self._left.setdefault(channel, _Left())

    async def _next_due(self, channels: list[str]) -> Mapping[str, datetime]:
        return await self.database.read(lambda conn: outbox.next_due(conn, channels)) if channels else {}

    async def _take(self, channel: str, now: datetime) -> None:
        """The most overdue rows, whosever they are, as far as their lanes have room."""

        sure_at = self.lanes.elapsed()

        def job(tx: Tx) -> set[str]:
            due = outbox.due(tx, channel, now=now, limit=self.lanes.room(channel))
            rows, full = self._fitting(channel, due, now)
            outbox.lease(tx, rows, self.lanes.owner, now + LEASE)
            tx.after_commit(lambda: self.lanes.hand_over(rows, sure_at))  # should nobody wait for it any more, too
            return full

        self.lanes.leave(channel, await self.database.write(job))

    def _fitting(self, channel: str, due: list[Row], now: datetime) -> tuple[list[Row], set[str]]:
        """Those of ``due`` that their lanes take, and the lanes that do not take all."""
        room: dict[str, int] = {}
        rows, full = [], set()
        for row in due:
            left = room.get(row.lane)
            left = self.lanes.room_in(channel, row.lane, now) if left is None else left
            room[row.lane] = max(0, left - 1)
            if left > 0:
                rows.append(row)
            else:
                full.add(row.lane)
        return rows, full

    # --- Lane by lane -------------------------------------------------------------------------------------------------

    async def _take_by_lanes(self, channel: str, now: datetime) -> datetime | None:
        left = self._of(channel)
        wait = left.looks_at - time.monotonic()
        if wait > 0:
            await self._refill(channel, now, [*left.refill | self._rested(channel, now)])
            soon = now + timedelta(seconds=wait)
            return soon if left.next_due is None else min(soon, left.next_due)
        begun, behind = time.monotonic(), self.lanes.behind(channel)
        heads = await self.database.read(lambda conn: outbox.heads(conn, channel))
        left.looks_at = begun + (time.monotonic() - begun) * _SHARE if len(heads) > _MANY else 0.0
        due = [lane for lane, due_at in sorted(heads, key=itemgetter(1)) if due_at <= now]
        self.lanes.caught_up(channel, behind.difference(due))
        await self._refill(channel, now, due)
        later = [due_at for _, due_at in heads if due_at > now]
        left.next_due = min([*later, *self._rests(channel, now)], default=None)
        return left.next_due

    def _rested(self, channel: str, now: datetime) -> set[str]:
        return {one for one in self.lanes.behind(channel) if (self.lanes.rests_until(channel, one) or now) <= now}

    def _rests(self, channel: str, now: datetime) -> list[datetime]:
        ends = (self.lanes.rests_until(channel, one) for one in self.lanes.behind(channel))
        return [at for at in ends if at is not None and at > now]

    async def _refill(self, channel: str, now: datetime, lanes: Sequence[str]) -> None:
        """Take from each of ``lanes``, in this order, what it has room for. What does not fit is left to it."""
        self._of(channel).refill.difference_update(lanes)

        sure_at = self.lanes.elapsed()

        def job(tx: Tx) -> tuple[set[str], set[str]]:
            rows: list[Row] = []
            done: set[str] = set()
            full: set[str] = set()
            for lane in lanes:
                room = min(self.lanes.room_in(channel, lane, now), self.lanes.room(channel) - len(rows))
                if room <= 0:
                    full.add(lane)
                    continue
                found = outbox.due(tx, channel, now=now, limit=room, lane=lane)
                rows += found
                (full if len(found) == room else done).add(lane)
            outbox.lease(tx, rows, self.lanes.owner, now + LEASE)
            tx.after_commit(lambda: self.lanes.hand_over(rows, sure_at))
            return full, done

        if not any(self.lanes.room_in(channel, lane, now) for lane in lanes):
            self.lanes.leave(channel, lanes)
            return
        full, done = await self.database.write(job)
        self.lanes.leave(channel, full)
        self.lanes.caught_up(channel, done)
