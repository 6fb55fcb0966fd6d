"""Which alerts, and other words that nobody has asked for, were sent lately. Kept among the ids that were seen, so that
no process says it again."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.dialects import postgresql, sqlite

from core.store.database import Tx
from core.store.tables import seen

_CHANNEL = "alert"


def first_within(tx: Tx, key: str, now: datetime, span: timedelta) -> bool:
    """Whether nobody has said so for ``span``; whoever asks again meanwhile hears that somebody has."""
    dialect = postgresql if tx.conn.dialect.name == "postgresql" else sqlite
    said = dialect.insert(seen).values(channel=_CHANNEL, key=key, at=now)
    again = said.on_conflict_do_update(
        index_elements=["channel", "key"], set_={"at": now}, where=seen.c.at <= now - span
    )
    return tx.conn.execute(again, execution_options={"preserve_rowcount": True}).rowcount == 1
