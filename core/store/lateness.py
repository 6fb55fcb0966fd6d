"""Is anything overdue that nobody has dealt with? Three looks at partial indexes.

A message that was deferred is due later, and is not late; one that is held by a pause is not due at all.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from core.store.tables import outbox, suspensions


def overdue(conn: sa.Connection, now: datetime, grace: timedelta) -> str | None:
    """``question``, ``message`` or ``sending`` where one of those has been due for longer than ``grace``, or has been
    in hand for longer than its lease; ``None`` where all is in time."""
    late = now - grace
    waiting = {
        "question": (suspensions.c.status == sa.literal_column("'open'")) & (suspensions.c.look_at < late),
        "message": (outbox.c.status == sa.literal_column("'pending'")) & (outbox.c.due_at < late),
        "sending": (outbox.c.status == sa.literal_column("'sending'")) & (outbox.c.lease_until < now),
    }
    for what, condition in waiting.items():
        if conn.scalar(sa.select(sa.literal(1)).where(condition).limit(1)):
            return what
    return None
