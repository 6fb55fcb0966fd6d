"""Where logs begin whose first lines were moved out, and moving that place on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from core.store.chain import BEGINNING, Start, seal_start
from core.store.database import Tx
from core.store.tables import events, log_starts


def start_of(conn: sa.Connection, intent_id: str) -> Start:
    return starts_of(conn, [intent_id]).get(intent_id, BEGINNING)


def starts_of(conn: sa.Connection, intent_ids: Sequence[str]) -> dict[str, Start]:
    """Those that begin elsewhere than at their first line."""
    rows = conn.execute(sa.select(log_starts).where(log_starts.c.intent_id.in_(intent_ids)))
    return {row.intent_id: Start(row.position, row.mac, row.seal) for row in rows}


def move_on(tx: Tx, upto: Mapping[str, int], *, most: int, key: bytes) -> tuple[dict[str, int], bool]:
    """Drop the lines of each intent up to a position, at most ``most`` lines in all, and seal where its log begins now.

    Returns the positions behind which they begin (as before, where the line to begin behind is not there), and
    whether any has moved.
    """
    starts = starts_of(tx.conn, list(upto))
    reached = {intent_id: starts.get(intent_id, BEGINNING).position for intent_id in upto}
    targets: dict[str, int] = {}
    for intent_id, position in upto.items():
        step = min(position - reached[intent_id], most)
        if step > 0:
            targets[intent_id] = reached[intent_id] + step
            most -= step
    moved: list[dict[str, Any]] = [
        {"intent_id": row.intent_id, **_sealed(row, key)} for row in _lines_at(tx.conn, targets)
    ]
    if moved:
        tx.conn.execute(_KEEP_ON[tx.conn.dialect.name], moved)
        tx.conn.execute(_DROP, [{"_intent": one["intent_id"], "_upto": one["position"]} for one in moved])
    return reached | {one["intent_id"]: one["position"] for one in moved}, bool(moved)


def _sealed(row: Any, key: bytes) -> dict[str, Any]:
    start = seal_start(key, row.intent_id, row.position, row.mac)
    return {"intent_id": row.intent_id, "position": start.position, "mac": start.mac, "seal": start.seal}


def _lines_at(conn: sa.Connection, positions: Mapping[str, int]) -> Sequence[Any]:
    place = sa.tuple_(events.c.intent_id, events.c.position)
    wanted = sa.select(events.c.intent_id, events.c.position, events.c.mac).where(place.in_(list(positions.items())))
    return conn.execute(wanted).all() if positions else []


_DROP = events.delete().where(events.c.intent_id == sa.bindparam("_intent"), events.c.position <= sa.bindparam("_upto"))


def _keeping(dialect: Any) -> sa.Insert:
    statement = dialect.insert(log_starts)
    changed = {name: statement.excluded[name] for name in ("position", "mac", "seal")}
    kept: sa.Insert = statement.on_conflict_do_update(index_elements=["intent_id"], set_=changed)
    return kept


_KEEP_ON = {"sqlite": _keeping(sqlite), "postgresql": _keeping(postgresql)}
