"""On-call people by PagerDuty's schedules: asked for at most once a minute, and read without asking.

A shift's end always counts: nobody answers as the one on call after it. If PagerDuty does not answer, its last reply
counts for five minutes more; after that nobody is on call.

Source: API.md §2, "Whom to ask"; facts on channels §C; docs/decisions/0024.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from core.ports import Clock, Deferred, PeopleUnknown, RefusalCause, Refused

if TYPE_CHECKING:  # loaded only if PagerDuty is set up
    from channels.pagerduty.rest import OnCall, PagerDutyApi

log = structlog.get_logger(__name__)

CHANNEL = "pagerduty"
KEPT = timedelta(seconds=60)
TRUSTED = timedelta(minutes=5)
NOT_AGAIN = timedelta(seconds=10)
"""How long PagerDuty is left alone after it has not answered: those who answer questions meanwhile need not wait."""
_SETUP = frozenset({"http_401", "http_403"})

EmailOf = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class OnCallUser:
    """An account of ``channel``'s; ``email`` is the account's, if the directory does not know it. ``until`` is when the
    shift ends, ``None`` for never."""

    channel: str
    user: str
    email: str | None
    until: datetime | None


class OnCalls:
    """``named`` are users that the directory knows; ``email_of`` gives the mailbox of others."""

    def __init__(self, api: PagerDutyApi, email_of: EmailOf, named: Collection[str], clock: Clock) -> None:
        self._api = api
        self._email_of = email_of
        self._named = frozenset(named)
        self._clock = clock
        self._said: dict[str, tuple[datetime, tuple[OnCallUser, ...]]] = {}
        self._silent: dict[str, tuple[datetime, PeopleUnknown]] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def now_on(self, schedule: str) -> tuple[OnCallUser, ...]:
        """The users of the lowest escalation level that has any; asks PagerDuty unless it was asked within a minute.

        Raises :class:`PeopleUnknown` if PagerDuty does not say.
        """
        async with self._asking[schedule]:
            if not self._is_fresh(schedule):
                self._raise_while_silent(schedule)
                await self._ask(schedule)
        return self.known(schedule)

    async def refresh(self, schedule: str) -> None:
        """:meth:`now_on` for a later :meth:`known`: if PagerDuty is silent, its last reply stays."""
        try:
            await self.now_on(schedule)
        except PeopleUnknown as unknown:
            log.info("pagerduty.on_call_unknown", schedule=schedule, reason=unknown.outcome.reason)

    def known(self, schedule: str) -> tuple[OnCallUser, ...]:
        """Who is on call now, by PagerDuty's reply within the last five minutes."""
        if not self.is_known(schedule):
            return ()
        now = self._clock.now()
        return tuple(one for one in self.last(schedule) if one.until is None or now < one.until)

    def is_known(self, schedule: str) -> bool:
        """Whether PagerDuty has said within five minutes who is on call, even if it is nobody."""
        at, _ = self._said.get(schedule, (None, ()))
        return at is not None and abs(self._clock.now() - at) <= TRUSTED

    def last(self, schedule: str) -> tuple[OnCallUser, ...]:
        """The users on call by the last reply: to count how many could answer, never to let one answer."""
        return self._said.get(schedule, (None, ()))[1]

    def _is_fresh(self, schedule: str) -> bool:
        at, users = self._said.get(schedule, (None, ()))
        now = self._clock.now()
        over = any(one.until is not None and one.until <= now for one in users)
        return at is not None and abs(now - at) <= KEPT and not over

    def _raise_while_silent(self, schedule: str) -> None:
        at, unknown = self._silent.get(schedule, (None, None))
        if at is not None and unknown is not None and abs(self._clock.now() - at) < NOT_AGAIN:
            raise unknown

    async def _ask(self, schedule: str) -> None:
        from channels.pagerduty.rest import ApiUnavailable

        now = self._clock.now()
        try:
            found = _first_level(await self._api.on_calls(schedule, now))
            users = [OnCallUser(CHANNEL, one.user, await self._email(one.user), one.end) for one in found]
        except ApiUnavailable as silence:
            reason = f"on_call_{silence.reason}"
            outcome = Refused(reason, RefusalCause.SETUP) if silence.reason in _SETUP else Deferred(reason)
            self._silent[schedule] = (now, unknown := PeopleUnknown(outcome))
            raise unknown from silence
        self._silent.pop(schedule, None)
        self._said[schedule] = (now, tuple(users))

    async def _email(self, user: str) -> str | None:
        return None if user in self._named else await self._email_of(user)


def _first_level(found: Collection[OnCall]) -> list[OnCall]:
    """Each user once, of the level that is asked first."""
    level = min((one.level for one in found), default=0)
    return list({one.user: one for one in found if one.level == level}.values())
