"""The follower: reads the event log for subscriptions, and writes their events into the outbox.

    woken by a commit ──▶ read what is behind the cursor ──▶ write a row for each (event, subscription), move the cursor

Rows and cursor are one transaction, which locks the cursor's row. So every event becomes one row for each subscription
that wants it, however many followers run, and whenever this process is killed. The transaction that writes an event
does none of this. While there are no subscriptions, the log is not read.

Source: docs/decisions/0057.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

import sqlalchemy as sa
import structlog

from core.database.database import Database, Tx
from core.domain.callback import lane_of_callback
from core.domain.wire import JsonObject, instant
from core.errors import DatabaseUnavailable
from core.hub import EVERYTHING, Hub, first_of
from core.openintent.domain.portfolio import was_in
from core.openintent.intents import access
from core.openintent.intents.subscriptions import FOLLOWER, SUBSCRIBED, KeyHolders
from core.openintent.store import portfolios, subscriptions
from core.openintent.store.subscriptions import Subscription
from core.ports import Alarm, Clock
from core.store import event_log, log_cursors, outbox
from core.store.event_log import Following, Logged
from core.store.log_cursors import Cursor
from core.store.outbox import Row, RowKind
from core.work.health import Health

log = structlog.get_logger(__name__)

LINES_AT_ONCE = 200
ROWS_AT_ONCE = 500
"""How much one transaction writes, give or take one event's rows: it holds a place in line that questions want, too."""

SWEEP = timedelta(seconds=5)
"""How long a subscription that another process has made, or an event, may stay unseen if word of it is lost."""

GATHER_SECONDS = 0.05
"""After a commit: what comes with it is followed at once."""

HELD_BACK_SECONDS = 0.1
LONGEST_HELD_BACK_SECONDS = 2.0
"""An older transaction still runs, or another process follows: nobody says when that ends. Each wait is twice as long
as the one before."""

LIMIT = timedelta(seconds=30)
"""A step that takes longer is given up; what it has committed stands."""

WHAT = "subscriptions"
"""Its name in the log and in the health check."""


class Step(Enum):
    """The result of following the log once."""

    IDLE = auto()
    """Nobody subscribes."""
    DONE = auto()
    MORE = auto()
    HELD_BACK = auto()


