"""Tokens by their fingerprints: the question and the recipient of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import insert_on
from core.domain.people import Address
from core.domain.tokens import TokenMaker, TokenPurpose, fingerprint
from core.store.tables import tokens


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
