"""The pause of all new notices, and the notices that it holds.

A held notice is a row of the outbox like any other that waits, due at :data:`HELD` and for the reason ``paused``. So a
process that knows of no pauses leaves it alone too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import upsert
from core.domain.wire import instant
from core.store import outbox
from core.store.outbox import Row, RowStatus
from core.store.tables import installation, is_notice, suspensions
from core.store.tables import outbox as rows

HELD = datetime(9999, 1, 1, tzinfo=UTC)
"""When a held notice is due: not before somebody lifts the pause."""

LOOK_AGAIN = timedelta(minutes=1)
"""A notice that may have been sent before the pause is looked at again: its question may have ended, and then whatever
was sent has to be withdrawn."""

_KEY = "pause"
_REASON = "paused"


@dataclass(frozen=True, slots=True)
class Pause:
    """Who has paused new notices, when, and why (their own words)."""

    by: str
    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Lifted:
    """What became of the notices that were held."""

    released: int
    dropped: int


_VALUE = sa.select(installation.c.value).where(installation.c.key == _KEY)


def current(conn: sa.Connection) -> Pause | None:
    found = conn.scalar(_VALUE)
    if found is None:
        return None
    kept = json.loads(found)
    return Pause(kept["by"], datetime.fromisoformat(kept["at"]), kept["reason"])


def begin(tx: Tx, pause: Pause) -> None:
    """Pause, or replace the pause that stands."""
    value = json.dumps({"by": pause.by, "at": instant(pause.at), "reason": pause.reason})
    upsert(tx, installation, {"key": _KEY, "value": value}, ("key",))


def hold(tx: Tx, row: Row, now: datetime, owner: str) -> bool:
    """Keep a notice back that ``owner`` has in hand, untried. False where the pause has been lifted meanwhile: it is
    due now.

    Whoever would lift the pause waits until this transaction is over, and so finds the row.
    """
    stands = tx.conn.scalar(_VALUE.with_for_update(read=True)) is not None
    due_at = now if not stands else now + LOOK_AGAIN if row.ambiguous else HELD
    outbox.postpone(tx, row, owner, due_at=due_at, reason=_REASON)
    return stands


_OF_NOW = (
    sa.select(suspensions.c.id)
    .where(suspensions.c.id == rows.c.suspension_id, suspensions.c.status == sa.literal_column("'open'"))
    .where(suspensions.c.attempt == rows.c.attempt)
    .exists()
)
_HELD = (rows.c.status == sa.literal_column("'pending'")) & is_notice & (rows.c.reason == _REASON)


def held(conn: sa.Connection) -> int:
    """How many notices wait for the pause to end."""
    return conn.scalar(sa.select(sa.func.count()).select_from(rows).where(_HELD)) or 0


def lift(tx: Tx, now: datetime) -> Lifted | None:
    """End the pause; ``None`` if there was none. Of each open question the notices of its latest attempt are due
    now, and older ones are dropped; but one that may have been sent is always looked at."""
    if not tx.conn.execute(installation.delete().where(installation.c.key == _KEY)).rowcount:
        return None
    stale = {"status": RowStatus.DROPPED.value, "reason": "superseded", "settled_at": now}
    surely_unsent = rows.c.ambiguous.is_(False)
    dropped = tx.conn.execute(rows.update().where(_HELD, surely_unsent, ~_OF_NOW).values(**stale)).rowcount
    released = tx.conn.execute(rows.update().where(_HELD).values(due_at=now)).rowcount
    return Lifted(released, dropped)
