"""Withdrawals: when a question ends, which of its messages are edited, and who gets one more.

A message that its channel can change says how the question ended, and so its readers know. Mail can't be changed: a
person who has only mails about the question gets one more, and so does the person in whose name it was asked. The
person who ended it knows already. Nobody is told twice.

Source: API.md §3, "The end"; docs/decisions/0093.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.database.database import Tx
from core.domain.notice import LinkTarget, Message, MessageLink, Purpose
from core.domain.people import Address
from core.domain.suspension import Suspension
from core.engine.recipients import personal_address
from core.ports import Channel, Refreshing, Responders
from core.store import outbox
from core.store.outbox import Row, RowKind, RowStatus, tell_row

ITS_PAGE = MessageLink(LinkTarget.QUESTION)
TOLD_LATER = "agent_told_later"
"""The remark of an edit that was made before the agent's callback was taken: it says that the agent will be told."""


@dataclass(frozen=True, slots=True)
class Withdrawals:
    """Rows for the outbox; writes none of them."""

    channels: Mapping[str, Channel]
    responders: Responders

    @property
    def saying(self) -> list[str]:
        """The channels on which people hear of an end, by an edit or by one more message."""
        return [name for name, one in self.channels.items() if one.withdraws or one.tells_endings]

    def edits(self, notices: Iterable[Row], now: datetime) -> list[Row]:
        """One row for each message to change or take back."""
        rows: dict[str, Row] = {}
        for notice in notices:
            channel = self.channels.get(notice.channel)
            if notice.receipt and channel is not None and channel.withdraws:
                key = f"{notice.channel} {sorted(notice.receipt.items())}"
                rows[key] = outbox.withdrawal(notice, {"receipt": dict(notice.receipt)}, now)
        return list(rows.values())

    def at_the_end(self, suspension: Suspension, notices: Sequence[Row], now: datetime) -> list[Row]:
        """``notices`` are all that are out, the oldest first."""
        return [*self.edits(notices, now), *self._messages(suspension, notices, now)]

    def of_late(self, suspension: Suspension, notice: Row, rows: Iterable[Row], now: datetime) -> list[Row]:
        """Of a notice that was in flight when its question ended. If :meth:`is_told_at` says so, ``rows`` are all about
        the question, and whoever has been told by one of them is not told again."""
        edits = self.edits([notice], now)
        if not self.is_told_at(notice):
            return edits
        others = [one for one in rows if one.id != notice.id]
        out = [*filter(_may_be_there, others), notice]
        written = {one.id for one in others}
        return [*edits, *(one for one in self._messages(suspension, out, now) if one.id not in written)]

    def corrections(self, tx: Tx, suspension_id: str, now: datetime) -> list[Row]:
        """Edits anew of the messages that say of the agent that it will be told, now that its callback has been taken,
        refused or given up."""
        if not any(isinstance(one, Refreshing) for one in self.channels.values()):
            return []
        made = outbox.withdrawn(tx.conn, suspension_id, TOLD_LATER)
        return list({str(row.body): again(row, now) for row in made}.values())

    def is_told_at(self, notice: Row) -> bool:
        """Whether whoever has this notice is told by one more message, since it can't be edited."""
        channel = self.channels.get(notice.channel)
        return channel is not None and channel.tells_endings and not channel.withdraws

    def _messages(self, suspension: Suspension, notices: Sequence[Row], now: datetime) -> list[Row]:
        """One row for each person who is to be told, at the mailbox that was asked last. Their page shows all of it;
        who was never asked has none."""
        heard = self._heard(suspension, notices)
        asked = {self._who(one.to): one.to for one in notices if self.is_told_at(one)}
        rows = [_told(suspension, who, to, now, ITS_PAGE) for who, to in asked.items() if who not in heard]
        concerned = self.concerned(suspension)
        if concerned is not None and (who := self._who(concerned)) not in {*heard, *asked}:
            rows.append(_told(suspension, who, concerned, now))
        return rows

    def concerned(self, suspension: Suspension) -> Address | None:
        """Where the person is told in whose name it was asked: on the first channel that reaches them. Only somebody of
        the directory: a call may name anybody."""
        name = suspension.ask.on_behalf_of
        person = None if name is None else self.responders.actor(name).person
        if person is None:
            return None
        telling = {name: one for name, one in self.channels.items() if one.tells_endings}
        return personal_address(self.responders, telling, person.email)

    def _heard(self, suspension: Suspension, notices: Iterable[Row]) -> set[str]:
        """Whoever ended it, and whoever has a message of their own that says so by now."""
        ended = suspension.ended
        own = {self._who(one.to) for one in notices if one.receipt and self._says_so(one.to)}
        return own if ended is None or ended.by is None else own | {self.responders.identity_of(ended.by)}

    def _says_so(self, to: Address) -> bool:
        """Whether a message there is edited, and is one person's. A pager may ring with somebody else."""
        channel = self.channels.get(to.channel)
        if channel is None or not channel.withdraws or to.person is None:
            return False
        return channel.reaches_one_person or to.value == to.person

    def _who(self, to: Address) -> str:
        """A person, by whichever of their addresses; else the place."""
        return f"{to.channel}:{to.value}" if to.person is None else self.responders.identity_of(to.person)


def _told(suspension: Suspension, who: str, to: Address, now: datetime, link_to: MessageLink | None = None) -> Row:
    """Its text is made as it is sent. Its id is that of this person and question: there can be no second one."""
    row = tell_row(Message(Purpose.ENDED, "", "", ref=suspension.ask.ref, link_to=link_to), to, now, suspension.id)
    return replace(row, id=message_id(suspension, Purpose.ENDED, who))


def again(withdrawal: Row, now: datetime) -> Row:
    """The same edit once more, of what is true by then."""
    return outbox.withdrawal(withdrawal, withdrawal.body or {}, now)


def _may_be_there(row: Row) -> bool:
    """Whether ``row`` is a notice that its channel has accepted, or may have, and that has not come back."""
    out = row.status in {RowStatus.DELIVERED, RowStatus.DROPPED}
    return row.kind is RowKind.NOTIFY and out and row.receipt is not None


def message_id(suspension: Suspension, purpose: Purpose, who: str) -> str:
    """The delivery id of the one message of this ``purpose`` to ``who``."""
    return hashlib.sha256(f"{suspension.id} {purpose} {who}".encode()).hexdigest()[:32]
