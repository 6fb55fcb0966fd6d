"""Settling inbound mail and events: understood by the channel, recorded once and in one transaction.

The ids, the timeline's line, the returned delivery and the reply are one transaction. So after a crash the same thing
may come again: it is then done whole, or was done whole.

Source: API.md §3 (a refused delivery); facts on channels §B3, §F; docs/decisions/0019.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.notice import DEFAULT_LANGUAGE, Message, Proposal
from core.domain.people import Address
from core.domain.signature_lines import SignatureOffer
from core.domain.tokens import TokenPurpose
from core.domain.vocabulary import MESSAGE_RECEIVED, AttemptRefused, Event
from core.engine.outages import locked
from core.engine.transitions import Transitions
from core.ports import Clock
from core.store import installation, markers, outbox, quarantine, signature_lines, tokens
from core.store.outbox import Row, tell_row
from core.store.quarantine import Quarantined

HOUR = timedelta(hours=1)
MOST_ECHOES = 6
"""To one person about one question within an hour (API.md §6)."""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An entry in a question's timeline for something that answered nothing. ``kind`` and ``reason`` are stable codes.

    ``about`` is the identity that the token or the delivery belongs to, ``by`` the known sender, ``details`` numbers
    and codes. Never a word of the content.
    """

    suspension_id: str
    kind: str
    reason: str
    about: str | None = None
    by: str | None = None
    details: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Returned:
    """A notice that was refused for good after its channel had accepted it. ``kind`` is the timeline's, ``why`` a
    code."""

    delivery: str
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """The mail to a person whose reply decided nothing: the ``delivery``, the proposal, if any, and its language."""

    delivery: str
    proposal: Proposal | None
    language: str

    @classmethod
    def of(cls, delivery: str, body: Mapping[str, JsonValue]) -> AskedAgain:
        return cls(delivery, Proposal.of(body), str(body.get("language", DEFAULT_LANGUAGE)))


@dataclass(frozen=True, slots=True)
class WriteBack:
    """A message to write back about a question. ``kind`` names it: a person gets ``most`` of a kind within an hour,
    and ``instead`` after that."""

    kind: str
    message: Message
    to: Address
    person: str
    suspension_id: str
    instead: WriteBack | None = None
    most: int = 1


@dataclass(frozen=True, slots=True)
class Offered:
    """The question's page asks ``identity`` whether these lines are their signature."""

    suspension_id: str
    identity: str
    lines: SignatureOffer


