"""Subscriptions: which key receives which events by webhook (RFC-0006).

A subscription belongs to a key. It covers one intent, those in a portfolio, or every one that the key may read, by the
key's rights when an event is sent. It covers events after it was made. The follower (``follower``) finds them.

Source: RFC-0006; API.md §5, §7; docs/decisions/0057.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.domain.people import OWN_KEY, Actor, Role
from core.errors import CallbackNotAllowed, Forbidden, InvalidRequest, NotFound, QuotaExceeded
from core.hub import Hub
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.openintent.intents import access
from core.openintent.store import subscriptions
from core.openintent.store.subscriptions import Subscription
from core.ports import Agents, Clock
from core.store import event_log, log_cursors
from core.store.tables import PageCursor

KeyHolders = Callable[[str], Actor | None]
"""The holder of the key of that name, ``None`` if there is no such key or it was revoked."""

MOST = 100
"""Subscriptions that a key may have at once."""

FOLLOWER = "subscriptions"
"""The follower's name in ``log_followers``."""

SUBSCRIBED = "subscribed"
"""The hub's topic of new subscriptions."""


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A requested subscription. With neither intent nor portfolio it covers every intent."""

    webhook_url: str
    event_types: tuple[str, ...] = ()
    intent_id: str | None = None
    portfolio_id: str | None = None
    subscriber_id: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Makes, lists and removes subscriptions, and says whether one still wants an event that is about to be sent."""

    database: Database
    agents: Agents
    holders: KeyHolders
    hub: Hub
    clock: Clock

    async def create(
        self, wanted: NewSubscription, by: Actor, once: IdempotentRequest | None = None
    ) -> Subscription | Replayed:
        """Raises :class:`InvalidRequest`, :class:`CallbackNotAllowed`, :class:`NotFound` for an intent that the
        subscriber may not read, and :class:`QuotaExceeded`."""
        now = self.clock.now()
        if wanted.expires_at is not None and wanted.expires_at <= now:
            raise InvalidRequest("A subscription expires in the future.", path="expires_at")
        if wanted.intent_id is not None and wanted.portfolio_id is not None:
            raise InvalidRequest("Name an intent or a portfolio, or neither.", path="portfolio_id")
        subscriber = self._subscriber(wanted.subscriber_id, by)
        name = subscriber.key or subscriber.identity
        if (problem := self.agents.may_call(name, wanted.webhook_url)) is not None:
            raise CallbackNotAllowed(problem, path="webhook_url")
        return await self.database.write(
            lambda tx: perform_once(tx, once, now, lambda: self._insert(tx, wanted, subscriber, name, now))
        )

    def _subscriber(self, named: str | None, by: Actor) -> Actor:
        """The key that will own it: for an agent its own, whatever the request says, as in ``created_by``."""
        own = named is None or named.strip().lower() == OWN_KEY or named == by.key
        if own or not by.has(Role.ADMIN):
            return by
        found = self.holders(named or "")
        if found is None:
            raise InvalidRequest("There is no such key.", path="subscriber_id")
        return found

    def _insert(self, tx: Tx, wanted: NewSubscription, subscriber: Actor, name: str, now: datetime) -> Subscription:
        if wanted.intent_id is not None:
            access.read(tx.conn, wanted.intent_id, subscriber)
        if wanted.portfolio_id is not None:
            access.read_portfolio(tx.conn, wanted.portfolio_id, subscriber)
        # One at a time from here on, so that they can be counted; and the follower stands still.
        newest = event_log.newest_cursor(tx.conn)
        at = log_cursors.lock(tx, FOLLOWER, newest)
        if at < newest and not subscriptions.is_any_live(tx.conn, now):
            log_cursors.move(tx, FOLLOWER, newest)  # nobody has missed what lies between
        self._make_room(tx, name, now)
        made = Subscription(
            id=str(uuid.uuid4()),
            subscriber_id=name,
            intent_id=wanted.intent_id,
            event_types=tuple(dict.fromkeys(wanted.event_types)),
            webhook_url=wanted.webhook_url,
            active=True,
            expires_at=wanted.expires_at,
            begins_after=event_log.state(tx.conn),
            created_at=now,
            portfolio_id=wanted.portfolio_id,
        )
        subscriptions.insert(tx, made)
        self.hub.announce(tx, SUBSCRIBED)
        return made

    def _make_room(self, tx: Tx, name: str, now: datetime) -> None:
        if subscriptions.count(tx.conn, name) < MOST:
            return
        subscriptions.remove_ended(tx, name, now)
        current = subscriptions.count(tx.conn, name)
        if current >= MOST:
            message = f"The key {name} has {current} subscriptions, which is its limit."
            raise QuotaExceeded(message, quota="subscriptions", limit=MOST, current=current)

    async def page(
        self, by: Actor, *, intent_id: str | None, portfolio_id: str | None, before: PageCursor | None, limit: int
    ) -> Sequence[Subscription]:
        """Newest first; all keys' for operators."""
        mine = None if by.reads_all else by.key

        def job(conn: sa.Connection) -> Sequence[Subscription]:
            return subscriptions.page(
                conn, subscriber_id=mine, intent_id=intent_id, portfolio_id=portfolio_id, before=before, limit=limit
            )

        return await self.database.read(job)

    async def remove(self, subscription_id: str, by: Actor) -> None:
        """Waiting events are not sent any more. Raises :class:`NotFound` for another key's, and :class:`Forbidden`
        for an operator, who may read it."""

        def job(tx: Tx) -> None:
            found = subscriptions.get(tx.conn, subscription_id)
            if found is None or not (found.subscriber_id == by.key or by.reads_all):
                raise NotFound("There is no such subscription.")
            if found.subscriber_id != by.key and not by.has(Role.ADMIN):
                raise Forbidden("Only the subscriber itself and admins remove a subscription.")
            subscriptions.remove(tx, subscription_id)

        await self.database.write(job)

    async def still_wants(self, subscription_id: str, intent_id: str) -> bool:
        """Whether the subscription is live, and its key valid and allowed to read the intent, now."""

        def job(conn: sa.Connection) -> bool:
            found = subscriptions.get(conn, subscription_id)
            if found is None or not found.is_live(self.clock.now()):
                return False
            holder = self.holders(found.subscriber_id)
            return holder is not None and access.may_read(conn, intent_id, holder)

        return await self.database.read(job)

    def wants_no_more(self, tx: Tx, subscription_id: str) -> bool:
        """End a subscription whose subscriber has refused an event. False if it had ended before."""
        return subscriptions.end(tx, subscription_id)
