"""The pause: no new notice leaves. Everything else goes on.

Questions can be asked and answered, attempts come and go at their times, callbacks and withdrawals leave. Notices wait
in the outbox. Once the pause is lifted, each open question asks once, by its latest attempt; older notices are dropped.

Source: API.md §9.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from core.database.call_deadlines import LONG
from core.database.database import Database, Tx
from core.domain.notice import Message, Purpose
from core.domain.people import Actor
from core.engine.transitions import Transitions
from core.ports import Clock
from core.store import pauses
from core.store.outbox import Row
from core.store.pauses import Lifted, Pause

log = structlog.get_logger(__name__)

FRESH = timedelta(seconds=1)
"""So long after another process has paused, notices may still leave this one."""


class Pausing:
    """The pause of one installation; it is kept in the database, for all processes and over restarts."""

    def __init__(self, database: Database, transitions: Transitions, clock: Clock) -> None:
        self._database = database
        self._transitions = transitions
        self._clock = clock
        self._stands = False
        self._asked_at: datetime | None = None

    async def standing(self) -> Pause | None:
        """The pause that stands. Costs nothing for notices that wait."""
        return await self._database.read(pauses.current)

    async def current(self) -> tuple[Pause | None, int]:
        """The pause that stands, and how many notices are held."""
        return await self._database.read(lambda conn: (pauses.current(conn), pauses.held(conn)))

    async def pause(self, by: Actor, reason: str | None) -> Pause:
        """Pause all new notices. Where they are paused already, the pause stays and takes the new reason, if any."""
        now = self._clock.now()

        def job(tx: Tx) -> Pause:
            before = pauses.current(tx.conn)
            if before is not None and reason is None:
                return before
            pause = Pause(by.identity, before.at if before else now, reason)
            pauses.begin(tx, pause)
            tx.after_commit(lambda: self._know(stands=True))
            if before is None:
                self._transitions.dispatch(tx, self._transitions.alert_rows(_told(pause), now))
                tx.after_commit(lambda: log.warning("notices.paused"))
            return pause

        return await self._database.write(job)

    async def lift(self) -> Lifted | None:
        """Let notices leave again; ``None`` if they were not paused."""
        now = self._clock.now()

        def job(tx: Tx) -> Lifted | None:
            lifted = pauses.lift(tx, now)
            if lifted is not None:
                tx.after_commit(lambda: self._know(stands=False))
                tx.after_commit(lambda: self._transitions.alarm.nudge(now))
                tx.after_commit(
                    lambda: log.warning("notices.unpaused", released=lifted.released, dropped=lifted.dropped)
                )
            return lifted

        return await self._database.write(job, within=LONG)

    @property
    def known(self) -> bool:
        """Whether new notices are paused, as far as this process knows; it asks every few seconds."""
        return self._stands

    async def stands(self) -> bool:
        """Whether new notices have to wait, as of a second ago at the most."""
        asked = self._asked_at
        if asked is None or not timedelta(0) <= self._clock.now() - asked < FRESH:
            self._know(stands=await self._database.read(pauses.current) is not None)
        return self._stands

    async def hold(self, row: Row) -> None:
        """Keep a notice back that is in hand and was not tried."""
        now = self._clock.now()

        def job(tx: Tx) -> None:
            if not pauses.hold(tx, row, now, self._transitions.sender.owner):
                tx.after_commit(lambda: self._know(stands=False))
                tx.after_commit(lambda: self._transitions.alarm.nudge(now))

        await self._database.write(job)

    def _know(self, *, stands: bool) -> None:
        self._stands, self._asked_at = stands, self._clock.now()


def _told(pause: Pause) -> Message:
    why = f" ({pause.reason})" if pause.reason else ""
    text = (
        f"{pause.by} has paused all new notices{why}. Nobody is asked anything until `handraise unpause`.\n\n"
        "Questions are still taken, answered and ended by their times."
    )
    return Message(Purpose.ALERT, "All new notices are paused", text)
