"""Queues: the rows that the relay holds in memory. Each channel has its own, so that a dead Slack never delays a mail.

Within a channel, the rows for one destination are a lane, and lanes take turns (``core/delivery/turns.py``). A row in
hand is leased to this process; how old that knowledge is decides whether its lease is asked for again
(``core/delivery/leases.py``).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core.delivery.turns import LaneWidth, Turns
from core.store.outbox import Row
from core.work.presence import since_start

USUAL_WIDTH = LaneWidth(4)


@dataclass(frozen=True, slots=True)
class _InHand:
    """``sure_at``: when its lease was known to stand, by the clock that goes on while the process is frozen."""

    row: Row
    sure_at: timedelta


class Lanes:
    """Rows leased to this process and not yet settled. ``owner`` is new with every start.

    ``channels`` have the widths of their senders. ``elapsed`` is time since the host was started, never set back.
    """

    def __init__(
        self,
        channels: Mapping[str, LaneWidth] | Iterable[str],
        elapsed: Callable[[], timedelta] = since_start,
    ) -> None:
        widths = channels if isinstance(channels, Mapping) else dict.fromkeys(channels, USUAL_WIDTH)
        self.owner = uuid.uuid4().hex
        self.elapsed = elapsed
        self._turns = {channel: Turns(width) for channel, width in widths.items()}
        self._ready = {channel: asyncio.Event() for channel in widths}
        self._behind: dict[str, set[str]] = {channel: set() for channel in widths}
        self._in_hand: dict[str, _InHand] = {}
        self._empty = asyncio.Event()
        self._empty.set()
        self._open = False

    def open(self) -> None:
        """From now on rows are accepted."""
        self._open = True

    def close(self) -> list[Row]:
        """Take no more rows; returns those that nobody has begun to send."""
        self._open = False
        left = [row for turns in self._turns.values() for row in turns.take_out()]
        self._let_go(left)
        return left

    @property
    def channels(self) -> list[str]:
        return list(self._turns)

    # --- Room ---------------------------------------------------------------------------------------------------------

    def room(self, channel: str) -> int:
        """How many more rows ``channel`` takes in all; safe to ask from any thread."""
        turns = self._turns.get(channel)
        return max(0, turns.width.ahead - turns.waiting) if turns is not None and self._open else 0

    def room_in(self, channel: str, lane: str, now: datetime) -> int:
        """How many more rows the lane takes now; safe to ask from any thread."""
        return self._turns[channel].room(lane, now) if self.room(channel) else 0

    def has_room(self, row: Row) -> bool:
        """Whether ``row`` can be handed over at its commit; safe to ask from any thread. What is due first leaves
        first: if the lane has left rows in the database, or there is no room, this one is left there, too."""
        if not self._open or row.channel not in self._turns:
            return False
        if self.room_in(row.channel, row.lane, row.due_at) > 0 and not self.is_behind(row.channel, row.lane):
            return True
        self.leave(row.channel, [row.lane])
        return False

    def is_behind(self, channel: str, lane: str) -> bool:
        """Whether the lane has left rows in the database: those were due, and there was no room."""
        return lane in self._behind[channel]

    def behind(self, channel: str) -> frozenset[str]:
        """The lanes that have left rows in the database."""
        return frozenset(self._behind[channel])

    def leave(self, channel: str, lanes: Collection[str]) -> None:
        """These lanes have rows in the database that are due, and no room for them."""
        self._behind[channel].update(lanes)

    def caught_up(self, channel: str, lanes: Collection[str]) -> None:
        """These lanes have no rows in the database that are due."""
        self._behind[channel].difference_update(lanes)

    def wants(self, channel: str, lane: str, now: datetime) -> bool:
        """Whether the lane has room for so many rows that fetching them is worth it."""
        return self.room(channel) > 0 and self._turns[channel].wants(lane, now)

    def rests_until(self, channel: str, lane: str) -> datetime | None:
        """Until when nothing is sent in the lane, as it has not answered; ``None`` or the past if that is over."""
        return self._turns[channel].rests_until(lane)

    def wants_more(self) -> list[str]:
        """Channels with room enough for rows to be fetched from the database: a full one does not fetch each by
        itself."""
        return [channel for channel in self._turns if self.room(channel) >= self._refilled_at(channel)]

    def begins_to_want(self, channel: str) -> bool:
        """Whether the row just taken was the one that makes room enough."""
        return self.room(channel) == self._refilled_at(channel)

    def _refilled_at(self, channel: str) -> int:
        return self._turns[channel].width.ahead // 2

    # --- Rows ---------------------------------------------------------------------------------------------------------

    def hand_over(self, rows: Sequence[Row], sure_at: timedelta | None = None) -> None:
        """Take ``rows``, which were leased to :attr:`owner` after ``sure_at``."""
        sure_at = self.elapsed() if sure_at is None else sure_at
        for row in rows:
            self._in_hand[row.id] = _InHand(row, sure_at)
            self._turns[row.channel].add(row)
            self._ready[row.channel].set()
        if rows:
            self._empty.clear()

    async def next(self, channel: str) -> Row:
        """The next row to send. Say :meth:`done` when it is settled."""
        turns, ready = self._turns[channel], self._ready[channel]
        while (row := turns.next()) is None:
            ready.clear()
            await ready.wait()
        return row

    def done(self, row: Row) -> None:
        self._turns[row.channel].done(row)
        self._ready[row.channel].set()
        self._let_go([row])

    def lingers(self, row: Row) -> None:
        """It has not been answered soon: whoever comes next at its place has a turn meanwhile."""
        if self._turns[row.channel].lingers(row):
            self._ready[row.channel].set()

    def take_out(self, channel: str, lane: str) -> list[Row]:
        """What waits in the lane: it is this process's to give back."""
        rows = self._turns[channel].take_out(lane)
        self._let_go(rows)
        return rows

    def _let_go(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._in_hand.pop(row.id, None)
        if not self._in_hand:
            self._empty.set()

    @property
    def held(self) -> frozenset[str]:
        """The ids of all rows in hand, waiting or being sent."""
        return frozenset(self._in_hand)

    async def empty(self) -> None:
        """Wait until everything taken so far is settled."""
        await self._empty.wait()

    # --- Leases -------------------------------------------------------------------------------------------------------

    def waits_since(self, row: Row) -> timedelta:
        """How long ago it was known that ``row`` is leased to this process."""
        held = self._in_hand.get(row.id)
        return timedelta(0) if held is None else self.elapsed() - held.sure_at

    def waiting_since(self, channel: str, longer_than: timedelta) -> list[str]:
        """The ids of the rows that wait for their turn, and of whose lease nothing was heard for so long."""
        return [row.id for row in self._turns[channel] if self.waits_since(row) > longer_than]

    def sure_of(self, ids: Collection[str], at: timedelta) -> None:
        """The rows ``ids`` were leased to :attr:`owner` after ``at``."""
        for row_id in ids:
            if (held := self._in_hand.get(row_id)) is not None:
                self._in_hand[row_id] = replace(held, sure_at=at)

    def lost(self, channel: str, ids: Collection[str]) -> None:
        """Others have the rows ``ids`` now: those that wait are let go."""
        self._let_go(self._turns[channel].remove(ids))

    # --- What is learned ----------------------------------------------------------------------------------------------

    def answered(self, row: Row, took: timedelta) -> None:
        """Where ``row`` went somebody answered."""
        self._turns[row.channel].answered(row.lane, took)
        self._ready[row.channel].set()

    def silent(self, row: Row, now: datetime, first: timedelta) -> datetime | None:
        """Nobody answered in time where ``row`` went; returns until when its lane rests, see :meth:`Turns.silent`."""
        return self._turns[row.channel].silent(row.lane, now, first)
