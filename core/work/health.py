"""Health: whether this process is stuck, and whether its database answers, by the age of its regular work.

A health request asks nothing itself: a check that hangs says nothing, and one that is answered says nothing of the
clock beside it. Seconds are the process's own, which nobody sets.

Source: API.md §9; docs/decisions/0033-deadlines-on-every-database-call.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from core.errors import DatabaseReplaced, DatabaseUnavailable

STALLED = timedelta(seconds=60)
"""Work that has not begun a round for so long is stuck. A round that failed, or ended at its deadline, counts."""

SILENT = timedelta(seconds=15)
"""A process whose last beat, or last write, is older is not ready. A beat takes eight seconds at most, every five."""

NOT_LOOKED = timedelta(seconds=30)
"""A look may have much to do."""

CLOCK, RELAY = "clock", "relay"
"""What looks at everything that is due, and what sends."""

LOOK, BEAT, WRITE = "look", "beat", "write"


@dataclass(frozen=True, slots=True)
class NotReady:
    """The reason for a person; ``code`` is for the wire. ``ages`` are in seconds, by kind of work."""

    code: str
    message: str
    ages: dict[str, float]


@dataclass(slots=True)
class Health:
    """``silent`` and ``looks``: how old the last beat and the last look may be; ``looks`` is ``None`` for a process
    without a clock. ``written_at`` is when the database last took a write, by the same ``tick``."""

    written_at: Callable[[], float | None]
    silent: timedelta = SILENT
    looks: timedelta | None = NOT_LOOKED
    tick: Callable[[], float] = time.monotonic
    fatal: Callable[[DatabaseReplaced], None] | None = None
    """Called once where the service has to stop: its database is gone."""
    _next: dict[str, float] = field(default_factory=dict)
    _done: dict[str, float] = field(default_factory=dict)
    _failure: DatabaseUnavailable | None = None

    # --- What the parts tell --------------------------------------------------------------------------------------

    def begins(self, what: str, following: timedelta = timedelta()) -> None:
        """A round of ``what`` begins; the next one may come up to ``following`` later than usual."""
        self._next[what] = self.tick() + following.total_seconds()

    def ends(self, what: str) -> None:
        """``what`` no longer runs here, and can't be stuck."""
        self._next.pop(what, None)

    def looked(self) -> None:
        """A look at everything due has ended."""
        self._done[LOOK] = self.tick()

    def beaten(self) -> None:
        """This process has written its heartbeat."""
        self._failure = None
        self._done[BEAT] = self.tick()

    def failed(self, failure: DatabaseUnavailable) -> None:
        """This process could not write its heartbeat."""
        first, self._failure = self._failure, failure
        if isinstance(failure, DatabaseReplaced) and not isinstance(first, DatabaseReplaced) and self.fatal is not None:
            self.fatal(failure)

    # --- What is asked --------------------------------------------------------------------------------------------

    def stalled(self) -> dict[str, float]:
        """Work that has not begun a round for a minute, with the seconds."""
        now = self.tick()
        return {what: now - at for what, at in self._next.items() if now - at > STALLED.total_seconds()}

    def not_ready(self) -> NotReady | None:
        """Why this process can't do its work, ``None`` if it can."""
        ages = self._ages()
        if self._failure is not None:
            return NotReady(self._failure.code, f"{self._failure.message} {_told(ages)}".strip(), ages)
        allowed = {BEAT: self.silent, WRITE: self.silent} | ({} if self.looks is None else {LOOK: self.looks})
        late = [what for what, most in allowed.items() if ages.get(what, 0.0) > most.total_seconds()]
        if not late:
            return None
        return NotReady("not_ready", f"The last {late[0]} is too long ago. {_told(ages)}", ages)

    def _ages(self) -> dict[str, float]:
        done = dict(self._done)
        written = self.written_at()
        if written is not None:
            done[WRITE] = written
        now = self.tick()
        return {what: round(now - done[what], 1) for what in (LOOK, BEAT, WRITE) if what in done}


def _told(ages: dict[str, float]) -> str:
    """``Last look 3 s ago, last beat 20 s ago.``"""
    parts = [f"last {what} {age:.0f} s ago" for what, age in ages.items()]
    return f"{', '.join(parts)}.".capitalize() if parts else ""
