"""LMTP and SMTP in: one conversation with a mail server that delivers mail to us.

A reply is 250 only after :meth:`MailDoor.take` has returned, and 4yz whenever the same mail may come again. A bare CR
or LF never ends a line. :class:`ListenAddress` is ``email.listen``; the size of a mail is limited for every way in.

Source: API.md §8 (``HANDRAISE_EMAIL__LISTEN``); RFC 5321, RFC 2033 (LMTP), RFC 2034 (enhanced status codes), RFC 2920
(pipelining), RFC 6531 (SMTPUTF8); docs/decisions/0020.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, AnyStr, Literal, Protocol, cast
from urllib.parse import urlsplit

import structlog
from aiosmtpd.smtp import SMTP, Envelope, Session, syntax

from core.errors import DatabaseUnavailable

log = structlog.get_logger(__name__)

LOOKS_LIKE = "must look like lmtp://127.0.0.1:2424 or smtp://127.0.0.1:2525"

MailProtocol = Literal["lmtp", "smtp"]


@dataclass(frozen=True, slots=True)
class ListenAddress:
    protocol: MailProtocol
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> ListenAddress:
        """Raises :class:`ValueError`, whose text continues the setting's name."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:  # a port that is no number, brackets that don't close
            raise ValueError(LOOKS_LIKE) from None
        beside = parts.username or parts.password or parts.path.strip("/") or parts.query or parts.fragment
        if parts.scheme == "lmtp" and host and port and not beside:
            return cls("lmtp", host, port)
        if parts.scheme == "smtp" and host and port and not beside:
            return cls("smtp", host, port)
        raise ValueError(LOOKS_LIKE)


LARGEST_MAIL = 5 * 1024 * 1024
"""Octets, headers and all."""


_LIBRARY = logging.getLogger("mail.log")
_LIBRARY.disabled = True  # it logs every command, with its addresses

MOST_RECIPIENTS = 100
"""Of one mail (RFC 5321 §4.5.3.1.8 asks for so many)."""
_LONGEST_COMMAND = 1024
"""Octets; a path has 256 (RFC 5321 §4.5.3.1.3), and extensions add to that."""
_MOST_COMMANDS = 1000
"""Of one kind in one conversation; mail servers keep a connection for many mails."""
_FLOOD = 10 * LARGEST_MAIL
"""Who goes on for so long is not listened to until the end."""

NO_SUCH_ADDRESS = "550 5.1.1 No such address here"
NOT_NOW = "451 4.3.0 Can't take mail right now, try again"
TAKEN = "250 2.0.0 Taken"
TOO_MANY_RECIPIENTS = "452 4.5.3 Too many recipients"
TOO_LARGE = f"552 5.3.4 A mail may have {LARGEST_MAIL} octets"
BARE_LINE_END = "550 5.6.11 Lines must end with CRLF and hold no other CR or LF"
NOT_OFFERED = "502 5.5.1 Not offered"
CLOSING = "421 4.3.2 Closing, try again"
TOO_MANY = "421 4.3.2 Too many connections, try again"
TOO_SLOW = "421 4.4.2 Waited for too long"

_ENHANCED = {
    "500": "5.5.2",
    "501": "5.5.4",
    "502": "5.5.1",
    "503": "5.5.1",
    "552": "5.3.4",
    "553": "5.1.3",
    "555": "5.5.4",
}
"""The meaning of the library's own replies, by their code; the rest say only the class."""
_PLAIN = re.compile(r"(?!220)([245])[0-9]{2} (?![245]\.)")


class MailDoor(Protocol):
    """Takes mail. Both methods raise :class:`core.errors.DatabaseUnavailable` and nothing else."""

    async def knows(self, address: str) -> bool: ...

    async def take(self, content: bytes, sender: str, recipients: tuple[str, ...]) -> None:
        """Handle a mail for good. ``sender`` is empty for ``<>``."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: for the next command, for a whole mail's content, and for our handling of it.

    RFC 5321 §4.5.3.2.7 asks for five minutes between commands; here the other end is only our own mail server.
    """

    command: float = 60
    content: float = 120
    taking: float = 300


