"""What can go wrong on the way to PagerDuty, switched on for the next requests by a test or by the demo."""

from __future__ import annotations

from collections import deque
from enum import Enum, auto


class Fault(Enum):
    """What can go wrong with the next event."""

    RATE_LIMITED = auto()
    SERVER_ERROR = auto()
    DROP_BEFORE_STORING = auto()
    DROP_AFTER_STORING = auto()
    SLOW = auto()
    """It happens, and the answer comes only once ``Faults.released`` is set."""
    LOST = auto()
    """A 202, and nothing comes of it: the Events API is asynchronous."""


class Faults:
    """One fault for each of the next requests, in this order."""

    def __init__(self) -> None:
        self._next: deque[Fault] = deque()

    def add(self, *faults: Fault) -> None:
        self._next.extend(faults)

    def clear(self) -> None:
        self._next.clear()

    def take(self) -> Fault | None:
        return self._next.popleft() if self._next else None
