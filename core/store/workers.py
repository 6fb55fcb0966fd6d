"""Who runs the clock of this database, and when each was last seen alive.

The beats tell how long nobody looked (an outage of ours), and whose leases are void.

Source: API.md §3, "After an outage of ours".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from core.store.database import Tx
from core.store.tables import workers


def beat(tx: Tx, worker_id: str, roles: str, now: datetime) -> None:
    """``worker_id`` is alive. A host's clock that was set back never makes an earlier beat out of a later one."""
    later = sa.case((workers.c.beat_at > now, workers.c.beat_at), else_=sa.literal(now, workers.c.beat_at.type))
    if tx.conn.execute(workers.update().where(workers.c.id == worker_id).values(beat_at=later)).rowcount:
        return
    tx.conn.execute(workers.insert().values(id=worker_id, roles=roles, started_at=now, beat_at=now))


def latest_beat(conn: sa.Connection) -> datetime | None:
    """When anybody was last seen alive, ``None`` where nobody ever was."""
    found: datetime | None = conn.scalar(sa.select(workers.c.beat_at).order_by(workers.c.beat_at.desc()).limit(1))
    return found


def silent_since(conn: sa.Connection, before: datetime) -> list[str]:
    """Ids of workers that were last seen before ``before``."""
    return list(conn.scalars(sa.select(workers.c.id).where(workers.c.beat_at < before)))


def forget(tx: Tx, ids: Sequence[str]) -> None:
    """These have gone for good. The newest beat stays, since it tells how long nobody looked."""
    newest = sa.select(workers.c.id).order_by(workers.c.beat_at.desc()).limit(1).scalar_subquery()
    tx.conn.execute(workers.delete().where(workers.c.id.in_(ids), workers.c.id != newest))
