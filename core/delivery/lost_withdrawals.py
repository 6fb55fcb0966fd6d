"""Lost withdrawals: whether an ended question's page is really gone, and how it is withdrawn again if it is not.

PagerDuty accepts a resolve (202) and may lose it; then people are paged about a question that has an answer. So an
accepted withdrawal waits for its proof (:func:`await_end`): the door has heard that each place at which the question
stands is gone. Without the proof it is withdrawn again, after ever longer waits, :data:`MOST` times in all. If the door
hears anything of such a place after a withdrawal was accepted, the question is withdrawn again at once
(:func:`sighted`).

A place (an incident) that stands for a question that is still open is left alone until that has ended.

Source: API.md §6; facts on channels §F ("resolve lost"); docs/decisions/0096.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial

import sqlalchemy as sa
import structlog

from core.database.database import Database, Tx
from core.delivery import alerts
from core.domain.suspension import Suspension
from core.engine.refresh import is_refresh
from core.engine.transitions import Transitions
from core.ports import Channel, Clock
from core.store import incidents, markers, outbox, suspensions
from core.store.outbox import Row, RowKind, RowStatus

log = structlog.get_logger(__name__)

PATIENCE = timedelta(minutes=5)
"""How long the proof of the first withdrawal may take; twice as long after each that follows."""
MOST = 4
"""How often a page is withdrawn by the clock before the operators have to look."""
AT_MOST_EVERY = timedelta(minutes=1)
"""How often a question is withdrawn again because of what the door hears."""


class Sign(Enum):
    """What the door has heard of a place."""

    GONE = auto()
    """Nobody is asked there any more."""
    ASKS = auto()
    """Somebody is asked there, or is on it: it is not gone, whatever was heard before."""
    MENTIONED = auto()
    """Something else: it says nothing of a place that is gone."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What happened ``at`` a time to ``place``, at which these ``questions`` stand, open or not. ``into`` is where they
    stand from now on, if that is another place."""

    place: str
    questions: Sequence[Suspension]
    sign: Sign
    at: datetime
    into: str | None = None


def again(transitions: Transitions, tx: Tx, question: Suspension, channel: str, now: datetime) -> list[Row]:
    """One more withdrawal of each of the question's messages there. In doubt from the start: what an earlier one has
    said there is not said again."""
    rows = outbox.of_suspension(tx.conn, question.id)
    notices = [row for row in rows if row.kind is RowKind.NOTIFY and row.channel == channel and row.receipt]
    return [replace(row, ambiguous=True) for row in transitions.withdrawals.edits(notices, now)]


def await_end(transitions: Transitions, tx: Tx, row: Row, ref: str, now: datetime) -> None:
    """The withdrawal ``row`` was accepted: wait until the door has heard that the question ``ref`` is asked nowhere."""
    times = _times(_withdrawals(tx, row.suspension_id or "", row.channel))
    until = now + PATIENCE * (1 << min(max(times, 1) - 1, MOST))
    markers.await_end(tx, row.channel, ref, until)
    transitions.alarm.within(tx, until)


async def sighted(database: Database, transitions: Transitions, clock: Clock, channel: str, sighting: Sighting) -> None:
    """Keep what was heard, and withdraw what it shows not to be gone. Costs nothing while nothing there has ended."""
    if sighting.sign is Sign.GONE:
        await database.write(lambda tx: _note_gone(tx, channel, sighting, clock.now()))
    elif sighting.questions and not any(one.is_open for one in sighting.questions):
        await database.write(lambda tx: _withdraw_again(transitions, tx, channel, sighting, clock.now()))


def _note_gone(tx: Tx, channel: str, sighting: Sighting, now: datetime) -> None:
    for one in sighting.questions:
        markers.note_place(tx, channel, one.ask.ref, sighting.place, now)
        markers.note_gone(tx, channel, one.ask.ref, sighting.place, sighting.at)
        if sighting.into is not None:
            markers.note_place(tx, channel, one.ask.ref, sighting.into, now)


def _withdraw_again(transitions: Transitions, tx: Tx, channel: str, sighting: Sighting, now: datetime) -> None:
    for question in sighting.questions:
        ref = question.ask.ref
        markers.note_place(tx, channel, ref, sighting.place, now)
        if sighting.sign is Sign.ASKS:
            markers.forget_gone(tx, channel, ref, sighting.place, before=sighting.at)
        if sighting.place not in markers.places_left(tx.conn, channel, ref):
            continue
        done = _withdrawals(tx, question.id, channel)
        if not _was_withdrawn_before(done, sighting.at) or now - done[-1].created_at < AT_MOST_EVERY:
            continue
        tx.after_commit(partial(log.warning, "channel.withdrawn_again", channel=channel, ref=ref, reason="still_there"))
        transitions.dispatch(tx, again(transitions, tx, question, channel, now))
        if _times(done) >= MOST:
            alerts.never_gone(transitions, tx, channel, ref, now)


def _was_withdrawn_before(done: Sequence[Row], at: datetime) -> bool:
    """Whether each of these withdrawals, of which there are some, was accepted before ``at``. One under way does for
    whatever was heard before it."""
    return bool(done) and all(row.settled_at is not None and row.settled_at < at for row in done)


def _withdrawals(tx: Tx, suspension_id: str, channel: str) -> list[Row]:
    """Those since the question has ended, oldest first."""
    rows = outbox.of_suspension(tx.conn, suspension_id)
    return [
        row
        for row in rows
        if row.kind is RowKind.WITHDRAW
        and row.channel == channel
        and not is_refresh(row)
        and row.status is not RowStatus.DROPPED
    ]


def _times(done: Sequence[Row]) -> int:
    """How often the message that was withdrawn most was."""
    counted: dict[str, int] = {}
    for row in done:
        key = str((row.body or {}).get("receipt"))
        counted[key] = counted.get(key, 0) + 1
    return max(counted.values(), default=0)


@dataclass(slots=True)
class LostWithdrawals:
    """Looks for proofs that have not come. One process that looks is enough; two do no harm."""

    database: Database
    transitions: Transitions
    clock: Clock
    channels: Mapping[str, Channel]

    async def look(self) -> datetime | None:
        """Withdraw again what should be gone by now; returns when to look again, ``None`` if nothing is waited for."""
        now = self.clock.now()
        withdrawing = [name for name, one in self.channels.items() if one.withdraws]
        soonest = [await self._of_channel(one, now) for one in withdrawing]
        return min((at for at in soonest if at is not None), default=None)

    async def _of_channel(self, channel: str, now: datetime) -> datetime | None:
        soonest = await self.database.read(partial(markers.next_end, channel=channel))
        if soonest is None or soonest > now:
            return soonest
        for ref in await self.database.read(partial(markers.ends_due, channel=channel, now=now)):
            await self.database.write(partial(self._check, channel=channel, ref=ref, now=now))
        return await self.database.read(partial(markers.next_end, channel=channel))

    def _check(self, tx: Tx, channel: str, ref: str, now: datetime) -> None:
        question = suspensions.by_ref(tx.conn, ref)
        if not markers.forget_end(tx, channel, ref) or question is None or question.is_open:
            return  # another process was faster
        left = markers.places_left(tx.conn, channel, ref)
        if not left and markers.places_of(tx.conn, channel, ref):
            return  # it is gone from each
        beside = _beside(tx.conn, ref, left)
        if any(one.is_open for one in beside):
            return  # its own end withdraws whatever is left there
        if _times(_withdrawals(tx, question.id, channel)) >= MOST:
            if left:  # a page that nobody has ever seen is told of already
                alerts.never_gone(self.transitions, tx, channel, ref, now)
            return
        tx.after_commit(partial(log.warning, "channel.withdrawn_again", channel=channel, ref=ref, reason="no_proof"))
        for one in (question, *beside):
            self.transitions.dispatch(tx, again(self.transitions, tx, one, channel, now))


def _beside(conn: sa.Connection, ref: str, places: Sequence[str]) -> list[Suspension]:
    """The other questions that stand at these places."""
    kept = (incidents.get(conn, place) for place in places)
    refs = dict.fromkeys(other for one in kept if one is not None for other in one.refs or () if other != ref)
    found = (suspensions.by_ref(conn, other) for other in refs)
    return [one for one in found if one is not None]
