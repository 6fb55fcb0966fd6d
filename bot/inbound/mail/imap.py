"""The mailbox poller: fetches mail whenever the IMAP server announces some, and at an interval besides.

One of all processes looks: the holder of an advisory lock, which ends with the process. A mail is acted upon, then
marked. If the process is killed in between, the mail is met again and recognised by its content's digest. A UID proves
nothing: a restored mailbox gives the same ones to other mails. Only a mail that can't be marked is recognised by it. So
if two processes look at once, just after one has lost the lock unnoticed, they answer once and confirm once.

A mail that the mailbox can't hand out must not stop those behind it: it is left alone for a while, longer each time,
and tried again. Blocking calls run in a thread that the process may leave behind when it ends.

Source: API.md §6; facts on mail §B2; docs/decisions/0020.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

import structlog

from bot.inbound.connection import ConnectionKeeper, ConnectionState, Downtime, Tell, Timing, pauses
from bot.inbound.mail.bounces import CHANNEL
from bot.inbound.mail.inbox import Arrival, MailInbox
from channels.email.imap import ImapAccount, ImapLost, ImapSession
from channels.email.lmtp_server import LARGEST_MAIL
from core.database.locks import LockSlot, LockSlots
from core.errors import DatabaseUnavailable
from core.inbound.correspondence import Correspondence, Understood
from core.ports import Clock
from core.work.health import Health

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class FetchBackoff:
    """Mails that could not be fetched, and when each is tried again: after ``longest`` at the latest. A ``mail`` is
    any key that identifies one."""

    longest: timedelta = timedelta(minutes=15)
    _until: dict[str, float] = field(default_factory=dict)
    _pauses: dict[str, Iterator[float]] = field(default_factory=dict)

    def failed(self, mail: str) -> None:
        """Note that a mail broke the session, or that the server refused to hand it out."""
        self._until[mail] = time.monotonic() + next(self._pauses.setdefault(mail, pauses(self.longest)))

    def is_waiting(self, mail: str) -> bool:
        """Whether it is too early to try the mail again."""
        return time.monotonic() < self._until.get(mail, 0.0)

    def succeeded(self, mail: str) -> None:
        self._until.pop(mail, None)
        self._pauses.pop(mail, None)


T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """The result or error of ``work``. Unlike ``asyncio.to_thread``'s, its thread does not delay the process's end."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 (raised if it is awaited)
            tell(partial(outcome.set_exception, error))
        else:
            tell(partial(outcome.set_result, result))

    def tell(settle: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(lambda: None if outcome.done() else settle())

    threading.Thread(target=run, name="handraise-aside", daemon=True).start()
    return await outcome


MAILBOX = 0x48616E646D61  # "Handma": the name of the place
NAME = "mail_poller"
_OPENED_BY_OTHERS = timedelta(days=7)
"""How far back a mail is taken that somebody else has opened."""


@dataclass(frozen=True, slots=True)
class MailboxTiming(Timing):
    """``finish``: how long a mail in hand may take while the service stops. ``longest_backoff``: how long a mail
    that the server could not hand out is left alone, at most."""

    without_database: timedelta = timedelta(seconds=5)
    finish: timedelta = timedelta(seconds=5)
    longest_backoff: timedelta = timedelta(minutes=15)


class MailPoller:
    """``every``: how long it waits for the server's announcement before it looks anyway."""

    def __init__(
        self,
        inbox: MailInbox,
        account: ImapAccount,
        mail: Correspondence,
        places: LockSlots,
        tell: Tell,
        clock: Clock,
        every: timedelta,
        timing: MailboxTiming | None = None,
        health: Health | None = None,
    ) -> None:
        self._inbox = inbox
        self._account = account
        self._mail = mail
        self._places = places
        self._clock = clock
        self._every = every
        self._timing = timing or MailboxTiming()
        self._stop = threading.Event()
        self._session: ImapSession | None = None
        self._backoff = FetchBackoff(self._timing.longest_backoff)
        self._downtime = Downtime(log, "mail.mailbox_not_opened", tell, self._timing.told_after)
        again, standby = lambda: next(self._pauses), self._downtime.starts_now
        self._keeper = ConnectionKeeper(
            NAME, places, self._timing, health, self._turn, log, "mail.poller_failed", again, standby
        )
        self._is_well()

    @property
    def standing(self) -> ConnectionState:
        return self._keeper.state

    def start(self) -> None:
        """Returns at once: the service also works without the mailbox."""
        self._downtime.starts_now()
        self._keeper.start()

    async def stop_taking(self) -> None:
        """The mail in hand is finished; nothing more is fetched."""
        self._stop.set()
        await self._keeper.stop(self._timing.finish, self._abandon)

    def _abandon(self) -> None:
        """For a thread that waits for a silent server."""
        if self._session is not None:
            self._session.abandon()

    # --- A session ------------------------------------------------------------------------------------------------

    async def _turn(self, keeper: ConnectionKeeper, place: LockSlot) -> float:
        """One session; returns the seconds before the next."""
        try:
            await self._look_while(place)
        except ImapLost as lost:
            if not self._stop.is_set():
                await self._downtime.failed(lost.reason, lasting=lost.lasting)
        return next(self._pauses)

    async def _look_while(self, place: LockSlot) -> None:
        """One session, while it and the place last."""
        self._session = session = await aside(lambda: ImapSession.open(self._account))
        log.info("mail.mailbox_opened")
        self._keeper.state = ConnectionState.CONNECTED
        try:
            while not self._stop.is_set() and await self._places.holds(place):
                self._keeper.begins()
                taken = await self._take_all(session)
                self._is_well()
                if not taken:
                    await self._keeper.rest(self._timing.without_database.total_seconds())
                elif not session.has_heard:
                    await self._wait(session)
        finally:
            self._session = None
            self._keeper.state = ConnectionState.CONNECTING
            await asyncio.shield(aside(session.close))

    async def _wait(self, session: ImapSession) -> None:
        self._keeper.begins(self._every.total_seconds())
        try:
            await aside(lambda: session.wait(self._every.total_seconds(), self._stop))
        finally:
            self._is_well()  # until now: a server may end a session in which nothing happens

    def _is_well(self) -> None:
        """All waiting mail has been looked at. A login alone proves nothing: a waiting mail may break the session."""
        self._downtime.is_over()
        self._pauses = pauses(self._timing.longest_pause)

    # --- What lies there ------------------------------------------------------------------------------------------

    async def _take_all(self, session: ImapSession) -> bool:
        """Take all waiting mail once; false if the database is away, and the mails stay as they are."""
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
        """Raises only errors of the session and of the database."""
        self._keeper.begins()
        key = f"imap:{self._account.name}:{session.uid_validity}:{uid}"
        if self._backoff.is_waiting(key):
            return
        try:
            if await self._take(session, uid, key):
                self._backoff.succeeded(key)
            else:
                self._backoff.failed(key)
        except ImapLost as lost:
            self._backoff.failed(key)
            log.warning("mail.not_handed_out", reason=lost.reason)
            raise
        except DatabaseUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 (a bug of ours loses no mail: it is looked at again)
            self._backoff.failed(key)
            log.error("mail.not_taken", error=type(error).__name__)

    async def _take(self, session: ImapSession, uid: str, key: str) -> bool:
        """False if the server does not hand it out: it has vanished, or is broken."""
        octets = await aside(lambda: session.size(uid))
        unmarkable = f"{key}:{octets}"
        if octets is not None and await self._mail.is_settled(CHANNEL, (unmarkable,)):
            return True  # it was taken, and the server keeps no mark that would say so
        raw = None if octets is None else await self._fetched(session, uid, octets)
        if raw is None:
            log.info("mail.vanished")
            return False
        await self._inbox.take(Arrival(raw, "imap"))
        done = await aside(lambda: session.done(uid))
        if not done.marked:
            await self._mail.settle(Understood(CHANNEL, (unmarkable,)))
        if not done.moved:
            log.warning("mail.not_moved")
        return True

    async def _fetched(self, session: ImapSession, uid: str, octets: int) -> bytes | None:
        """The mail, or only the header of one that is too large: its writer is told that nothing in it counts.
        ``None`` if it has vanished."""
        if octets <= LARGEST_MAIL:
            return await aside(lambda: session.content(uid))
        log.warning("mail.too_large", octets=octets)
        return await aside(lambda: session.head(uid))
