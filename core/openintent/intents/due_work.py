"""Due work of intents, beside the questions' own clock: ends of leases, retries, a record that has not come.

A due time is set in the transaction that causes it (:class:`DueTimes`). Both work engines call :class:`DueWork` with
every look: each row is taken out and worked off in one transaction that holds its intent. If nothing is due, the
database is asked every few seconds only, so that a question pays nothing for it.

These times follow the wall clock: an outage of ours does not move them (API.md §7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta

from core.database.database import Database, Tx
from core.domain.intent import Intent
from core.openintent.store import due_times
from core.openintent.store.due_times import DueKind, DueTime
from core.ports import Alarm, Clock
from core.store import intents

Worker = Callable[[Tx, Intent, str, datetime], None]
"""Works off what is due: the intent, locked, the subject, and what time it is."""

PortionWorker = Callable[[DueTime], Awaitable[bool]]
"""Works off a part of what is due and belongs to no one intent, in a transaction of its own. The row stays until it is
taken out there. False if somebody else is at it."""

_AT_ONCE = 100
_TAKEN_NOW = timedelta(seconds=0.5)
_ASK_EVERY = timedelta(seconds=5)
"""How long a time that another process has set may stay unseen; that process looks at it in time."""


class DueTimes:
    """Sets and clears times. The intent must be locked in the transaction."""

    def __init__(self, alarm: Alarm) -> None:
        self._alarm = alarm
        self.changes = 0
        """How often a time was set here."""

    def put(self, tx: Tx, kind: DueKind, subject: str, intent: Intent | None, at: datetime) -> None:
        """``subject`` is due ``at``; replaces its earlier time. It may belong to no one intent."""
        due_times.put(tx, DueTime(kind, subject, None if intent is None else intent.id, at))
        tx.after_commit(self._changed)
        self._alarm.within(tx, at)

    def clear(self, tx: Tx, kind: DueKind, subject: str) -> None:
        due_times.clear(tx, kind, subject)

    def _changed(self) -> None:
        self.changes += 1


class DueWork:
    """Works off all due rows. Any number of processes may do so at once.

    ``portions`` do large jobs, one part with each look, so that other due work has its turn in between.
    """

    def __init__(
        self,
        database: Database,
        times: DueTimes,
        clock: Clock,
        workers: Mapping[DueKind, Worker],
        portions: Mapping[DueKind, PortionWorker],
    ) -> None:
        self._database = database
        self._times = times
        self._clock = clock
        self._workers = workers
        self._portions = portions
        self._following: datetime | None = None
        self._asked_at: datetime | None = None
        self._seen = 0

    async def look(self) -> datetime | None:
        """Do everything that is due; returns when the next thing is."""
        if self._is_known(self._clock.now()):
            return self._following
        self._seen, self._asked_at = self._times.changes, None
        while due := await self._database.read(lambda conn: due_times.reached(conn, self._clock.now(), _AT_ONCE)):
            whole = [one for one in due if one.kind not in self._portions]
            in_parts = [one for one in due if one.kind in self._portions]
            done = [*await asyncio.gather(*(self._database.write(self._work_off(one)) for one in whole))]
            done.append(await self._one_portion(in_parts))
            if not any(done):
                return self._clock.now() + _TAKEN_NOW  # others hold the intents of all of them
            if in_parts:
                return self._clock.now()
        self._following = await self._database.read(due_times.next_at)
        self._asked_at = self._clock.now()
        return self._following

    async def _one_portion(self, in_parts: Sequence[DueTime]) -> bool:
        """One part of the first job that no other process works on; False if there is none."""
        for one in in_parts:
            if await self._portions[one.kind](one):
                return True
        return False

    def _is_known(self, now: datetime) -> bool:
        """Whether the last result still says when the next row is due, and that is not yet."""
        if self._asked_at is None or self._seen != self._times.changes:
            return False
        if self._following is not None and self._following <= now:
            return False
        return abs(now - self._asked_at) < _ASK_EVERY  # it may have been set back

    def _work_off(self, due: DueTime) -> Callable[[Tx], bool]:
        """False if another transaction holds the intent at this moment."""

        def job(tx: Tx) -> bool:
            intent_id = due.intent_id or ""
            intent = intents.lock_free(tx, intent_id)
            if intent is None and intents.get(tx.conn, intent_id) is not None:
                return False
            if due_times.take(tx, due) and intent is not None:
                self._workers[due.kind](tx, intent, due.subject, self._clock.now())
            return True

        return job
