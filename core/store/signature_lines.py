"""Signature lines (:mod:`core.domain.signature_lines`): digests of lines that a person has called their signature, and
offers to call more of them so.

An offer holds a person's own words in the clear. It is deleted when it is taken, when its question ends, and at the
latest after :data:`OFFERED`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import upsert
from core.domain.signature_lines import SignatureOffer
from core.store.tables import signature_lines, signature_offers, suspensions

MOST_LINES = 200
"""Of one person; the oldest go when more come."""
KEPT = timedelta(days=400)
"""Since they were called last."""
OFFERED = timedelta(days=30)


def forget_old(tx: Tx, now: datetime) -> None:
    """Drop the lines that were not called for :data:`KEPT`, and the offers that nobody can take any more."""
    tx.conn.execute(signature_lines.delete().where(signature_lines.c.called_at <= now - KEPT))
    own = signature_offers.c
    is_open = sa.exists().where(suspensions.c.id == own.suspension_id, suspensions.c.status == "open")
    tx.conn.execute(signature_offers.delete().where((own.offered_at <= now - OFFERED) | ~is_open))


# --- Offers -------------------------------------------------------------------------------------------------------


def offer(tx: Tx, suspension_id: str, identity: str, offered: SignatureOffer, now: datetime) -> None:
    """Keep what ``identity`` is asked about on the question's page, in the place of an earlier offer; nothing if the
    question has ended. Its intent must be locked in this transaction."""
    status = tx.conn.scalar(sa.select(suspensions.c.status).where(suspensions.c.id == suspension_id))
    if status != "open":
        return
    values = {
        "suspension_id": suspension_id,
        "identity": identity,
        "above": list(offered.above),
        "below": list(offered.below),
        "choice": offered.choice,
        "offered_at": now,
    }
    upsert(tx, signature_offers, values, ("suspension_id", "identity"))


def offered(conn: sa.Connection, suspension_id: str, identity: str) -> SignatureOffer | None:
    own = signature_offers.c
    statement = sa.select(own.above, own.below, own.choice).where(_of(suspension_id, identity))
    row = conn.execute(statement).first()
    return None if row is None else SignatureOffer(tuple(row.above), tuple(row.below), row.choice)


def drop_offer(tx: Tx, suspension_id: str, identity: str) -> bool:
    """True for one alone of several that take it."""
    return tx.conn.execute(signature_offers.delete().where(_of(suspension_id, identity))).rowcount > 0


def drop_offers(tx: Tx, suspension_id: str) -> None:
    """The question has ended."""
    _DROP.run(tx.conn, {"suspension_id": suspension_id})


_DROP = Prepared(signature_offers.delete().where(signature_offers.c.suspension_id == sa.bindparam("suspension_id")))


def _of(suspension_id: str, identity: str) -> sa.ColumnElement[bool]:
    own = signature_offers.c
    return (own.suspension_id == suspension_id) & (own.identity == identity)


# --- Lines --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinesKept:
    """How many lines are kept of a person, and since when the oldest of them."""

    count: int
    since: datetime | None


def call(tx: Tx, identity: str, digests: Iterable[str], now: datetime, *, in_directory: bool) -> None:
    """Keep these lines, or keep them for longer. ``in_directory`` tells whether they go when the person does."""
    for one in sorted(digests):
        values = {"identity": identity, "digest": one, "called_at": now, "in_directory": in_directory}
        upsert(tx, signature_lines, values, ("identity", "digest"))
    own = signature_lines.c
    newest = (
        sa.select(own.digest)
        .where(own.identity == identity)
        .order_by(own.called_at.desc(), own.digest)
        .limit(MOST_LINES)
    )
    tx.conn.execute(signature_lines.delete().where(own.identity == identity, own.digest.not_in(newest)))


def digests_of(conn: sa.Connection, identity: str) -> frozenset[str]:
    return frozenset(row.digest for row in _DIGESTS.all(conn, {"identity": identity}))


_DIGESTS = Prepared(sa.select(signature_lines.c.digest).where(signature_lines.c.identity == sa.bindparam("identity")))


def kept_of(conn: sa.Connection, identity: str) -> LinesKept:
    own = signature_lines.c
    counted = sa.select(sa.func.count(), sa.func.min(own.called_at)).where(own.identity == identity)
    count, since = conn.execute(counted).one()
    return LinesKept(count, since)


def people_of_directory(conn: sa.Connection) -> Sequence[str]:
    """Everybody of whom lines are kept as long as the directory knows them."""
    own = signature_lines.c
    return list(conn.scalars(sa.select(own.identity).where(own.in_directory).distinct().order_by(own.identity)))


def forget(tx: Tx, identities: Sequence[str]) -> None:
    """Everything that is kept of these people."""
    for table in (signature_lines, signature_offers):
        tx.conn.execute(table.delete().where(table.c.identity.in_(identities)))
