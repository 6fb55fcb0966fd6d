"""Signature lines: lines that a person has called their signature, and that are ignored in their later mails.

Nothing is learned without the person's press: a line that they write twice may be a condition. A press names the lines
that it has seen, so that no line of a later mail is included.

Source: API.md §6, "What a reply means"; docs/decisions/0102-lines-called-a-signature.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial

from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.root_key import RootKey
from core.domain.signature_lines import KEY, KnownLines, SignatureOffer
from core.domain.vocabulary import SIGNATURE_CALLED, Event
from core.engine.outages import locked
from core.engine.transitions import Transitions
from core.store import signature_lines
from core.store.signature_lines import LinesKept


class Called(StrEnum):
    """What became of a press."""

    DONE = "done"
    NOTHING = "nothing"
    """They are asked about nothing, or not any more: a second press, or the question has ended."""
    ANOTHER = "another"
    """They are asked about other lines by now, which they have not seen."""


@dataclass(frozen=True, slots=True)
class SignatureLines:
    """``key`` is derived for the digests alone (:data:`core.domain.signature_lines.KEY`)."""

    database: Database
    transitions: Transitions
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, database: Database, transitions: Transitions, root: RootKey) -> SignatureLines:
        return cls(database, transitions, root.derive_renewed(KEY))

    async def known(self, identity: str) -> KnownLines:
        """What ``identity`` has called their signature, to be asked of as many lines as there are."""
        digests = await self.database.read(lambda conn: signature_lines.digests_of(conn, identity))
        return KnownLines(identity, digests, self.key)

    async def offered(self, suspension_id: str, identity: str) -> SignatureOffer | None:
        """What ``identity`` may call their signature on that question's page."""
        return await self.database.read(lambda conn: signature_lines.offered(conn, suspension_id, identity))

    async def call(self, suspension_id: str, identity: str, shown: str | None = None, *, now: datetime) -> Called:
        """``identity`` says that the lines they were asked about are their signature. ``shown`` is the mark of the
        offer that they saw."""
        return await self.database.write(partial(self._call, suspension_id, identity, shown, now))

    async def kept(self, identity: str) -> LinesKept:
        return await self.database.read(lambda conn: signature_lines.kept_of(conn, identity))

    async def forget(self, identity: str) -> None:
        """All of it, and what they are asked about just now."""
        await self.database.write(lambda tx: signature_lines.forget(tx, [identity]))

    # --- In the transaction ---------------------------------------------------------------------------------------

    def _call(self, suspension_id: str, identity: str, shown: str | None, now: datetime, tx: Tx) -> Called:
        intent, suspension = locked(tx, suspension_id, self.transitions, now)
        offered = signature_lines.offered(tx.conn, suspension_id, identity)
        if intent is None or suspension is None or not suspension.is_open or offered is None:
            return Called.NOTHING
        if shown is not None and shown != offered.mark:
            return Called.ANOTHER
        signature_lines.drop_offer(tx, suspension_id, identity)
        in_directory = self.transitions.responders.is_known(identity)
        signature_lines.call(tx, identity, offered.digests(self.key, identity), now, in_directory=in_directory)
        payload: dict[str, JsonValue] = {"suspension_id": suspension_id, "lines": len(offered.lines)}
        self.transitions.note(tx, suspension, (Event(SIGNATURE_CALLED, payload, identity),), intent, now)
        return Called.DONE
