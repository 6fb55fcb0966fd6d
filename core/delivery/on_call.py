"""On-call recipients: the row names a schedule, and each try finds out anew who is on call.

The row gets the person's own address before it is sent, so that its receipt, its links and any doubt are theirs. If
several people are on call, each further one gets a row of their own.

Source: API.md §2, "Whom to ask"; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.audience import as_known
from core.domain.channels import RecipientKind, prefixes_of
from core.domain.people import Address
from core.domain.quorum import answer_of
from core.domain.suspension import Suspension
from core.engine.transitions import Transitions
from core.ports import Clock, Deferred, Delivery, PeopleUnknown, RefusalCause, Refused
from core.store import outbox
from core.store.outbox import Row, RowKind, RowStatus

NOBODY_AGAIN = timedelta(minutes=1)
"""How long until it is asked again who is on call, if nobody is. The operators hear of it. The next attempt does not
wait for it (``Relay._postpone``), and whoever comes on call is asked all the same."""


def schedule_of(row: Row) -> str | None:
    """The schedule that ``row`` is for, whoever it was addressed to last."""
    kept = (row.body or {}).get("schedule")
    if isinstance(kept, str):
        return kept
    return (
        row.address if row.address is not None and row.address.startswith(prefixes_of(RecipientKind.SCHEDULE)) else None
    )


def again(body: Mapping[str, JsonValue] | None) -> Mapping[str, JsonValue] | None:
    """For a row that asks whoever is on call once more at the same attempt, although they have been asked."""
    return None if body is None else {**body, "again": True}


def _is_again(row: Row) -> bool:
    return (row.body or {}).get("again") is True


@dataclass(frozen=True, slots=True)
class OnCallAddresses:
    """``owner`` is who has the rows in hand."""

    database: Database
    transitions: Transitions
    clock: Clock
    owner: str

    async def address(self, row: Row, suspension: Suspension, schedule: str) -> Address | Delivery | None:
        """Where ``row`` goes now, kept in it; or what becomes of it if that is nowhere. ``None`` if everybody on
        call has been asked by this attempt, or has answered: that is no reason for the next attempt.

        What an earlier try has perhaps sent to somebody stays theirs, whoever is on call by now.
        """
        if row.ambiguous and row.address is not None and row.address != schedule:
            return row.to
        found = await self._addresses(row.channel, schedule)
        if not isinstance(found, Sequence):
            return found
        known = as_known(suspension, self.transitions.responders.identity_of)
        wanted = [one for one in found if one.person is None or answer_of(known, one.person) is None]
        return await self.database.write(lambda tx: self._give(tx, row, suspension, schedule, wanted))

    async def anybody(self, channel: str, schedule: str) -> Address | Delivery:
        """Where one of those on call is reached."""
        found = await self._addresses(channel, schedule)
        return found[0] if isinstance(found, Sequence) else found

    async def _addresses(self, channel: str, schedule: str) -> Sequence[Address] | Delivery:
        responders = self.transitions.responders
        try:
            people = await responders.on_call(schedule)
        except PeopleUnknown as unknown:
            return unknown.outcome
        if not people:
            return Deferred(outbox.NOBODY_ON_CALL, self.clock.now() + NOBODY_AGAIN, RefusalCause.PLACE)
        found = [address for person in people for address in responders.addresses(person, channel)]
        return found or Refused("on_call_unreachable")

    def _give(
        self, tx: Tx, row: Row, suspension: Suspension, schedule: str, wanted: Sequence[Address]
    ) -> Address | Delivery | None:
        """One of ``wanted`` to this row, and a row to each other who has none of this attempt yet."""
        others = [
            one.address
            for one in outbox.of_suspension(tx.conn, suspension.id)
            if one.kind is RowKind.NOTIFY and one.attempt == row.attempt and one.channel == row.channel
            if one.id != row.id and one.status is not RowStatus.REFUSED and _is_again(one) == _is_again(row)
        ]
        free = [one for one in wanted if one.value not in others]
        if not free:
            return None
        own = next((one for one in free if one.value == row.address), free[0])
        self.transitions.keep_tokens(tx, [(suspension.id, address) for address in free])
        body: Mapping[str, JsonValue] = {**(row.body or {}), "schedule": schedule}
        mine = replace(row, address=own.value, person=own.person, body=body)
        if not outbox.readdress(tx, mine, self.owner):
            return Deferred("in_other_hands")
        now = self.clock.now()
        more = [
            replace(outbox.notice(suspension.id, row.attempt, one, now), body=body)
            for one in free
            if one.value != own.value
        ]
        self.transitions.dispatch(tx, more)
        return own
