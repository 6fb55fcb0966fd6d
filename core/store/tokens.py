"""Tokens by their fingerprints, with the question and the recipient of each; and the use of receipts of answers.

A receipt has a row once it was delivered or used. The row is moved out with its question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import by_ids, listed
from core.database.upserts import insert, insert_on
from core.domain.people import Address
from core.domain.tokens import TokenMaker, TokenPurpose, fingerprint
from core.store.tables import answer_receipts, tokens


@dataclass(frozen=True, slots=True)
class Held:
    """What a token stands for."""

    suspension_id: str
    address: Address


def keep(tx: Tx, made: Sequence[tuple[str, TokenPurpose, str, Address]]) -> None:
    """Store ``(token, purpose, suspension_id, address)`` by fingerprint; one that is there already stays."""
    if not made:
        return
    rows = [
        {
            "digest": fingerprint(token),
            "purpose": purpose.value,
            "suspension_id": suspension_id,
            "channel": address.channel,
            "address": address.value,
            "person": address.person,
        }
        for token, purpose, suspension_id, address in made
    ]
    _KEEP.run(tx.conn, *rows)


_KEEP = Prepared(lambda dialect: insert_on(dialect, tokens).on_conflict_do_nothing())


def renew(tx: Tx, maker: TokenMaker) -> None:
    """Keep for every link and address that is out the token that ``maker`` makes for it, too: under another key a
    message that is sent again would else have a link that leads nowhere."""
    last = ""
    while rows := tx.conn.execute(_SOME, {"after": last}).all():
        last = rows[-1].digest
        made = []
        for row in rows:
            purpose, address = TokenPurpose(row.purpose), Address(row.channel, row.address, row.person)
            token = maker.token(purpose, row.suspension_id, row.channel, row.address)
            made.append((token, purpose, row.suspension_id, address))
        keep(tx, made)


_SOME = sa.select(tokens).where(tokens.c.digest > sa.bindparam("after")).order_by(tokens.c.digest).limit(1_000)


def find(conn: sa.Connection, token: str, purpose: TokenPurpose) -> Held | None:
    statement = sa.select(tokens).where(tokens.c.digest == fingerprint(token), tokens.c.purpose == purpose.value)
    row = conn.execute(statement).first()
    return None if row is None else Held(row.suspension_id, Address(row.channel, row.address, row.person))


_receipts = answer_receipts.c
_DELIVERED = by_ids(sa.select(_receipts.suspension_id, _receipts.delivered_at), _receipts.suspension_id)


def receipts_delivered_at(conn: sa.Connection, suspension_ids: Collection[str]) -> Mapping[str, datetime]:
    """When the agent got each receipt first; without those that it has not got yet."""
    rows = _DELIVERED.all(conn, listed(suspension_ids)) if suspension_ids else ()
    return {row.suspension_id: row.delivered_at for row in rows if row.delivered_at is not None}


def note_receipt_delivered(tx: Tx, suspension_id: str, now: datetime) -> None:
    """The agent has it now, if it had not before."""
    row = insert(tx, answer_receipts).values(suspension_id=suspension_id, delivered_at=now)
    first = row.on_conflict_do_update(
        index_elements=["suspension_id"], set_={"delivered_at": now}, where=_receipts.delivered_at.is_(None)
    )
    tx.conn.execute(first)


def use_receipt(tx: Tx, suspension_id: str, now: datetime) -> bool:
    """True for one alone of all that use it."""
    row = insert(tx, answer_receipts).values(suspension_id=suspension_id, used_at=now)
    first = row.on_conflict_do_update(
        index_elements=["suspension_id"], set_={"used_at": now}, where=_receipts.used_at.is_(None)
    )
    return tx.conn.execute(first, execution_options={"preserve_rowcount": True}).rowcount == 1