class MailSession(SMTP):
    """``left`` is called when the connection is gone. ``taking`` holds the mails being handled: these are finished
    even if the connection is gone."""

    def __init__(
        self,
        door: MailDoor,
        hostname: str,
        patience: Timeouts,
        taking: set[asyncio.Task[None]],
        left: Callable[[MailSession], None],
    ) -> None:
        self.command_size_limits = defaultdict(lambda: _LONGEST_COMMAND)  # the library's is shared by all
        self.line_length_limit = 16 * 1024  # how much is read at once: a longer line is read in pieces
        self._door = door
        self._patience = patience
        self._taking = taking
        self._left = left
        self._busy = False
        self._retiring = False
        super().__init__(
            _Addresses(door),
            data_size_limit=LARGEST_MAIL,
            enable_SMTPUTF8=True,
            hostname=hostname,
            ident=self.protocol,
            timeout=patience.command,
            command_call_limit=_MOST_COMMANDS,
            loop=asyncio.get_running_loop(),
        )

    protocol = "ESMTP"

    def retire(self) -> None:
        """End the session once all mail that came in whole is answered."""
        self._retiring = True
        if not self._busy:
            self._say_last(CLOSING)

    def abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._left(self)

    def _timeout_cb(self) -> None:
        self._say_last(TOO_SLOW)

    @property
    def _wire(self) -> asyncio.WriteTransport | None:
        """The library's transport, typed. No ``isinstance``: uvloop's are not asyncio transports."""
        return cast("asyncio.WriteTransport | None", self.transport)

    def _say_last(self, reply: str) -> None:
        if self._wire is not None and not self._wire.is_closing():
            _say_last(self._wire, reply)

    # --- Replies --------------------------------------------------------------------------------------------------

    async def push(self, status: AnyStr) -> None:
        """Adds RFC 3463's codes to every reply, the library's own included (RFC 2034 §4)."""
        reply = status.decode() if isinstance(status, bytes) else status
        if plain := _PLAIN.match(reply):
            meaning = _ENHANCED.get(reply[:3], f"{plain[1]}.0.0")
            reply = f"{reply[:3]} {meaning}{reply[3:]}"
        await super().push(reply.encode("utf-8", "surrogateescape"))

    async def _greet(self, name: str | None, *extensions: str) -> None:
        """The reply to a greeting, the only one without an enhanced code."""
        if not name or self.session is None:
            await self.push("501 5.5.4 Say who you are")
            return
        self.envelope = self._create_envelope()
        self.session.extended_smtp = bool(extensions)
        self.session.host_name = name
        *first, last = (self.hostname, *extensions)
        await super().push("".join(f"250-{line}\r\n" for line in first) + f"250 {last}")

    async def _greet_extended(self, name: str | None) -> None:
        size = f"SIZE {LARGEST_MAIL}"
        await self._greet(name, size, "8BITMIME", "SMTPUTF8", "PIPELINING", "ENHANCEDSTATUSCODES")

    @syntax("HELO hostname")
    async def smtp_HELO(self, hostname: str) -> None:  # noqa: N802
        await self._greet(hostname)

    @syntax("EHLO hostname")
    async def smtp_EHLO(self, hostname: str) -> None:  # noqa: N802
        await self._greet_extended(hostname)

    async def _refuse(self, arg: str | None = None) -> None:
        await self.push(NOT_OFFERED)

    smtp_AUTH = smtp_STARTTLS = smtp_VRFY = smtp_EXPN = smtp_HELP = _refuse  # noqa: N815

    # --- Content --------------------------------------------------------------------------------------------------

    @syntax("DATA")
    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802
        """Replaces the library's, which reads line by line and refuses long ones; and LMTP replies for each
        recipient."""
        envelope = self.envelope
        if envelope is None or not envelope.rcpt_tos:
            await self.push("503 5.5.1 Need a recipient first")
            return
        if arg:
            await self.push("501 5.5.4 DATA takes no argument")
            return
        await super().push("354 End with <CRLF>.<CRLF>")
        self._reset_timeout(self._patience.content)
        content = await self._content()
        self.envelope = self._create_envelope()
        self._reset_timeout(self._patience.taking)
        reply = content if isinstance(content, str) else await self._take(content, envelope)
        for _ in range(self._replies_to(envelope)):
            await self.push(reply)
        self._reset_timeout()
        if self._retiring:
            self._say_last(CLOSING)

    def _replies_to(self, envelope: Envelope) -> int:
        return 1

    async def _content(self) -> bytes | str:
        """A mail's content, dots unstuffed (RFC 5321 §4.5.2), or the refusal of a mail that was read to its end."""
        content, octets, line_begins = bytearray(), 0, True
        while (piece := await self._piece()) != b".\r\n" or not line_begins:
            text = piece.removeprefix(b".") if line_begins else piece
            octets += len(text)
            if octets <= LARGEST_MAIL:
                content += text
            elif octets > _FLOOD:
                self._say_last(TOO_LARGE)
            line_begins = piece.endswith(b"\r\n")
        if octets > LARGEST_MAIL:
            return TOO_LARGE
        ends = content.count(b"\r\n")
        return bytes(content) if content.count(b"\r") == content.count(b"\n") == ends else BARE_LINE_END

    async def _piece(self) -> bytes:
        """A line, or a part of a long one. Never ends between CR and LF."""
        try:
            return await self._reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError as longer:
            return await self._reader.read(longer.consumed)

    async def _take(self, content: bytes, envelope: Envelope) -> str:
        sender = (envelope.mail_from or "").removeprefix("<>")
        task = asyncio.create_task(self._door.take(content, sender, tuple(envelope.rcpt_tos)))
        self._taking.add(task)
        task.add_done_callback(self._taking.discard)
        self._busy = True
        try:
            await asyncio.shield(task)
        except DatabaseUnavailable:
            return NOT_NOW
        except Exception as error:  # noqa: BLE001 (a bug of ours loses no mail: it comes again)
            log.error("mail.not_taken", error=type(error).__name__)
            return NOT_NOW
        finally:
            self._busy = False
        return TAKEN


