"""Receipts of answers: given to the agent that asked, and used once before it acts.

A receipt counts for a while after its agent got it first, over a reply or a callback that was accepted. Every copy of
it then ends at the same instant, and all copies together are used once.

Source: API.md §5, "Receipts".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.people import Actor
from core.domain.receipt import check_receipt, claims_of, read_receipt, write_receipt
from core.domain.request import action_digest
from core.domain.suspension import Status, Suspension
from core.errors import ReceiptInvalid, ReceiptUsed
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.ports import Clock
from core.store import suspensions, tokens

_PROVEN = {Status.RESPONDED.value, Status.EXPIRED.value}


class Receipts:
    """Writes receipts and takes them back. ``key`` signs; ``ttl`` is how long one counts."""

    def __init__(self, database: Database, clock: Clock, key: bytes, ttl: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._key = key
        self._ttl = ttl

    async def for_reader(self, found: Sequence[Suspension], by: Actor) -> Mapping[str, str | None]:
        """The receipts for ``by``, who has them from now on, by the id of the suspension. Without those that another
        key has created, and where there is none to give."""
        now = self._clock.now()
        proven = [one for one in found if by.key == one.ask.created_by and claims_of(one, now) is not None]
        ids = sorted(one.id for one in proven)
        since = await self._database.read(lambda conn: tokens.receipts_delivered_at(conn, ids))
        if new := [one for one in ids if one not in since]:
            since = {**since, **await self._database.write(lambda tx: _delivered(tx, new, now))}
        return {one.id: self._write(one, since[one.id]) for one in proven}

    async def fill(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """A callback's ``body``, with the receipt of the answer that it tells of."""
        if not _may_prove(body):
            return body

        def look_up(conn: sa.Connection) -> tuple[Suspension | None, datetime | None]:
            suspension_id = body["data"]["suspension_id"]
            since = tokens.receipts_delivered_at(conn, [suspension_id]).get(suspension_id)
            return suspensions.get(conn, suspension_id), since

        suspension, since = await self._database.read(look_up)
        if suspension is None:  # moved out; its receipt ended long ago
            return body
        return {**body, "data": {**body["data"], "receipt": self._write(suspension, since or self._clock.now())}}

    async def delivered(self, body: Mapping[str, Any]) -> None:
        """The agent has accepted that callback, and with it the receipt."""
        if _may_prove(body):
            suspension_id, now = body["data"]["suspension_id"], self._clock.now()
            await self._database.write(lambda tx: tokens.note_receipt_delivered(tx, suspension_id, now))

    async def verify(
        self,
        token: str,
        action: Mapping[str, JsonValue],
        value: JsonValue,
        by: Actor,
        *,
        allow_silence: bool = False,
        once: IdempotentRequest | None = None,
    ) -> bool | Replayed:
        """True, once: the receipt proves that this ``action`` got this ``value``, and is used up.

        Raises :class:`ReceiptInvalid`, which uses nothing up, or :class:`ReceiptUsed`.
        """
        claims = read_receipt(token, self._key)
        digest, suspension_id = action_digest(action), str(claims["suspension_id"])

        def use(tx: Tx) -> bool:
            suspension, now = suspensions.get(tx.conn, suspension_id), self._clock.now()
            if suspension is None or suspension.ask.created_by != by.key:
                raise ReceiptInvalid("This key has not created the question of this receipt.", reason="other_key")
            check_receipt(claims, digest, value, now, allow_silence=allow_silence)
            if not tokens.use_receipt(tx, suspension_id, now):
                raise ReceiptUsed("This receipt has been used.")
            return True

        return await self._database.write(lambda tx: perform_once(tx, once, self._clock.now(), lambda: use(tx)))

    def _write(self, suspension: Suspension, since: datetime) -> str | None:
        claims = claims_of(suspension, since + self._ttl)
        return None if claims is None else write_receipt(claims, self._key)


def _may_prove(body: Mapping[str, Any]) -> bool:
    """Whether a receipt belongs into this callback. Most have no action, and cost nothing."""
    data = body["data"]
    return data.get("action_digest") is not None and data["resolution"] in _PROVEN and data["error"] is None


def _delivered(tx: Tx, suspension_ids: Sequence[str], now: datetime) -> Mapping[str, datetime]:
    for suspension_id in suspension_ids:
        tokens.note_receipt_delivered(tx, suspension_id, now)
    return {**dict.fromkeys(suspension_ids, now), **tokens.receipts_delivered_at(tx.conn, suspension_ids)}
