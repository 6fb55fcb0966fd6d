"""The relay's queues in memory: one lane a channel, so that a dead Slack never delays a mail."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence

from core.store.outbox import Row

CAPACITY = 256
"""Rows that one lane takes ahead of its senders; what does not fit stays in the database until there is room."""

_REFILLED_AT = CAPACITY // 2
"""A lane takes rows out of the database when it has room for so many: a full one does not fetch each by itself."""


class Lanes:
    """Rows leased to this process and not yet sent. ``owner`` is new with every start."""

    def __init__(self, channels: Iterable[str]) -> None:
        self.owner = uuid.uuid4().hex
        self._queues: dict[str, asyncio.Queue[Row]] = {channel: asyncio.Queue() for channel in channels}
        self._held: set[str] = set()
        self._open = False

    def open(self) -> None:
        """Begin to take rows."""
        self._open = True

    def close(self) -> list[Row]:
        """Take no more rows; returns those that nobody has begun to send."""
        self._open = False
        left = []
        for queue in self._queues.values():
            while not queue.empty():
                left.append(queue.get_nowait())
                queue.task_done()
        self._held -= {row.id for row in left}
        return left

    @property
    def channels(self) -> list[str]:
        return list(self._queues)

    def room(self, channel: str) -> int:
        """How many more rows ``channel`` takes; safe to ask from any thread."""
        queue = self._queues.get(channel)
        return max(0, CAPACITY - queue.qsize()) if queue is not None and self._open else 0

    def has_room(self, channel: str) -> bool:
        return self.room(channel) > 0

    def wants_more(self) -> list[str]:
        """Channels with room enough for rows to be fetched from the database."""
        return [channel for channel in self._queues if self.room(channel) >= _REFILLED_AT]

    def begins_to_want(self, channel: str) -> bool:
        """Whether the row just taken was the one that makes room enough."""
        return self.room(channel) == _REFILLED_AT

    def hand_over(self, rows: Sequence[Row]) -> None:
        """Take ``rows``, which are leased to :attr:`owner`."""
        for row in rows:
            self._held.add(row.id)
            self._queues[row.channel].put_nowait(row)

    async def next(self, channel: str) -> Row:
        """The next row to send. Say :meth:`done` when it is settled."""
        return await self._queues[channel].get()

    def done(self, row: Row) -> None:
        self._held.discard(row.id)
        self._queues[row.channel].task_done()

    @property
    def held(self) -> frozenset[str]:
        """The ids of all rows in hand, waiting or being sent."""
        return frozenset(self._held)

    async def empty(self) -> None:
        """Wait until everything taken so far is settled."""
        for queue in self._queues.values():
            await queue.join()
