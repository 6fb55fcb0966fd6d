"""The hub: wakes whoever waits. Agents in ``wait``, event streams, workers. It says "look now", and carries no data."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from core.database.database import Tx

EVERYTHING = "*"
"""The topic of every event."""

WORK = "work"
"""The topic of workers: something is due now."""

OUTBOX = "outbox"
"""The topic of relays: rows are due now and lie in the database."""


class OtherProcesses(Protocol):
    """The other processes that run on the same database."""

    def spread(self, tx: Tx, topics: tuple[str, ...]) -> None:
        """Tell them once ``tx`` is committed; never if it is not."""
        ...


class Wakeup(asyncio.Event):
    """An event that can be waited for beside others (:func:`first_of`) without a task for each."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited: set[asyncio.Future[None]] = set()
        """By those who wait for this one or another."""

    def set(self) -> None:
        super().set()
        for one in self.awaited:
            if not one.done():
                one.set_result(None)


async def first_of(*wakeups: Wakeup, patience: float | None = None) -> bool:
    """Wait for one of ``wakeups``, for ``patience`` (seconds) if that is given; whether it came."""
    if any(one.is_set() for one in wakeups):
        return True
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    for one in wakeups:
        one.awaited.add(waiting)
    try:
        async with asyncio.timeout(patience):
            await waiting
    except TimeoutError:
        return False
    finally:
        for one in wakeups:
            one.awaited.discard(waiting)
    return True


class Hub:
    """A wake-up before anybody waits is not lost: subscribe first, then look. Called from the event loop only, but for
    :meth:`announce`. ``elsewhere`` is set where other processes share the database."""

    def __init__(self) -> None:
        self.elsewhere: OtherProcesses | None = None
        self._waiting: dict[str, set[Wakeup]] = defaultdict(set)

    def tell(self, *topics: str) -> None:
        """Wake everybody who subscribed to one of ``topics``."""
        for topic in topics:
            for event in self._waiting.get(topic, ()):
                event.set()

    def tell_everybody(self) -> None:
        """Wake whoever waits for anything: nobody knows what was missed."""
        self.tell(*list(self._waiting))

    def announce(self, tx: Tx, *topics: str) -> None:
        """Tell ``topics`` once ``tx`` is committed: here, and in every other process. From the transaction's thread."""
        tx.after_commit(lambda: self.tell(*topics))
        if self.elsewhere is not None:
            self.elsewhere.spread(tx, topics)

    def announce_intents(self, tx: Tx, *intent_ids: str) -> None:
        """As :meth:`announce`: the logs of these intents have grown."""
        self.announce(tx, EVERYTHING, *intent_ids)

    @contextmanager
    def subscribe(self, topic: str) -> Iterator[Wakeup]:
        """Set whenever ``topic`` is told from now on; clear it before looking again."""
        news = Wakeup()
        self._waiting[topic].add(news)
        try:
            yield news
        finally:
            self._waiting[topic].discard(news)
            if not self._waiting[topic]:
                del self._waiting[topic]
