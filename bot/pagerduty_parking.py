"""Events about an incident that nobody knows yet: kept in the database, and looked at again by the clock.

The webhook of an acknowledgement may be faster than PagerDuty's own list of the incident's alerts. After ten minutes
the incident is somebody else's.

Source: facts on channels §C4, §F; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
import structlog

from bot.pagerduty_answers import Taken
from bot.pagerduty_meaning import Event, PagerDutyMeaning
from bot.pagerduty_people import CHANNEL
from channels.pagerduty.replies import Ignored, read_webhook
from channels.pagerduty.rest import ApiUnavailable
from core.ports import Clock
from core.store import incidents, keeping
from core.store.database import Database
from core.store.incidents import Parked

log = structlog.get_logger(__name__)

PARKED = timedelta(minutes=10)
SOON = timedelta(seconds=5)
_AT_ONCE = 100
_FORGET_EVERY = timedelta(hours=1)


@dataclass(slots=True)
class PagerDutyParking:
    database: Database
    meaning: PagerDutyMeaning
    clock: Clock
    _forgot_at: datetime | None = None

    async def park(self, event: Event, raw: bytes) -> None:
        happening, now = event.webhook.happening, self.clock.now()
        if isinstance(happening, Ignored):
            return
        incident = happening.where.incident
        log.info("pagerduty.parked", incident=incident)
        parked = Parked(event.key, incident, raw.decode(errors="replace"), now, now + SOON)
        await self.meaning.incidents.park(event.ids, parked)

    async def look(self) -> datetime | None:
        """Look at what is due; returns when the next is."""
        now = self.clock.now()
        await self._forget(now)
        for one in await self.database.read(lambda conn: incidents.due(conn, now, _AT_ONCE)):
            await self._again(one, now)
        return await self.database.read(incidents.next_look)

    async def before(self, event: Event, incident: str) -> tuple[bool, Sequence[Parked]]:
        """Whether ``event`` was taken before, and what waits for its incident."""

        def look(conn: sa.Connection) -> tuple[bool, Sequence[Parked]]:
            seen = any(keeping.was_seen(conn, CHANNEL, one) for one in event.ids)
            return seen, () if seen else incidents.parked_of(conn, incident)

        return await self.database.read(look)

    async def take(self, waiting: Sequence[Parked]) -> None:
        """Look at these now: of two answers the earlier one counts."""
        for one in waiting:
            await self._again(one, self.clock.now())

    async def _again(self, one: Parked, now: datetime) -> None:
        webhook = read_webhook(one.body)
        event = Event(webhook, (f"parked:{one.id}",), min(webhook.occurred_at or one.arrived_at, one.arrived_at))
        try:
            taken = await self.meaning.take(event)
        except ApiUnavailable as trouble:
            log.warning("pagerduty.lookup_failed", reason=trouble.reason)
            taken = Taken.TOO_EARLY
        if taken is Taken.DONE:
            await self.database.write(lambda tx: incidents.unpark(tx, one.id))
        elif now - one.arrived_at >= PARKED:
            log.warning("pagerduty.parked_dropped", incident=one.incident)
            await self.database.write(lambda tx: incidents.unpark(tx, one.id))
        else:
            later = min(now + max(SOON, now - one.arrived_at), one.arrived_at + PARKED)
            await self.database.write(lambda tx: incidents.look_later(tx, one, later))

    async def _forget(self, now: datetime) -> None:
        if self._forgot_at is None or abs(now - self._forgot_at) >= _FORGET_EVERY:
            self._forgot_at = now
            await self.database.write(lambda tx: incidents.forget_old(tx, now))
