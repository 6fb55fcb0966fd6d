"""Wakes whoever waits in this process: agents in ``wait``, event streams. Carries no data, only "look now"."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

EVERYTHING = "*"


class Hub:
    """Called from the event loop only. A wake-up before anybody waits is not lost: subscribe first, then look."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)

    def tell(self, *topics: str) -> None:
        """Wake everybody who subscribed to one of ``topics``."""
        for topic in topics:
            for event in self._waiting.get(topic, ()):
                event.set()

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
