"""Mail that is fetched from a mailbox: looked into when the server tells of a mail, and every so often besides.

Of all processes one looks; which one, an advisory lock says that ends with it. A mail is acted upon, then remembered,
then marked: whatever kills us in between, it is met again and known by its content's digest. So two that look at
once, for the moment in which one has lost the lock and not noticed, answer once and confirm once too.

Source: API.md §6; facts on mail §B2; docs/decisions/0020.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import structlog

from bot.aside import aside
from bot.mail_hurdles import Hurdles
from bot.mail_inbox import Arrival, MailInbox
from bot.mail_return import CHANNEL
from bot.pauses import pauses
from channels.email.imap import ImapSession
from channels.email.imap_connecting import ImapAccount, ImapLost
from channels.email.limits import LARGEST_MAIL
from core.engine import Engine
from core.errors import DatabaseUnavailable, HandraiseError
from core.ports import Clock
from core.store.places import Place, Places

log = structlog.get_logger(__name__)

MAILBOX = 0x48616E646D61  # "Handma": the name of the place
_LEAVE_SECONDS = 2.0
_OPENED_BY_OTHERS = timedelta(days=7)
"""How far back a mail is taken that somebody else has opened."""

Tell = Callable[[str], Awaitable[None]]
"""Tells the operators that the mailbox can't be looked into, by a stable reason."""


class Standing(StrEnum):
    CONNECTED = "connected"
    CONNECTING = "connecting"
    STANDBY = "standby"
    """Another process looks into the mailbox; this one takes over."""


@dataclass(frozen=True, slots=True)
class Pace:
    """``places``: how often one that stands by asks whether it is its turn. ``told_after``: so long without a session
    is told. ``finish``: how long a mail in hand may take while the service stops. ``hurdle``: how long a mail that the
    server could not hand out is left alone, at most."""

    longest_pause: timedelta = timedelta(seconds=60)
    without_database: timedelta = timedelta(seconds=5)
    places: timedelta = timedelta(seconds=5)
    told_after: timedelta = timedelta(seconds=60)
    finish: timedelta = timedelta(seconds=5)
    hurdle: timedelta = timedelta(minutes=15)


