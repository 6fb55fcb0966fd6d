"""What is waited for, among the ids that were seen (``core.arrivals``)."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from core.store.database import Tx
from core.store.tables import seen

MOST = 500
"""How many are looked at together; the rest comes with the next look."""


def before(conn: sa.Connection, channel: str, at: datetime) -> list[str]:
    """The keys of ``channel`` that were noted until then, oldest first."""
    wanted = sa.select(seen.c.key).where(seen.c.channel == channel, seen.c.at <= at).order_by(seen.c.at).limit(MOST)
    return list(conn.scalars(wanted))


def oldest(conn: sa.Connection, channel: str) -> datetime | None:
    found: datetime | None = conn.scalar(sa.select(sa.func.min(seen.c.at)).where(seen.c.channel == channel))
    return found


def forget(tx: Tx, channel: str, key: str) -> bool:
    """True where it was there: of several that look, one goes on."""
    gone = tx.conn.execute(seen.delete().where(seen.c.channel == channel, seen.c.key == key))
    return gone.rowcount > 0
