"""Parked events of incidents that are not known yet: stored in the database, and retried beside the clock.

The webhook of an acknowledgement may be faster than PagerDuty's own list of the incident's alerts. After ten minutes
the incident counts as not ours. While PagerDuty's API does not answer, nobody can say so, and the event waits. Events
of one incident are taken in the order of arrival: of two answers the earlier one counts.

Source: facts on channels §C4, §F; docs/decisions/0024, 0027.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError

from bot.inbound.pagerduty.answers import Taken, WebhookEvent
from bot.inbound.pagerduty.events import PagerDutyMeaning
from bot.inbound.pagerduty.identity import CHANNEL
from channels.pagerduty.rest import ApiUnavailable
from channels.pagerduty.webhooks import Ignored, read_webhook
from core.database.database import Database, Tx
from core.errors import DatabaseUnavailable
from core.ports import Clock
from core.store import incidents, markers
from core.store.incidents import Parked

log = structlog.get_logger(__name__)

PARKED = timedelta(minutes=10)
UNASKED = timedelta(hours=49)
"""How long one waits for an API that does not answer: as long as PagerDuty itself would have come again."""
SOON, LATE = timedelta(seconds=5), timedelta(minutes=5)
AT_LEAST = timedelta(seconds=1)
"""Between two rounds, whatever is left of the one before."""
_AT_ONCE = 100
_FORGET_EVERY = timedelta(hours=1)


@dataclass(slots=True)
class PagerDutyParking:
    database: Database
    meaning: PagerDutyMeaning
    clock: Clock
    _forgot_at: datetime | None = None
    _round: asyncio.Task[None] | None = field(default=None)

    async def park(self, event: WebhookEvent, raw: bytes) -> None:
        happening, now = event.webhook.happening, self.clock.now()
        if isinstance(happening, Ignored):
            return
        incident = happening.where.incident
        log.info("pagerduty.parked", incident=incident)
        parked = Parked(event.key, incident, raw.decode(errors="replace"), now, now + SOON)
        await self.meaning.incidents.park(event.ids, parked)

    async def before(self, event: WebhookEvent, incident: str) -> tuple[bool, Sequence[Parked]]:
        """Whether ``event`` was taken before, and the parked events of its incident."""

        def look(conn: sa.Connection) -> tuple[bool, Sequence[Parked]]:
            seen = any(markers.was_seen(conn, CHANNEL, one) for one in event.ids)
            return seen, () if seen else incidents.parked_of(conn, incident)

        return await self.database.read(look)

    async def take(self, waiting: Sequence[Parked]) -> bool:
        """Take the parked events of one incident, oldest first; false if it is too early for one, and so for those
        after it. Raises :class:`ApiUnavailable`: then no event's wait has grown."""
        for place, one in enumerate(waiting):
            if not await self._understood(one):
                await self.database.write(partial(self._put_off, waiting=waiting[place:], patience=PARKED))
                return False
            await self.database.write(partial(incidents.unpark, parked_id=one.id))
        return True

    # --- Beside the clock -----------------------------------------------------------------------------------------

    async def look(self) -> datetime | None:
        """Start a round over the due events: no question's attempt waits for PagerDuty's API. Returns when to look
        again, ``None`` during a round, whose end says so itself."""
        now = self.clock.now()
        await self._forget(now)
        if self._round is not None and not self._round.done():
            return None
        due = await self.database.read(lambda conn: incidents.due(conn, now, _AT_ONCE))
        if due:
            self._round = asyncio.create_task(self._look_at(due), name="pagerduty-parked")
            return None
        following = await self.database.read(incidents.next_look)
        return None if following is None else max(following, now + AT_LEAST)

    async def finished(self) -> None:
        """Wait for the end of a round in progress."""
        if self._round is not None:
            await asyncio.gather(self._round, return_exceptions=True)

    async def stop(self) -> None:
        if self._round is not None:
            self._round.cancel()
        await self.finished()

    async def _look_at(self, due: Sequence[Parked]) -> None:
        try:
            await self._take_all(due)
        except (DatabaseUnavailable, SQLAlchemyError) as trouble:
            log.warning("pagerduty.parked_not_looked_at", reason=type(trouble).__name__)
        else:
            self.meaning.incidents.transitions.alarm.nudge(self.clock.now())  # there may be more

    async def _take_all(self, due: Sequence[Parked]) -> None:
        """Incident by incident; once the API is away nothing more is asked."""
        left = list(dict.fromkeys(one.incident for one in due))
        for place, incident in enumerate(left):
            try:
                await self.take(await self.database.read(partial(incidents.parked_of, incident_id=incident)))
            except ApiUnavailable as trouble:
                log.warning("pagerduty.lookup_failed", reason=trouble.reason)
                waiting = [one for one in due if one.incident in left[place:]]
                await self.database.write(partial(self._put_off, waiting=waiting, patience=UNASKED))
                return

    async def _understood(self, one: Parked) -> bool:
        webhook = read_webhook(one.body)
        event = WebhookEvent(webhook, (f"parked:{one.id}",), min(webhook.occurred_at or one.arrived_at, one.arrived_at))
        try:
            return await self.meaning.take(event) is Taken.DONE
        except (ApiUnavailable, DatabaseUnavailable, SQLAlchemyError):
            raise
        except Exception as bug:  # a mistake of ours: it must not keep the others, which wait their ten minutes too
            log.exception("pagerduty.parked_failed", incident=one.incident, error=type(bug).__name__)
            return False

    def _put_off(self, tx: Tx, waiting: Sequence[Parked], patience: timedelta) -> None:
        """Retried ever more rarely, and dropped after ``patience``."""
        now = self.clock.now()
        for one in waiting:
            waited = now - one.arrived_at
            if waited >= patience:
                log.warning("pagerduty.parked_dropped", incident=one.incident)
                incidents.unpark(tx, one.id)
                continue
            later = min(now + min(max(SOON, waited), LATE), one.arrived_at + patience)
            incidents.look_later(tx, one, later)
            self.meaning.incidents.transitions.alarm.within(tx, later)

    async def _forget(self, now: datetime) -> None:
        if self._forgot_at is None or abs(now - self._forgot_at) >= _FORGET_EVERY:
            self._forgot_at = now
            await self.database.write(lambda tx: incidents.forget_old(tx, now))
