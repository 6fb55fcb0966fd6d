"""Plain times: those of a question that nobody has claimed or asked back about, and that has no deadline.

All of them move by an outage alike, and only a few values of the record have to do with it. So a hundred thousand such
questions need not be read whole. What comes of it is what ``core.domain.machine`` decides for :class:`Rescheduled`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import JsonValue

from core.domain.vocabulary import RESCHEDULED, Event
from core.domain.wire import instant, seconds


class PlainTimes(NamedTuple):
    """``next_waits_until`` and ``ends_at`` are what was agreed at the start, ``shift`` is by how much that has moved.
    ``attempt`` is the last one that went out."""

    suspension_id: str
    suspended_at: datetime
    attempt: int
    max_attempts: int
    interval: timedelta | None
    next_waits_until: datetime | None
    ends_at: datetime | None
    shift: timedelta

    def moved(self, by: timedelta) -> PlainTimes:
        return self._replace(shift=self.shift + by)

    @property
    def next_attempt_at(self) -> datetime | None:
        """``None`` after the last one."""
        if self.attempt >= self.max_attempts:
            return None
        after = timedelta(0) if self.interval is None else self.interval * self.attempt
        return (self.next_waits_until or self.suspended_at + after) + self.shift

    @property
    def expires_at(self) -> datetime | None:
        return None if self.ends_at is None else self.ends_at + self.shift

    @property
    def look_at(self) -> datetime | None:
        return min((at for at in (self.next_attempt_at, self.expires_at) if at is not None), default=None)


def rescheduled(before: PlainTimes, by: timedelta) -> tuple[PlainTimes, Event]:
    """The times as they are then, and what the log says of it."""
    after = before.moved(by)
    payload: dict[str, JsonValue] = {
        "suspension_id": before.suspension_id,
        "reason": "outage",
        "shift_seconds": seconds(by),
        "previous_expires_at": instant(before.expires_at),
        "expires_at": instant(after.expires_at),
        "next_attempt_at": instant(after.next_attempt_at),
    }
    return after, Event(RESCHEDULED, payload)
