"""Rate limits: how fast Slack may be asked after a 429.

Slack takes about one message a second in a conversation, and bursts of an unpublished length. So nothing is slowed down
before a 429. From then on each delivery of that bucket gets its turn, one after another, from the time that Slack
named, until the bucket has been calm for a while. Nothing sleeps here: a delivery that has to wait is told until when,
and its row goes back to the outbox.

Source: https://docs.slack.dev/apis/web-api/rate-limits; facts on channels §A4, §F.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

POST = "chat.postMessage"
UPDATE = "chat.update"
OPEN = "conversations.open"
HISTORY = "conversations.history"

IN_A_CONVERSATION = timedelta(seconds=1)
EVERYWHERE = timedelta(milliseconds=200)
"""Posts of a whole workspace: Slack says "several hundred a minute"."""
TIER_3 = timedelta(milliseconds=1200)
"""Fifty a minute, for each method."""
STEPS: Mapping[str, timedelta] = MappingProxyType({POST: EVERYWHERE, UPDATE: TIER_3, OPEN: TIER_3, HISTORY: TIER_3})

CALM = timedelta(minutes=1)
"""So long after its last complaint a bucket is forgotten."""
AT_ONCE = 3
"""So many conversations that are full at the same time mean that the workspace is."""


@dataclass(slots=True)
class _Bucket:
    """``turns`` are the turns given and not yet used, by delivery."""

    step: timedelta
    next: datetime
    calm_at: datetime
    turns: dict[str, datetime] = field(default_factory=dict)

    def turn(self, delivery: str, now: datetime) -> datetime | None:
        given = self.turns.pop(delivery, None)
        if given is None:
            given = max(self.next, now)
            self.next = given + self.step
        if given <= now:
            return None
        self.turns[delivery] = given
        return given


class RateLimits:
    """A bucket is a method (:data:`POST` for the whole workspace) or the id of a conversation."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def turn(self, bucket: str, delivery: str) -> datetime | None:
        """When ``delivery`` may go, ``None`` for at once. A delivery that is told a time keeps that turn."""
        now = self._now()
        for name in (bucket,) if bucket in STEPS else (POST, bucket):
            slow = self._slow(name, now)
            if slow is not None and (wait := slow.turn(delivery, now)) is not None:
                return wait
        return None

    def limited(self, bucket: str, until: datetime | None) -> None:
        """Slack answered 429 for ``bucket`` until ``until``. Turns given so far are void."""
        now = self._now()
        self._pause(bucket, until or now, now)
        full = [name for name, one in self._buckets.items() if name not in STEPS and one.next > now]
        if len(full) >= AT_ONCE:
            self._pause(POST, until or now, now)

    def _pause(self, name: str, until: datetime, now: datetime) -> None:
        before = self._slow(name, now)
        if before is not None and before.turns and min(before.turns.values()) >= until:
            return  # several were under way at once: who waits, waits long enough
        step = STEPS.get(name, IN_A_CONVERSATION)
        first = max(until, now + step)
        self._buckets[name] = _Bucket(step, first, first + CALM)

    def _slow(self, name: str, now: datetime) -> _Bucket | None:
        bucket = self._buckets.get(name)
        if bucket is not None and now >= max(bucket.calm_at, bucket.next):
            del self._buckets[name]
            return None
        return bucket
