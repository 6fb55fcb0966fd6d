"""Tokens by their fingerprints: which question, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from core.domain.people import Address
from core.store.database import Tx
from core.store.prepared import Prepared
from core.store.tables import tokens
from core.tokens import TokenPurpose, fingerprint


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
    _KEEP_ON[tx.conn.dialect.name].run(tx.conn, *rows)


_KEEP_ON = {
    "sqlite": Prepared(sqlite.insert(tokens).on_conflict_do_nothing()),
    "postgresql": Prepared(postgresql.insert(tokens).on_conflict_do_nothing()),
}


def find(conn: sa.Connection, token: str, purpose: TokenPurpose) -> Held | None:
    statement = sa.select(tokens).where(tokens.c.digest == fingerprint(token), tokens.c.purpose == purpose.value)
    row = conn.execute(statement).first()
    return None if row is None else Held(row.suspension_id, Address(row.channel, row.address, row.person))
