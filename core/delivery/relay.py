"""The relay: works the outbox off. Take a row, try it (``tries``), settle its outcome.

:meth:`Relay._settle` alone decides what the outcome of a try means for the row. An **attempt** asks a person again (the
engine's business); a **try** repeats a send (ours).

Source: DESIGN.md, "The outbox"; API.md §3, §5.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

import structlog

from core.database.database import Database, Tx
from core.delivery import alerts, leases, lost_callbacks, lost_withdrawals
from core.delivery.backlog import Backlog
from core.delivery.lanes import Lanes
from core.delivery.leases import BEAT, Leases, OrphanedRows
from core.delivery.links import LinkMaker
from core.delivery.on_call import OnCallAddresses
from core.delivery.pause import Pausing
from core.delivery.tries import NOT_WANTED, Dropped, NoticesPaused, NotOurs, Tries
from core.delivery.turns import LINGERS_AFTER, whole_second
from core.domain.intent import Intent
from core.domain.suspension import Suspension
from core.domain.vocabulary import AttemptRefused
from core.domain.wording import AgentTold
from core.engine.channel_views import ChannelViews
from core.engine.outages import locked
from core.engine.refresh import is_refresh
from core.engine.transitions import Transitions
from core.engine.withdrawals import TOLD_LATER, again
from core.errors import DatabaseUnavailable
from core.hub import OUTBOX
from core.ports import (
    Agents,
    Alarm,
    Ambiguous,
    Backoff,
    Channel,
    Clock,
    Deferred,
    Delivered,
    Delivery,
    Refused,
)
from core.store import intents, markers, outbox, suspensions
from core.store.outbox import Row, RowKind, RowStatus, tell_row
from core.surroundings import CallbackLost, Subscribers
from core.work.health import RELAY, Health

log = structlog.get_logger(__name__)

NOTICES = Backoff(timedelta(seconds=2), timedelta(minutes=10), timedelta(days=3))
SILENCE = frozenset({"timeout", "connect_timeout"})
"""Reasons that mean that nobody has answered in time."""
OUR_OWN = frozenset({"database_unavailable", "channel_failed", "waits_for_its_turn"})
"""Reasons that say nothing of whoever was to be reached."""
_CALLS = frozenset({RowKind.RESUME, RowKind.EVENT})
"""What goes to programs: tried as the configuration says, and dead then."""
STILL_IN_HAND = timedelta(seconds=5)
"""How long a row is kept whose outcome can't be written down, before that is tried again."""


