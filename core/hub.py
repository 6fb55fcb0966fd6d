"""The hub: wakes whoever waits. Agents in ``wait``, event streams, workers. It carries no data, only "look now"."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from core.store.database import Tx

EVERYTHING = "*"
"""The topic of every event."""

WORK = "work"
"""The topic of workers: something is due now."""


class OtherProcesses(Protocol):
    """The other processes that run on the same database."""

    def spread(self, tx: Tx, topics: tuple[str, ...]) -> None:
        """Tell them once ``tx`` is committed; never if it is not."""
        ...


class Hub:
    """A wake-up before anybody waits is not lost: subscribe first, then look. Called from the event loop only, but for
    :meth:`announce`. ``elsewhere`` is set where other processes share the database."""

    def __init__(self) -> None:
        self.elsewhere: OtherProcesses | None = None
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)

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
    def subscribe(self, topic: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever ``topic`` is told; clear it before looking again."""
        event = asyncio.Event()
        self._waiting[topic].add(event)
        try:
            yield event
        finally:
            self._waiting[topic].discard(event)
            if not self._waiting[topic]:
                del self._waiting[topic]
