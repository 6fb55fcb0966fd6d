"""Leases: whether a row that has waited is still ours to send, and what becomes of a row whose lease was lost.

- A worker that was frozen or cut off is taken for dead, and others send what it had in hand. So a row whose lease was
  not confirmed for longer than a beat is asked for again, in one statement for all that wait as long in its channel.
  The time between that answer and the first byte on the wire remains; it is bounded by a beat.
- Orphaned rows: the commit that leased them stands, but its acknowledgement was lost with the connection. They are
  given back as surely not sent.
- Late outcomes: a worker that comes back finishes its tries. Its word no longer counts, except that a message which
  is there has to be withdrawn with the others when its question ends (:func:`delivered`).

Source: docs/decisions/0018, 0040.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from core.database.database import Database, Tx
from core.delivery.lanes import Lanes
from core.engine.transitions import LEASE
from core.ports import Clock
from core.store import outbox
from core.store.outbox import Row, RowKind, RowStatus

log = structlog.get_logger(__name__)

BEAT = timedelta(seconds=5)
"""How old what is known of a lease may be. Others wait for several beats before they take anything over."""


class LeaseLost(Exception):
    """The row is leased to another process now."""


@dataclass(slots=True)
class Leases:
    """``beat`` is how often this process says that it is alive."""

    database: Database
    lanes: Lanes
    clock: Clock
    beat: timedelta = BEAT

    async def ensure(self, row: Row) -> None:
        """Raises :class:`LeaseLost` if ``row``, whose turn has come, is leased to us no longer, and
        ``DatabaseUnavailable`` if there is no telling. Costs nothing where the lease is fresh."""
        while self.lanes.waits_since(row) > self.beat:
            asked_at = self.lanes.elapsed()
            waiting = self.lanes.waiting_since(row.channel, self.beat)
            ours = await self._extended([row.id, *waiting])
            self.lanes.sure_of(ours, asked_at)
            lost = [one for one in waiting if one not in ours]
            self.lanes.lost(row.channel, lost)
            if lost or row.id not in ours:
                log.warning("relay.leases_lost", channel=row.channel, rows=len(lost) + (row.id not in ours))
            if row.id not in ours:
                raise LeaseLost

    async def _extended(self, ids: Sequence[str]) -> set[str]:
        until = self.clock.now() + LEASE
        return await self.database.write(lambda tx: outbox.extend(tx, ids, self.lanes.owner, until))


EVERY = timedelta(seconds=5)
IN_TRANSIT = timedelta(seconds=10)
"""How old a lease must be: between a commit and the lane a row is in nobody's hands for a moment."""


@dataclass(slots=True)
class OrphanedRows:
    """Finds rows that this process holds in the database but not in memory, and gives them back as surely not sent."""

    database: Database
    lanes: Lanes
    _searched_at: datetime | None = None

    async def search(self, now: datetime) -> None:
        """At most :data:`EVERY` so often, and after each step back of the host's clock."""
        if self._searched_at is not None and timedelta(0) <= now - self._searched_at < EVERY:
            return
        self._searched_at = now
        owner, held, before = self.lanes.owner, self.lanes.held, now + LEASE - IN_TRANSIT
        leased = await self.database.read(lambda conn: outbox.leased_before(conn, owner, before))
        lost = leased - held
        if lost:
            found = await self.database.write(lambda tx: outbox.give_back_mislaid(tx, lost, owner, before))
            log.warning("relay.mislaid_rows_found", rows=found)


TWICE = "sent_twice"
"""The ``reason`` of a row for a message that two workers have sent."""


def delivered(tx: Tx, row: Row, receipt: Mapping[str, str], now: datetime) -> Row | None:
    """A message that has arrived after all: keep its receipt. Returns the row that holds it, ``None`` if nothing
    had to be kept.

    Where nobody has begun with the row again it is delivered. Otherwise the message may be there twice, so the other
    one gets a row of its own; not where both are the same (mail and PagerDuty know them by the delivery's id), nor
    if it has come back by now.
    """
    if outbox.accept(tx, row, now, receipt):
        _tell(tx, row, "accepted")
        return replace(row, receipt=receipt)
    found = outbox.get(tx.conn, row.id)
    if row.kind is not RowKind.NOTIFY or found is None or found.receipt == receipt or outbox.has_returned(found):
        left_alone(tx, row, "delivered")
        return None
    second = replace(
        row,
        id=uuid.uuid4().hex,
        status=RowStatus.DELIVERED,
        receipt=receipt,
        reason=TWICE,
        settled_at=now,
        lease_until=None,
    )
    outbox.insert(tx, [second], "")
    _tell(tx, row, "kept")
    return second


def left_alone(tx: Tx, row: Row, outcome: str) -> None:
    """Whoever has the row in hand now says what becomes of it."""
    _tell(tx, row, "dropped", outcome)


def _tell(tx: Tx, row: Row, done: str, outcome: str = "delivered") -> None:
    tx.after_commit(
        lambda: log.warning("relay.outcome_came_late", delivery=row.id, channel=row.channel, outcome=outcome, done=done)
    )
