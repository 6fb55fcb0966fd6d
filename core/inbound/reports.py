"""Reports of inbound adapters beside answers: a person was turned away, a message still asks, access was revoked.

Source: facts on channels §F, "Bad inbound"; docs/decisions/0017.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass

import sqlalchemy as sa

from core.database.database import Database, Tx
from core.delivery import alerts
from core.domain.notice import Message
from core.domain.people import Address
from core.domain.suspension import Suspension
from core.domain.vocabulary import ANSWER_REFUSED, Event
from core.engine.outages import locked
from core.engine.refresh import Stale, stale_notice
from core.engine.transitions import Transitions
from core.hub import EVERYTHING
from core.ports import Clock
from core.store import markers, outbox, suspensions
from core.store.markers import Marker
from core.store.outbox import RowKind, tell_row


@dataclass(frozen=True, slots=True)
class InboundReports:
    database: Database
    transitions: Transitions
    clock: Clock

    async def turned_away(self, suspension_id: str, by: str, channel: str, reason: str) -> None:
        """Log in the intent's log who tried to answer and may not; each person once for each ``reason``.

        ``by`` is an identity, or the address of a person without one (``slack:U…``).
        """

        def job(tx: Tx) -> None:
            now = self.clock.now()
            if not markers.first_time(tx, Marker.TURNED_AWAY, f"{suspension_id} {by} {reason}", now):
                return
            intent, suspension = locked(tx, suspension_id, self.transitions, now)
            if intent is None or suspension is None:
                return
            payload = {"suspension_id": suspension.id, "refused": by, "channel": channel, "reason": reason}
            self.transitions.note(tx, suspension, (Event(ANSWER_REFUSED, payload, by),), intent, now)

        await self.database.write(job)

    async def still_asks(self, suspension_id: str, stale: Stale) -> None:
        """Edit the message of an ended question once more; nothing if an edit is under way."""

        def job(tx: Tx) -> None:
            now, suspension = self.clock.now(), suspensions.get(tx.conn, suspension_id)
            if suspension is not None and not suspension.is_open:
                notices = stale_notice(tx, suspension, stale, now)
                self.transitions.dispatch(tx, self.transitions.withdrawals.edits(notices, now))

        await self.database.write(job)

    async def of_delivery(self, delivery: str) -> Suspension | None:
        """The question in the notice with this delivery id."""

        def look_up(conn: sa.Connection) -> Suspension | None:
            row = outbox.get(conn, delivery)
            known = row is not None and row.kind is RowKind.NOTIFY and row.suspension_id is not None
            return suspensions.get(conn, row.suspension_id or "") if known and row is not None else None

        return await self.database.read(look_up)

    async def seen(self, channel: str, key: str) -> bool:
        """Remember the id of something that came in; true if it was there already. ``channel`` may be a
        :class:`~core.store.markers.Marker`."""
        return await self.database.write(lambda tx: markers.note_seen(tx, channel, key, self.clock.now()))

    async def was_seen(self, channel: str, key: str) -> bool:
        """Whether :meth:`seen` was called with this id; remembers nothing."""
        return await self.database.read(lambda conn: markers.was_seen(conn, channel, key))

    async def tell(self, message: Message, to: Address, suspension_id: str | None = None) -> None:
        """Send a short message through the outbox. If it is about a suspension, a mail may be replied to."""
        row = tell_row(message, to, self.clock.now(), suspension_id)
        await self.database.write(lambda tx: self.transitions.dispatch(tx, [row]))

    def changes(self) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever any question changes, here or in another process."""
        return self.transitions.hub.subscribe(EVERYTHING)

    async def cut_off(self, channel: str, reason: str) -> None:
        """The vendor has revoked our access: alert the operators, once."""
        now = self.clock.now()
        await self.database.write(lambda tx: alerts.channel_cut_off(self.transitions, tx, channel, reason, now))

    async def signature_refused(self, channel: str) -> None:
        """A request under a vendor's name had a bad signature: alert the operators, once an hour."""
        now = self.clock.now()
        await self.database.write(lambda tx: alerts.signature_refused(self.transitions, tx, channel, now))

    async def people_unknown(self, channel: str, reason: str) -> None:
        """The vendor refuses to say who people are: alert the operators, once an hour for each ``reason``."""
        now = self.clock.now()
        await self.database.write(lambda tx: alerts.people_unknown(self.transitions, tx, channel, reason, now))