@dataclass(frozen=True, slots=True)
class Understood:
    """The whole meaning of one inbound thing. ``keys`` are its ids: if any was seen before, nothing is done.
    ``groups`` are the groups it counts in (:meth:`Correspondence.lately`). ``offered`` are lines that its writer may
    call their signature, and ``learned`` facts about the way it came, by name (``core.store.installation``)."""

    channel: str
    keys: tuple[str, ...]
    lines: tuple[TimelineEntry, ...] = ()
    returned: tuple[Returned, ...] = ()
    written: WriteBack | None = None
    kept: Quarantined | None = None
    groups: tuple[str, ...] = ()
    offered: Offered | None = None
    learned: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Correspondence:
    database: Database
    transitions: Transitions
    clock: Clock

    async def settle(self, one: Understood) -> bool:
        """Record it; false if it was recorded already. Raises only :class:`core.errors.DatabaseUnavailable`."""
        return await self.database.write(lambda tx: self._settle(tx, one, self.clock.now()))

    async def is_settled(self, channel: str, keys: Sequence[str]) -> bool:
        """Whether anything with one of ``keys`` was recorded."""
        return await self.database.read(lambda conn: any(markers.was_seen(conn, channel, key) for key in keys))

    async def lately(self, channel: str, group: str) -> int:
        """How many of ``group`` were recorded within the last hour."""
        since = self.clock.now() - HOUR
        return await self.database.read(lambda conn: markers.count_among(conn, channel, group, since))

    async def delivery(self, delivery: str, channel: str) -> Row | None:
        """The row on ``channel`` with this delivery id, about a question."""

        def look_up(conn: sa.Connection) -> Row | None:
            row = outbox.get(conn, delivery)
            return row if row is not None and row.channel == channel and row.suspension_id is not None else None

        return await self.database.read(look_up)

    async def latest_notice(self, suspension_id: str, to: Address) -> Row | None:
        """The last notice to ``to``."""
        return await self.database.read(lambda conn: outbox.latest_to(conn, suspension_id, to.value, to.channel))

    async def echoed(self, suspension_id: str, to: Address) -> Sequence[AskedAgain]:
        """The mails that asked ``to`` again about this question, oldest first."""

        def look_up(conn: sa.Connection) -> Sequence[AskedAgain]:
            rows = outbox.of_suspension(conn, suspension_id)
            told = [row for row in rows if row.channel == to.channel and row.address == to.value]
            return [AskedAgain.of(row.id, row.body) for row in told if row.body and "proposal" in row.body]

        return await self.database.read(look_up)

    async def knows_token(self, token: str, purpose: TokenPurpose) -> bool:
        """Whether we made this token, for a question that is open or has ended."""
        return await self.database.read(lambda conn: tokens.find(conn, token, purpose)) is not None

    async def knows_delivery(self, delivery: str, channel: str) -> bool:
        """Whether something on ``channel`` has this delivery id, sent or not."""
        row = await self.database.read(lambda conn: outbox.get(conn, delivery))
        return row is not None and row.channel == channel

    # --- In the transaction ---------------------------------------------------------------------------------------

    def _settle(self, tx: Tx, one: Understood, now: datetime) -> bool:
        if any(markers.note_seen(tx, one.channel, key, now) for key in one.keys):
            return False
        for group in one.groups:
            markers.note_among(tx, one.channel, group, one.keys[0], now)
        if one.kept is not None:
            self._keep(tx, one.kept)
        for returned in one.returned:
            self._take_back(tx, returned, one.channel, now)
        for line in one.lines:
            self._note(tx, line, one.channel, now)
        if one.offered is not None:  # its intent is locked by the line on the timeline
            signature_lines.offer(tx, one.offered.suspension_id, one.offered.identity, one.offered.lines, now)
        if one.written is not None:
            self._write_back(tx, one.written, one.keys[0], now)
        for name, value in one.learned.items():  # last: its row is everybody's, and locked until the commit
            installation.learn(tx, name, value)
        return True

    def _keep(self, tx: Tx, kept: Quarantined) -> None:
        if quarantine.keep(tx, kept):
            tx.after_commit(lambda: self.transitions.observer.quarantined(kept.channel, kept.reason))

    def _write_back(self, tx: Tx, written: WriteBack, key: str, now: datetime) -> None:
        about, most = (written.kind, written.suspension_id, written.person), written.most
        if markers.may_write_back(tx, *about, key, now, most=most, span=HOUR):
            self.transitions.dispatch(tx, [tell_row(written.message, written.to, now, written.suspension_id)])
        elif written.instead is not None:
            self._write_back(tx, written.instead, key, now)

    def _note(self, tx: Tx, line: TimelineEntry, channel: str, now: datetime) -> None:
        intent, suspension = locked(tx, line.suspension_id, self.transitions, now)
        if intent is None or suspension is None:
            return
        payload: dict[str, JsonValue] = {
            "suspension_id": line.suspension_id,
            "channel": channel,
            "kind": line.kind,
            "reason": line.reason,
            "about": line.about,
            **line.details,
        }
        event = Event(MESSAGE_RECEIVED, payload, line.by) if line.by else Event(MESSAGE_RECEIVED, payload)
        self.transitions.note(tx, suspension, (event,), intent, now)

    def _take_back(self, tx: Tx, returned: Returned, channel: str, now: datetime) -> None:
        """The delivery is refused; if it was the attempt's last, the next attempt is due at once."""
        row = outbox.get(tx.conn, returned.delivery)
        if row is None or row.suspension_id is None:
            return
        intent, suspension = locked(tx, row.suspension_id, self.transitions, now)
        refused = suspension is not None and outbox.refuse_returned(tx, row.id, returned.why, now)
        reason = "refused" if refused else "refused_before" if outbox.has_returned(row) else "not_out"
        details: Mapping[str, JsonValue] = {"delivery": row.id, "attempt": row.attempt, "why": returned.why}
        self._note(
            tx, TimelineEntry(row.suspension_id, returned.kind, reason, row.person, details=details), channel, now
        )
        if not refused or row.attempt is None:
            return
        reasons = outbox.why_nobody(tx.conn, row.suspension_id, row.attempt)
        if reasons is None:
            return
        intent, suspension = locked(tx, row.suspension_id, self.transitions, now)  # its log has grown
        if intent is not None and suspension is not None:
            self.transitions.reached_nobody(tx, suspension, AttemptRefused(row.attempt, reasons), intent, now)