class MailPoller:
    """``every``: how long it waits for the server to tell of a mail before it looks all the same."""

    def __init__(
        self,
        inbox: MailInbox,
        account: ImapAccount,
        engine: Engine,
        places: Places,
        tell: Tell,
        clock: Clock,
        every: timedelta,
        pace: Pace | None = None,
    ) -> None:
        self._inbox = inbox
        self._account = account
        self._engine = engine
        self._places = places
        self._tell = tell
        self._clock = clock
        self._every = every
        self._pace = pace or Pace()
        self._stop = threading.Event()
        self._resting = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._session: ImapSession | None = None
        self._hurdles = Hurdles(self._pace.hurdle.total_seconds())
        self._said: str | None = None
        """The reason that is in the log already."""
        self._is_well()
        self.standing = Standing.CONNECTING

    def start(self) -> None:
        """Returns at once: the service is there while the mailbox is not."""
        self._without_since = time.monotonic()
        self._task = asyncio.create_task(self._run(), name="mail-poller")

    async def stop_taking(self) -> None:
        """The mail in hand is finished; nothing more is fetched."""
        self._stop.set()
        self._resting.set()
        if self._task is None:
            return
        done, _ = await asyncio.wait({self._task}, timeout=self._pace.finish.total_seconds())
        if not done:  # its thread waits for a server that says nothing
            self._task.cancel()
            if self._session is not None:
                self._session.abandon()
            await asyncio.wait({self._task}, timeout=_LEAVE_SECONDS)
        self._task = None

    # --- Whose turn it is -----------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while not self._stop.is_set():
            try:
                pause = await self._turn()
            except Exception as error:  # noqa: BLE001 (a bug of ours ends the looking not for good)
                log.error("mail.poller_failed", error=type(error).__name__)
                pause = next(self._pauses)
            await self._rest(pause)

    async def _turn(self) -> float:
        """One session, where it is this process's turn; the seconds before the next."""
        place = await self._places.take()
        if place is None:
            self.standing = Standing.STANDBY
            self._without_since = time.monotonic()
            return self._pace.places.total_seconds()
        self.standing = Standing.CONNECTING
        try:
            await self._look_while(place)
        except ImapLost as lost:
            await self._failed(lost)
        finally:
            await asyncio.shield(self._places.give_back(place))  # another process may reach what we can't
        return next(self._pauses)

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._resting.wait()

    async def _look_while(self, place: Place) -> None:
        """One session, while it and the place last."""
        self._session = session = await aside(lambda: ImapSession.open(self._account))
        log.info("mail.mailbox_opened")
        self.standing = Standing.CONNECTED
        try:
            while not self._stop.is_set() and await self._places.holds(place):
                taken = await self._take_all(session)
                self._is_well()
                if not taken:
                    await self._rest(self._pace.without_database.total_seconds())
                elif not session.has_heard:
                    await self._wait(session)
        finally:
            self._session = None
            self.standing = Standing.CONNECTING
            await asyncio.shield(aside(session.close))

    async def _wait(self, session: ImapSession) -> None:
        try:
            await aside(lambda: session.wait(self._every.total_seconds(), self._stop))
        finally:
            self._is_well()  # until now: a server may end a session in which nothing happens

    def _is_well(self) -> None:
        """All that waits has been looked at. A login alone says nothing: what breaks the session may lie there."""
        self._without_since = time.monotonic()
        self._pauses = pauses(self._pace.longest_pause.total_seconds())
        self._said = None

    # --- What lies there ------------------------------------------------------------------------------------------

    async def _take_all(self, session: ImapSession) -> bool:
        """Everything that waits, once; false where the database is away, and the mails stay as they are."""
        since = (self._clock.now() - _OPENED_BY_OTHERS).date()
        uids = await aside(lambda: session.waiting(since))
        try:
            for uid in uids:
                if self._stop.is_set():
                    return True
                await self._take_one(session, uid)
        except DatabaseUnavailable:
            log.warning("mail.left_for_later", reason="database_unavailable")
            return False
        return True

    async def _take_one(self, session: ImapSession, uid: str) -> None:
        """Only what has to be there for any mail is raised: the session, and the database."""
        key = f"imap:{self._account.name}:{session.uid_validity}:{uid}"
        if self._hurdles.stands(key):
            return
        try:
            if await self._take(session, uid, key):
                self._hurdles.overcome(key)
            else:
                self._hurdles.met(key)
        except ImapLost as lost:
            self._hurdles.met(key)
            log.warning("mail.not_handed_out", reason=lost.reason)
            raise
        except DatabaseUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 (a bug of ours loses no mail: it is looked at again)
            self._hurdles.met(key)
            log.error("mail.not_taken", error=type(error).__name__)

    async def _take(self, session: ImapSession, uid: str, key: str) -> bool:
        """False where the server does not hand it out: it has vanished, or is broken."""
        if not await self._engine.was_seen(CHANNEL, key):  # else it was taken, and could not be marked
            raw = await self._fetched(session, uid)
            if raw is None:
                log.info("mail.vanished")
                return False
            await self._inbox.take(Arrival(raw, "imap"))
            await self._engine.seen(CHANNEL, key)
        if not await aside(lambda: session.done(uid)):
            log.warning("mail.not_moved")
        return True

    async def _fetched(self, session: ImapSession, uid: str) -> bytes | None:
        """Of a mail that is too large its header alone: whoever wrote it hears that nothing in it counts. ``None``
        where it has vanished."""
        octets = await aside(lambda: session.size(uid))
        if octets is None or octets <= LARGEST_MAIL:
            return await aside(lambda: session.content(uid)) if octets is not None else None
        log.warning("mail.too_large", octets=octets)
        return await aside(lambda: session.head(uid))

    # --- When it can't be looked into -----------------------------------------------------------------------------

    async def _failed(self, lost: ImapLost) -> None:
        """Said once for each reason; the operators hear of what lasts, or has lasted."""
        if self._stop.is_set():
            return
        if lost.reason != self._said:
            self._said = lost.reason
            log.warning("mail.mailbox_not_opened", reason=lost.reason)
        without = time.monotonic() - self._without_since
        if not (lost.lasting or without >= self._pace.told_after.total_seconds()):
            return
        with contextlib.suppress(HandraiseError):  # the database is away: the next failure tells it
            await self._tell(lost.reason)