@dataclass(slots=True)
class Follower:
    """Any number of processes may run one; one at a time moves the cursor."""

    database: Database
    hub: Hub
    holders: KeyHolders
    alarm: Alarm
    clock: Clock
    health: Health | None = None
    _task: asyncio.Task[None] | None = None
    _failed: bool = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="follower")

    async def stop(self) -> None:
        """Cancels a step in progress."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        if self.health is not None:
            self.health.ends(WHAT)

    async def _run(self) -> None:
        with self.hub.subscribe(EVERYTHING) as news, self.hub.subscribe(SUBSCRIBED) as subscribed:
            held_back = HELD_BACK_SECONDS
            while True:
                news.clear()
                subscribed.clear()
                if self.health is not None:
                    self.health.begins(WHAT, SWEEP)
                step = await self._step()
                if step is Step.HELD_BACK:
                    await asyncio.sleep(held_back)
                    held_back = min(2 * held_back, LONGEST_HELD_BACK_SECONDS)
                    continue
                held_back = HELD_BACK_SECONDS
                if step is not Step.MORE:
                    await first_of(
                        *([subscribed] if step is Step.IDLE else [news, subscribed]), patience=SWEEP.total_seconds()
                    )
                    await asyncio.sleep(GATHER_SECONDS)

    async def _step(self) -> Step:
        """Whatever goes wrong, the next step comes."""
        try:
            async with asyncio.timeout(LIMIT.total_seconds()):
                step = await self.follow()
        except DatabaseUnavailable as unavailable:
            return self._fails(unavailable.reason)
        except TimeoutError:
            return self._fails("given_up")
        except Exception as failure:  # a bug must not end it for good
            log.exception("follower.failed", reason=type(failure).__name__)
            return Step.DONE
        if self._failed:
            log.info("follower.works_again")
        self._failed = False
        return step

    def _fails(self, reason: str) -> Step:
        """Logs one line for a series of failures."""
        if not self._failed:
            log.warning("follower.failed", reason=reason)
        self._failed = True
        return Step.DONE

    # --- One step -----------------------------------------------------------------------------------------------------

    async def follow(self) -> Step:
        """Follow the log as far as one transaction should."""
        found = await self.database.read(self._look)
        if found is None:
            return Step.IDLE
        cursor, following = found
        if not following.lines:
            return Step.HELD_BACK if following.held_back else Step.DONE
        reached = await self.database.write(lambda tx: self._write(tx, cursor, following.lines))
        if reached is None:
            return Step.HELD_BACK
        if reached < following.lines[-1].cursor or following.is_cut:
            return Step.MORE
        return Step.HELD_BACK if following.held_back else Step.DONE

    def _look(self, conn: sa.Connection) -> tuple[Cursor, Following] | None:
        """The lines behind the cursor, ``None`` if there are no subscriptions."""
        if not subscriptions.is_any_live(conn, self.clock.now()):
            return None
        cursor = log_cursors.place(conn, FOLLOWER)
        if cursor is None:
            return None
        return cursor, event_log.after(conn, cursor, intent_id=None, agent=None, limit=LINES_AT_ONCE)

    def _write(self, tx: Tx, cursor: Cursor, lines: Sequence[Logged]) -> Cursor | None:
        """The new cursor; ``None`` if another process follows, or has been further meanwhile.

        Subscriptions are read after the lines, so that a subscription made before an event is among them.
        """
        if log_cursors.lock_free(tx, FOLLOWER) != cursor:
            return None
        now = self.clock.now()
        hearers = Hearers(subscriptions.live(tx.conn, now), self.holders)
        hearers.look_up(tx.conn, lines)
        rows: list[Row] = []
        for line in lines:
            rows += (event_row(line, one, now) for one in hearers.of(tx.conn, line))
            cursor = line.cursor
            if len(rows) >= ROWS_AT_ONCE:
                break
        log_cursors.move(tx, FOLLOWER, cursor)
        if rows:
            outbox.insert(tx, rows, "")
            self.alarm.within(tx, now)
        return cursor


class Hearers:
    """The live subscriptions that receive a line, by their own filters and their keys' rights."""

    def __init__(self, live: Sequence[Subscription], holders: KeyHolders) -> None:
        self._by_intent: Mapping[str | None, list[Subscription]] = defaultdict(list)
        self._by_portfolio: Mapping[str, list[Subscription]] = defaultdict(list)
        for one in live:
            if one.portfolio_id is None:
                self._by_intent[one.intent_id].append(one)
            else:
                self._by_portfolio[one.portfolio_id].append(one)
        self._holders = {name: holders(name) for name in {one.subscriber_id for one in live}}
        self._known: dict[tuple[str, str], bool] = {}
        self._comings_and_goings: Mapping[str, Sequence[tuple[int, str, str]]] = {}

    def look_up(self, conn: sa.Connection, lines: Sequence[Logged]) -> None:
        """Load which portfolios the intents of ``lines`` were in, and when; only if a subscription needs it."""
        if self._by_portfolio:
            ids = list({line.intent_id for line in lines})
            self._comings_and_goings = portfolios.comings_and_goings(conn, ids)

    def of(self, conn: sa.Connection, line: Logged) -> Iterator[Subscription]:
        of_intent = (*self._by_intent.get(None, ()), *self._by_intent.get(line.intent_id, ()))
        for one in (*of_intent, *self._of_portfolios(line)):
            if one.event_types and line.type not in one.event_types:
                continue
            if event_log.was_there(one.begins_after, line.cursor):
                continue
            if self._may_read(conn, line.intent_id, one.subscriber_id):
                yield one

    def _of_portfolios(self, line: Logged) -> Iterator[Subscription]:
        """The subscriptions of portfolios that the intent was in at the time of the line."""
        moves = self._comings_and_goings.get(line.intent_id, ())
        for portfolio_id in {portfolio_id for _, _, portfolio_id in moves}:
            if was_in(portfolio_id, line.position, moves):
                yield from self._by_portfolio.get(portfolio_id, ())

    def _may_read(self, conn: sa.Connection, intent_id: str, name: str) -> bool:
        key = (intent_id, name)
        if key not in self._known:
            holder = self._holders[name]
            self._known[key] = holder is not None and access.may_read(conn, intent_id, holder)
        return self._known[key]


def event_row(line: Logged, subscription: Subscription, now: datetime) -> Row:
    """The outbox row that sends ``line`` to the subscription. Its id, the ``webhook-id``, is the same whenever it is
    made."""
    key, url = subscription.subscriber_id, subscription.webhook_url
    made_of = f"{subscription.id}\n{line.id}".encode()
    return Row(
        RowKind.EVENT,
        outbox.SUBSCRIBERS,
        now,
        now,
        body={
            "subscription_id": subscription.id,
            "intent_id": line.intent_id,
            "key": key,
            "url": url,
            "body": event_body(line, subscription.id),
        },
        lane=lane_of_callback(key, url, subscription.id),
        id=hashlib.sha256(made_of).hexdigest()[:32],
    )


def event_body(line: Logged, subscription_id: str) -> JsonObject:
    """RFC-0006's two fields, and the two that Standard Webhooks asks for beside them."""
    return {
        "type": line.type,
        "timestamp": instant(line.created_at),
        "subscription_id": subscription_id,
        "event": {
            "id": line.id,
            "intent_id": line.intent_id,
            "event_type": line.type,
            "actor": line.actor,
            "payload": line.payload,
            "created_at": instant(line.created_at),
        },
    }