class SmtpConversation(MailSession):
    """RFC 5321."""


class LmtpConversation(MailSession):
    """RFC 2033: LHLO is the only greeting, and each recipient gets a reply after the content."""

    protocol = "LMTP"

    @syntax("LHLO hostname")
    async def smtp_LHLO(self, hostname: str) -> None:  # noqa: N802
        await self._greet_extended(hostname)

    async def smtp_HELO(self, hostname: str) -> None:  # noqa: N802
        await self.push("500 5.5.1 This is LMTP: say LHLO")

    smtp_EHLO = smtp_HELO  # noqa: N815

    def _replies_to(self, envelope: Envelope) -> int:
        return len(envelope.rcpt_tos)


class _Addresses:
    """The library's handlers at RCPT TO and for its own errors; the names are the library's."""

    def __init__(self, door: MailDoor) -> None:
        self._door = door

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if len(envelope.rcpt_tos) >= MOST_RECIPIENTS:
            return TOO_MANY_RECIPIENTS
        try:
            known = await self._door.knows(address)
        except DatabaseUnavailable:
            return NOT_NOW
        if not known:
            return NO_SUCH_ADDRESS
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_exception(self, error: Exception) -> str:
        """The library's parser fails on some invalid addresses."""
        log.warning("mail.command_failed", error=type(error).__name__)
        return "501 5.5.2 Can't read that"


class TurnedAway(asyncio.Protocol):
    """A connection for which there is no room."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        _say_last(cast("asyncio.WriteTransport", transport), TOO_MANY)


def _say_last(wire: asyncio.WriteTransport, reply: str) -> None:
    wire.write(f"{reply}\r\n".encode())
    wire.close()
