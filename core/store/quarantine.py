"""The quarantine: unreadable mail, kept unchanged for a while, so that an operator can look at it.

Anybody can send unreadable mail, so its total size is limited. Mail beyond the limit is noted and counted without its
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import insert
from core.store.tables import newest_first, quarantine

MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One thing that could not be read. ``digest`` is the SHA-256 of its bytes; ``raw`` is ``None`` if there was no
    room for them (and in lists)."""

    digest: str
    channel: str
    door: str
    reason: str
    size: int
    at: datetime
    kept_until: datetime
    raw: bytes | None = field(default=None, repr=False)


def keep(tx: Tx, one: Quarantined) -> bool:
    """False if it is here already."""
    own = quarantine.c
    used = tx.conn.scalar(sa.select(sa.func.coalesce(sa.func.sum(own.size), 0)).where(own.raw.is_not(None))) or 0
    raw = one.raw if used + one.size <= MOST_BYTES else None
    values = {name: getattr(one, name) for name in _NAMES} | {"raw": raw}
    statement = insert(tx, quarantine).values(**values).on_conflict_do_nothing()
    return tx.conn.execute(statement, execution_options={"preserve_rowcount": True}).rowcount == 1


_NAMES = ("digest", "channel", "door", "reason", "size", "at", "kept_until")


def page(conn: sa.Connection, *, before: tuple[datetime, str] | None, limit: int) -> Sequence[Quarantined]:
    """Newest first, without the bytes."""
    own = quarantine.c
    statement = newest_first(sa.select(*(own[name] for name in _NAMES)), own.at, own.digest, before, limit)
    return [_quarantined(row) for row in conn.execute(statement)]


def get(conn: sa.Connection, digest: str) -> Quarantined | None:
    row = conn.execute(sa.select(quarantine).where(quarantine.c.digest == digest)).first()
    return None if row is None else _quarantined(row)


def forget_old(tx: Tx, now: datetime) -> None:
    """Drop what has been kept for as long as it was to be."""
    tx.conn.execute(quarantine.delete().where(quarantine.c.kept_until <= now))


def _quarantined(row: Any) -> Quarantined:
    return Quarantined(**row._mapping)
