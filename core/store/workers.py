"""Workers: which processes are alive. Each process that runs the clock writes a beat every few seconds.

After an outage, a beat says how long nobody looked (``latest_beat``). It also tells the others that a silent worker's
rows are free again (``seen``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Tx
from core.store.tables import workers


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker as it stands in the database. ``beats`` grows with each beat, whatever the host's clock says."""

    id: str
    beats: int
    beat_at: datetime


def beat(tx: Tx, worker_id: str, roles: str, now: datetime) -> None:
    """``worker_id`` is alive. A host's clock that was set back never makes an earlier beat out of a later one."""
    later = sa.case((workers.c.beat_at > now, workers.c.beat_at), else_=sa.literal(now, workers.c.beat_at.type))
    again = {"beat_at": later, "beats": workers.c.beats + 1}
    if tx.conn.execute(workers.update().where(workers.c.id == worker_id).values(**again)).rowcount:
        return
    tx.conn.execute(workers.insert().values(id=worker_id, roles=roles, started_at=now, beat_at=now, beats=1))


def latest_beat(conn: sa.Connection) -> datetime | None:
    """When anybody was last seen alive, ``None`` if nobody ever was."""
    found: datetime | None = conn.scalar(sa.select(workers.c.beat_at).order_by(workers.c.beat_at.desc()).limit(1))
    return found


def seen(conn: sa.Connection) -> list[Seen]:
    """Every worker that has not been forgotten."""
    rows = conn.execute(sa.select(workers.c.id, workers.c.beats, workers.c.beat_at))
    return [Seen(row.id, row.beats, row.beat_at) for row in rows]


def forget(tx: Tx, ids: Sequence[str]) -> None:
    """These have gone for good. The newest beat stays, since it tells how long nobody looked."""
    newest = sa.select(workers.c.id).order_by(workers.c.beat_at.desc()).limit(1).scalar_subquery()
    tx.conn.execute(workers.delete().where(workers.c.id.in_(ids), workers.c.id != newest))
