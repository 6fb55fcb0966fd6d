"""The listener of ``email.listen``: takes mail from a mail server by LMTP or SMTP.

It stands behind a mail server, never on the internet: it believes the Authentication-Results in the mail.

Source: API.md §6; facts on mail §B2; docs/decisions/0020.
"""

from __future__ import annotations

import asyncio
import contextlib
from ipaddress import ip_address

import structlog

from bot.inbound.mail.inbox import Arrival, MailInbox
from channels.email.lmtp_server import (
    ListenAddress,
    LmtpConversation,
    MailSession,
    SmtpConversation,
    Timeouts,
    TurnedAway,
)
from core.errors import ConfigError

log = structlog.get_logger(__name__)

MOST_CONNECTIONS = 50
_FINISH_SECONDS = 4.0
"""How long a mail that came in whole may still be acted upon while the service stops."""
_LEAVE_SECONDS = 1.0


class MailListener:
    """``hostname`` is its name in greetings. At most ``most`` connections are open."""

    def __init__(
        self,
        inbox: MailInbox,
        address: ListenAddress,
        hostname: str,
        *,
        patience: Timeouts | None = None,
        most: int = MOST_CONNECTIONS,
    ) -> None:
        self._inbox = inbox
        self._address = address
        self._hostname = hostname
        self._patience = patience or Timeouts()
        self._most = most
        self._server: asyncio.Server | None = None
        self._conversations: set[MailSession] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._taking: set[asyncio.Task[None]] = set()

    @property
    def protocol(self) -> str:
        """``lmtp`` or ``smtp``."""
        return self._address.protocol

    @property
    def standing(self) -> str:
        """Its state, for ``/readyz``."""
        return "listening" if self._server is not None else "closed"

    @property
    def is_taking(self) -> bool:
        """Whether a complete mail is being acted upon."""
        return bool(self._taking)

    async def start(self) -> None:
        """Raises :class:`ConfigError` if it can't listen on the address."""
        loop, address = asyncio.get_running_loop(), self._address
        try:
            self._server = await loop.create_server(self._welcome, address.host, address.port)
        except OSError as failure:
            why = failure.strerror or "no such host"
            if "address already in use" in why:  # asyncio's own sentence repeats the address
                why = "Address already in use"
            raise ConfigError(f"email.listen: {address.host}:{address.port} can't be listened on: {why}.") from None
        open_to = {ip_address(one.getsockname()[0].partition("%")[0]) for one in self._server.sockets}
        if any(one.is_unspecified or not one.is_private for one in open_to):
            log.warning("mail.listening_to_strangers", protocol=address.protocol, port=address.port)
        log.info("mail.listening", protocol=address.protocol, port=address.port)

    def become(self, other: MailListener) -> None:
        """Continue with the settings of ``other``, at this one's address. No connection is refused meanwhile."""
        self._inbox, self._hostname = other._inbox, other._hostname

    def _welcome(self) -> asyncio.Protocol:
        if len(self._conversations) >= self._most:
            log.warning("mail.too_many_connections")
            return TurnedAway()
        kind = LmtpConversation if self._address.protocol == "lmtp" else SmtpConversation
        talk = kind(self, self._hostname, self._patience, self._taking, self._left)
        self._conversations.add(talk)
        self._empty.clear()
        return talk

    def _left(self, talk: MailSession) -> None:
        self._conversations.discard(talk)
        if not self._conversations:
            self._empty.set()

    async def knows(self, address: str) -> bool:
        return await self._inbox.knows(address)

    async def take(self, content: bytes, sender: str, recipients: tuple[str, ...]) -> None:
        await self._inbox.take(Arrival(content, self._address.protocol, sender, recipients))

    async def stop_taking(self) -> None:
        """Accept no further connection; complete mails are answered, others are told to come again."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        for talk in list(self._conversations):
            talk.retire()
        if self._taking:
            await asyncio.wait(self._taking, timeout=_FINISH_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):  # what was said last still has to reach them
                await self._empty.wait()
        for talk in list(self._conversations):
            talk.abort()
