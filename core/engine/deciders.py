"""Deciders: the people whose answer ended a question, and where each is told, once, of the result.

They are told if the agent never learned of the answer, and if the action that they decided on failed. The text is made
when it is sent.

Source: API.md §3, "The end", and §5; docs/decisions/0093, 0097.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from core.database.database import Tx
from core.domain.notice import Message, Purpose
from core.domain.people import Address
from core.domain.quorum import decisions
from core.domain.suspension import Suspension, Via
from core.engine.recipients import personal_address, telling
from core.engine.withdrawals import ITS_PAGE, message_id
from core.ports import Channel, Responders
from core.store import outbox
from core.store.outbox import Row, RowKind, tell_row


@dataclass(frozen=True, slots=True)
class Deciders:
    """Rows for the outbox; writes none of them."""

    channels: Mapping[str, Channel]
    responders: Responders

    def messages(self, tx: Tx, suspension: Suspension, purpose: Purpose, now: datetime) -> list[Row]:
        """One for each of them, once for a question and this ``purpose``."""
        message, rows = Message(purpose, "", "", ref=suspension.ask.ref, link_to=ITS_PAGE), list[Row]()
        for by, via in decisions(suspension):
            identity = self.responders.identity_of(by)
            one = message_id(suspension, purpose, identity)
            to = self._place_of(tx, suspension, identity, via)
            if to is not None and outbox.get(tx.conn, one) is None:
                rows.append(replace(tell_row(message, to, now, suspension.id), id=one))
        return rows

    def _place_of(self, tx: Tx, suspension: Suspension, identity: str, via: Via) -> Address | None:
        """Where they decided, if that reaches them alone; whoever decided on a page, where its link was sent to; else
        where they are reached first. A note on the incident calls nobody, and is for whoever is reached nowhere
        else."""
        asked = None if via.delivery_id is None else outbox.get(tx.conn, via.delivery_id)
        preferred = via.channel if via.channel in self.channels or asked is None else asked.channel
        found = personal_address(self.responders, telling(self.channels), identity, preferred)
        if found is not None or via.channel not in self.channels:
            return found
        rows = outbox.of_suspension(tx.conn, suspension.id)
        there = [row for row in rows if row.kind is RowKind.NOTIFY and row.channel == via.channel and row.receipt]
        return replace(there[-1].to, person=None) if there else None
