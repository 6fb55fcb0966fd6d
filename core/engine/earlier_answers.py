"""Earlier answers to the same action, read each time an open question is shown.

Source: API.md §2, "Earlier answers"; docs/decisions/0092.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.database.database import Database
from core.domain.earlier_answers import MOST, SHOWN_FOR, latest
from core.domain.suspension import EarlierAnswer, Suspension
from core.ports import Clock
from core.store import suspension_lists


@dataclass(frozen=True, slots=True)
class EarlierAnswers:
    database: Database
    clock: Clock

    async def to(self, suspension: Suspension) -> tuple[EarlierAnswer, ...]:
        """Those to the same action of the same key, as they were given, the latest first. None for a question without
        an action, and for one that has ended."""
        ask, since = suspension.ask, self.clock.now() - SHOWN_FOR
        digest = ask.action_digest
        if digest is None or not suspension.is_open:
            return ()
        found = await self.database.read(
            lambda conn: suspension_lists.answered(conn, ask.created_by, digest, since, MOST)
        )
        return tuple(one for one in latest(found) if one.at > since)
