"""Progress: what has become of one question's notices and of its callback, for the page that tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.database import Database
from core.domain.suspension import Suspension
from core.domain.vocabulary import REACHED_NOBODY
from core.store import event_log, pauses, sent_rows
from core.store.event_log import Logged
from core.store.pauses import Pause
from core.store.sent_rows import UNUSED, ReceiptUse, SentRow


@dataclass(frozen=True, slots=True)
class NobodyReached:
    """``attempt`` has reached nobody. ``reasons`` are stable codes; none if there was nobody to send it to."""

    attempt: int
    at: datetime
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoticeProgress:
    """``rows`` are the notices and callbacks, the oldest first. ``pause`` is the pause of all new notices, ``None`` for
    none, and once the question has ended. ``receipt`` is known once it has."""

    rows: Sequence[SentRow] = ()
    nobody: Sequence[NobodyReached] = ()
    pause: Pause | None = None
    receipt: ReceiptUse = UNUSED


async def progress_of(database: Database, suspension: Suspension) -> NoticeProgress:
    def look(conn: sa.Connection) -> NoticeProgress:
        ask = suspension.ask
        logged = event_log.of_intent(conn, ask.intent_id, types=(REACHED_NOBODY,), since=ask.suspended_at)
        nobody = [_nobody(line) for line in logged if line.payload.get("suspension_id") == suspension.id]
        rows = sent_rows.notices_and_callbacks(conn, suspension.id)
        if suspension.is_open:
            return NoticeProgress(rows, nobody, pauses.current(conn))
        return NoticeProgress(rows, nobody, receipt=sent_rows.receipt_use(conn, suspension.id))

    return await database.read(look)


def _nobody(line: Logged) -> NobodyReached:
    attempt, reasons = line.payload["attempt"], line.payload["reasons"]
    assert isinstance(attempt, int)  # noqa: S101 (as the machine writes it)
    assert isinstance(reasons, list)  # noqa: S101 (likewise)
    return NobodyReached(attempt, line.created_at, tuple(map(str, reasons)))