class Relay:
    """Sends what the lanes hold. ``beat`` is how often this process says that it is alive."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        transitions: Transitions,
        channels: Mapping[str, Channel],
        agents: Agents,
        links: LinkMaker,
        clock: Clock,
        alarm: Alarm,
        callbacks: Backoff,
        pausing: Pausing,
        channel_views: ChannelViews,
        subscribers: Subscribers,
        health: Health | None = None,
        callback_lost: CallbackLost | None = None,
        beat: timedelta = BEAT,
    ) -> None:
        self.database = database
        self.lanes = lanes
        self.transitions = transitions
        self.clock = clock
        self.alarm = alarm
        self.callbacks = callbacks
        self.pausing = pausing
        self.health = health
        self.subscribers = subscribers
        self.callback_lost = callback_lost
        self.tries = Tries(
            database,
            transitions.responders,
            channels,
            agents,
            links,
            clock,
            pausing,
            channel_views,
            Leases(database, lanes, clock, beat),
            OnCallAddresses(database, transitions, clock, lanes.owner),
            subscribers,
        )
        self._beginners: list[asyncio.Task[None]] = []
        self._sends: set[asyncio.Task[None]] = set()
        self._taking = asyncio.Lock()
        self._orphaned_rows = OrphanedRows(database, lanes)
        self._backlog = Backlog(database, lanes, clock)

    async def start(self) -> None:
        """Begin to send."""
        self.lanes.open()
        for channel in self.lanes.channels:
            self._beginners.append(asyncio.create_task(self._begin(channel), name=f"relay-{channel}"))
        self._beginners.append(asyncio.create_task(self._hear(), name="relay-news"))

    async def stop(self, patience: timedelta = timedelta(seconds=10)) -> None:
        """Finish the sends that are under way; give the rest back."""
        left = self.lanes.close()
        if self._beginners:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.lanes.empty(), patience.total_seconds())
        for task in (*self._beginners, *self._sends):
            task.cancel()
        await asyncio.gather(*self._beginners, *self._sends, return_exceptions=True)
        self._beginners.clear()
        await self.database.write(lambda tx: self._hand_over(tx, left))

    def _hand_over(self, tx: Tx, left: Sequence[Row]) -> None:
        """What nobody has begun to send is whoever else works' now."""
        outbox.give_back(tx, [row.id for row in left], self.lanes.owner)
        if left:
            self.alarm.within(tx, self.clock.now())

    async def look(self) -> datetime | None:
        """Take what is due and fits; returns when the next row is due."""
        await self._orphaned_rows.search(self.clock.now())
        return await self._take()

    async def _take(self) -> datetime | None:
        async with self._taking:
            return await self._backlog.look()

    async def _hear(self) -> None:
        """Take what is due now as soon as that is told: the clock's look may have much else to do."""
        with self.transitions.hub.subscribe(OUTBOX) as news:
            while True:
                await news.wait()
                news.clear()
                try:
                    await self._take()
                except DatabaseUnavailable as unavailable:  # the clock looks again
                    log.warning("relay.taking_failed", reason=unavailable.reason)
                except Exception as bug:  # whatever it was, the next ones are heard of
                    log.exception("relay.taking_failed", reason=type(bug).__name__)

    async def _begin(self, channel: str) -> None:
        """Each row whose turn comes is sent by a task of its own; how many there are at once the lanes say."""
        while True:
            row = await self.lanes.next(channel)
            self._begins()
            send = asyncio.create_task(self._work_off(row))
            self._sends.add(send)
            send.add_done_callback(self._sends.discard)
            if self.lanes.begins_to_want(channel) or self._backlog.has_room_again(row):
                self.alarm.nudge(self.clock.now())  # there is room again for what had to stay in the database

    async def _work_off(self, row: Row) -> None:
        channel = row.channel
        lingering = asyncio.get_running_loop().call_later(LINGERS_AFTER.total_seconds(), self.lanes.lingers, row)
        try:
            await self._send_and_settle(row)
        except DatabaseUnavailable:
            log.warning("relay.settling_failed", delivery=row.id, channel=channel)
            await self._settle_later(replace(row, tries=row.tries + 1), Ambiguous("database_unavailable"))
        except Exception as bug:  # a row that ended here would stay in hand, for good
            log.exception("relay.settling_failed", delivery=row.id, channel=channel, error=type(bug).__name__)
            await self._settle_later(replace(row, tries=row.tries + 1), Ambiguous("settling_failed"))
        finally:
            lingering.cancel()
            self.lanes.done(row)
            if self._backlog.has_room_again(row):
                self.alarm.nudge(self.clock.now())

    async def _send_and_settle(self, row: Row) -> None:
        late, begun = self.clock.now() - row.due_at, self.lanes.elapsed()
        in_hand, row = row, replace(row, tries=row.tries + 1)
        outcome = await self.tries.once(row)
        took = self.lanes.elapsed() - begun
        if isinstance(outcome, NotOurs):
            return
        if isinstance(outcome, NoticesPaused):
            await self.pausing.hold(in_hand)
            return
        self.transitions.observer.tried(row.channel, _name(outcome), late)
        self._level(row, outcome)(
            "relay.tried",
            delivery=row.id,
            kind=row.kind.value,
            channel=row.channel,
            tries=row.tries,
            outcome=_name(outcome),
            reason=getattr(outcome, "reason", None),
        )
        try:
            await self._settle(row, outcome)
        except DatabaseUnavailable:  # whatever becomes of the database, what became of the try is known here
            log.warning("relay.settling_failed", delivery=row.id, channel=row.channel)
            await self._settle_later(row, outcome)
        await self._learn(row, outcome, took)

    @staticmethod
    def _level(row: Row, outcome: Delivery | Dropped) -> Callable[..., object]:
        """What goes as it should is not told; what could not be sent, and waits, is for somebody to look at."""
        if isinstance(outcome, Deferred):
            return log.warning  # type: ignore[no-any-return]
        return log.debug if isinstance(outcome, Delivered) and row.tries == 1 else log.info  # type: ignore[no-any-return]

    async def _learn(self, row: Row, outcome: Delivery | Dropped, took: timedelta) -> None:
        """What the outcome says of the lane. One that does not answer rests, and keeps nothing in memory meanwhile."""
        if isinstance(outcome, Dropped) or (isinstance(outcome, Deferred | Ambiguous) and outcome.reason in OUR_OWN):
            return
        if not isinstance(outcome, Deferred | Ambiguous) or outcome.reason not in SILENCE:
            self.lanes.answered(row, took)
            return
        now, backoff = self.clock.now(), self._backoff(row)
        until = self.lanes.silent(row, now, backoff.first)
        if until is None:
            return
        self.lanes.leave(row.channel, [row.lane])
        waiting = self.lanes.take_out(row.channel, row.lane)
        if waiting:
            ids = [one.id for one in waiting]
            await self.database.write(lambda tx: outbox.give_back(tx, ids, self.lanes.owner))
            self.alarm.nudge(until)

    async def _settle_later(self, row: Row, outcome: Delivery | Dropped) -> None:
        """What became of the try could not be written down: the row stays leased, and that is tried again until it can.

        If this process ends before that, the next start or another worker finds the row, as one that is in doubt.
        """
        while True:
            await asyncio.sleep(STILL_IN_HAND.total_seconds())
            self._begins()
            try:
                await self._settle(row, outcome)
            except DatabaseUnavailable:
                continue
            except Exception as bug:
                log.exception("relay.settling_failed", delivery=row.id, channel=row.channel, error=type(bug).__name__)
            else:
                return

    def _begins(self) -> None:
        if self.health is not None:
            self.health.begins(RELAY)

    # --- Settling -------------------------------------------------------------------------------------------------

    async def _settle(self, row: Row, outcome: Delivery | Dropped) -> None:
        """Write down what became of a try, in one transaction."""
        now = self.clock.now()
        match outcome:
            case Delivered() as delivered:
                await self.database.write(lambda tx: self._delivered(tx, row, delivered, now))
            case Refused() as refusal:
                await self.database.write(lambda tx: self._refused(tx, row, refusal, now))
            case Dropped() as dropped:
                await self.database.write(lambda tx: self._dropped(tx, row, dropped, now))
            case Deferred() as deferral:
                await self._again(row, deferral, now)
            case Ambiguous() as doubt:
                await self._again(replace(row, ambiguous=True), doubt, now)
            case _ as unknown:
                assert_never(unknown)

    def _delivered(self, tx: Tx, row: Row, delivered: Delivered, now: datetime) -> None:
        """Keep the receipt. A notice that was in flight when its question ended is withdrawn at once; so is a message
        that was brought up to date meanwhile, which may have come later than its end."""
        ended = self._ended(tx, row) if row.kind is RowKind.NOTIFY or is_refresh(row) else None
        receipt, remark = delivered.receipt, delivered.remark
        there: Row | None = replace(row, receipt=receipt)
        if not outbox.settle(tx, row, RowStatus.DELIVERED, now, self.lanes.owner, receipt=receipt, reason=remark):
            there = leases.delivered(tx, row, receipt, now)
        elif ended is None:
            self._follow(tx, row, delivered, now)
        if ended is not None and there is not None:
            self.transitions.dispatch(tx, self.transitions.withdrawals_after_the_end(tx, ended, there, now))
        if row.kind is RowKind.RESUME and there is not None:
            lost_callbacks.correct(self.transitions, tx, row, now)
        if delivered.amiss is not None:
            alerts.sent_otherwise(self.transitions, tx, row, delivered.amiss, now)

    def _follow(self, tx: Tx, row: Row, delivered: Delivered, now: datetime) -> None:
        """What comes after a message that was accepted: a word beside it, the same once more if the agent has been told
        while it was on its way, and the proof that it has arrived, or is gone."""
        following = [tell_row(message, to, now, row.suspension_id) for message, to in delivered.then]
        if following:
            self.transitions.dispatch(tx, following)
        if delivered.remark == TOLD_LATER and row.suspension_id is not None:
            told = outbox.agent_told_by_now(tx, row.suspension_id)
            self.transitions.dispatch(tx, [again(row, now)] if told is not AgentTold.NOT_YET else [])
        if delivered.awaits is None:
            return
        if row.kind is RowKind.WITHDRAW:
            lost_withdrawals.await_end(self.transitions, tx, row, delivered.awaits, now)
        else:
            markers.await_arrival(tx, row.channel, delivered.awaits, now)

    def _dropped(self, tx: Tx, row: Row, dropped: Dropped, now: datetime) -> None:
        """What may be there all the same is withdrawn, now or when its question ends."""
        reason, receipt = dropped.reason, dropped.receipt
        ended = self._ended(tx, row) if receipt is not None else None
        if not outbox.settle(tx, row, RowStatus.DROPPED, now, self.lanes.owner, receipt=receipt, reason=reason):
            leases.left_alone(tx, row, reason)
        elif ended is not None:
            there = replace(row, receipt=receipt)
            self.transitions.dispatch(tx, self.transitions.withdrawals_after_the_end(tx, ended, there, now))

    def _ended(self, tx: Tx, row: Row) -> Suspension | None:
        """The row's suspension if it has ended, with its status held still until this transaction is over."""
        about = row.suspension_id
        if about is None or suspensions.is_still_open(tx, about):
            return None
        return suspensions.get(tx.conn, about)

    def _refused(self, tx: Tx, row: Row, refusal: Refused, now: datetime) -> None:
        """A notice may have been the attempt's last hope."""
        if row.kind is RowKind.RESUME:
            self._lost(tx, row, RowStatus.REFUSED, refusal.reason, now)
            return
        if row.kind is RowKind.EVENT:
            self._event_lost(tx, row, RowStatus.REFUSED, refusal.reason, now)
            return
        intent, suspension = self._locked_of(tx, row, now)
        if not outbox.settle(tx, row, RowStatus.REFUSED, now, self.lanes.owner, reason=refusal.reason):
            leases.left_alone(tx, row, refusal.reason)
            return
        if intent is None or suspension is None or row.attempt is None:
            return
        alerts.channel_refused(self.transitions, tx, row, refusal, suspension.ask.ref, now)
        self._next_if_nobody(tx, suspension, row.attempt, intent, now)

    def _next_if_nobody(self, tx: Tx, suspension: Suspension, attempt: int, intent: Intent, now: datetime) -> None:
        """Where ``attempt`` reaches nobody, the next one is due at once (API.md §3)."""
        reasons = outbox.why_nobody(tx.conn, suspension.id, attempt)
        if reasons is not None:
            self.transitions.reached_nobody(tx, suspension, AttemptRefused(attempt, reasons), intent, now)

    async def _again(self, row: Row, put_off: Deferred | Ambiguous, now: datetime) -> None:
        backoff, reason = self._backoff(row), put_off.reason
        if now - row.created_at >= backoff.give_up_after:
            await self.database.write(lambda tx: self._give_up(tx, row, reason, now))
            return
        due_at = min(max(now + delay(backoff, row.tries), put_off.until or now), row.created_at + backoff.give_up_after)
        if reason in SILENCE and row.lane:
            due_at = whole_second(due_at)
        await self.database.write(lambda tx: self._postpone(tx, row, due_at, put_off, now))

    def _backoff(self, row: Row) -> Backoff:
        return self.callbacks if row.kind in _CALLS else NOTICES

    def _postpone(self, tx: Tx, row: Row, due_at: datetime, put_off: Deferred | Ambiguous, now: datetime) -> None:
        """One that finds nobody on call waits for somebody; the ladder does not."""
        finds_nobody = put_off.reason == outbox.NOBODY_ON_CALL and row.reason != put_off.reason
        intent, suspension = self._locked_of(tx, row, now) if finds_nobody else (None, None)
        if not outbox.postpone(tx, row, self.lanes.owner, due_at=due_at, reason=put_off.reason):
            leases.left_alone(tx, row, put_off.reason)
            return
        self.alarm.within(tx, due_at)
        if isinstance(put_off, Deferred):
            alerts.channel_waits(self.transitions, tx, row, put_off, now)
        if intent is not None and suspension is not None and row.attempt is not None:
            self._next_if_nobody(tx, suspension, row.attempt, intent, now)

    def _locked_of(self, tx: Tx, row: Row, now: datetime) -> tuple[Intent | None, Suspension | None]:
        """What a notice is about, held still before the row is; nothing for anything else."""
        if row.kind is not RowKind.NOTIFY or row.suspension_id is None or row.attempt is None:
            return None, None
        return locked(tx, row.suspension_id, self.transitions, now)

    def _give_up(self, tx: Tx, row: Row, reason: str, now: datetime) -> None:
        if row.kind is RowKind.RESUME:
            self._lost(tx, row, RowStatus.DEAD, reason, now)
        elif row.kind is RowKind.EVENT:
            self._event_lost(tx, row, RowStatus.DEAD, reason, now)
        else:
            self._refused(tx, row, Refused(f"gave_up: {reason}"), now)

    def _lost(self, tx: Tx, row: Row, status: RowStatus, reason: str, now: datetime) -> None:
        """A callback that will never arrive. What it was to tell of a question is a failure of the intent's (API.md
        §5); a fallback agent that can't be told is nobody's failure, so that no takeover leads to another."""
        about = row.suspension_id
        intent = None if about is None or reason == NOT_WANTED else intents.lock_by_suspension(tx, about)
        if not outbox.settle(tx, row, status, now, self.lanes.owner, reason=reason):
            leases.left_alone(tx, row, reason)
            return
        lost = replace(row, status=status, reason=reason)
        suspension = None if about is None else suspensions.get(tx.conn, about)
        if intent is not None and suspension is not None and self.callback_lost is not None:
            self.callback_lost(tx, intent, lost, suspension.ask.created_by, now)
        lost_callbacks.tell(self.transitions, tx, lost, suspension, now)

    def _event_lost(self, tx: Tx, row: Row, status: RowStatus, reason: str, now: datetime) -> None:
        """An event that its subscriber will never have. One that refuses it wants no more: what else waits for it is
        dropped at its next try."""
        if not outbox.settle(tx, row, status, now, self.lanes.owner, reason=reason):
            leases.left_alone(tx, row, reason)
            return
        told = log.bind(delivery=row.id, subscription=(row.body or {}).get("subscription_id"), reason=reason)
        if status is RowStatus.DEAD:
            tx.after_commit(lambda: told.warning("subscription.event_given_up"))
        elif self.subscribers.wants_no_more(tx, str((row.body or {}).get("subscription_id"))):
            tx.after_commit(lambda: told.info("subscription.ended"))


def _name(outcome: Delivery | Dropped) -> str:
    return type(outcome).__name__.lower()


def delay(backoff: Backoff, tries: int) -> timedelta:
    """The wait after the ``tries``-th try: doubling up to the longest, spread by a fifth to either side."""
    doubled: timedelta = backoff.first * (1 << min(tries - 1, 40))
    return min(doubled, backoff.longest) * random.uniform(0.8, 1.2)  # noqa: S311 (spreads load, guards nothing)
