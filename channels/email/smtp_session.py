"""An SMTP session: commands and their replies on one connection that is ready for mail.

``channels/email/smtp.py`` opens the connection and knows what a reply means for a mail. Here replies are read and
matched with commands. If the server offers PIPELINING, a group of commands goes out in one write; if not, each waits
for the reply to the one before.

Bytes that nobody asked for end a session. A reply that stood one command too early could turn a mail that was refused
into one that was taken.

Source: RFC 5321 §4.2 (replies), §4.5.3.1.5 (their length; here as much as aiosmtplib takes); RFC 2920 §3.1.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from aiosmtplib import SMTP, SMTPException, SMTPReadTimeoutError, SMTPResponseException, SMTPServerDisconnected

LONGEST_LINE = 8_192
"""Octets of one line of a reply."""
LONGEST_REPLY = 4 * LONGEST_LINE
"""Octets of all lines of a reply together."""
AFTER_REFUSAL_SECONDS = 1.0
"""For each reply behind a refusal in the same group: what becomes of the mail is known by then."""

_CLOSING = 421
_UNREADABLE = -1
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Reply:
    """``text`` is what stands behind the code in each line, joined by LF."""

    code: int
    text: str = ""

    @property
    def is_negative(self) -> bool:
        """Neither 2yz nor 3yz (RFC 5321 §4.2.1)."""
        return not 200 <= self.code < 400


class SmtpSession(asyncio.Protocol):
    """Takes the connection of ``client`` over, which greeted the server and logged in, and is not used any more.

    ``failure`` is why the session ended, ``None`` while it can be used. Raises :class:`SMTPServerDisconnected` if the
    connection is gone already.
    """

    def __init__(self, client: SMTP) -> None:
        transport = client.transport
        if transport is None or transport.is_closing():
            raise SMTPServerDisconnected("connection lost")
        self.extensions = frozenset(client.esmtp_extensions)
        self.failure: SMTPException | None = None
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # uvloop's is none of asyncio's
        self._loop = asyncio.get_running_loop()
        self._wanted = 0  # replies to what was sent, which have not come yet
        self._replies: deque[Reply] = deque()
        self._texts: list[bytes] = []  # of the reply that comes in just now
        self._length = 0
        self._unread = b""
        self._arrival: asyncio.Future[None] | None = None
        transport.set_protocol(self)

    def offers(self, extension: str) -> bool:
        """``extension`` in lower case, as ``smtputf8``."""
        return extension in self.extensions

    @property
    def is_usable(self) -> bool:
        return self.failure is None and not self._transport.is_closing()

    def close(self) -> None:
        self._fail(SMTPServerDisconnected("closed by this side"))

    # --- Asking -------------------------------------------------------------------------------------------------------

    async def ask(self, commands: Sequence[bytes], *, each: float, until: float) -> list[Reply]:
        """The replies to ``commands``, which have no CRLF. A reply has ``each`` seconds; all of them have until
        ``until``, by the loop's clock.

        There are fewer replies than commands if one was refused before the others were sent, if the server says that
        it closes (421), and if the session failed, see ``failure``. What came before that counts.

        Raises ``ValueError`` for a control character in a command, before anything is sent.
        """
        if any(_CONTROL.search(command) for command in commands):
            raise ValueError("an SMTP command with a control character")
        lines = [command + b"\r\n" for command in commands]
        in_group = len(lines) if self.offers("pipelining") else 1
        replies: list[Reply] = []
        for start in range(0, len(lines), in_group):
            group = lines[start : start + in_group]
            self.send(b"".join(group), len(group))
            for _ in group:
                reply = await self.reply(min(until, self._loop.time() + each))
                if reply is None:
                    return replies
                replies.append(reply)
                if reply.code == _CLOSING:
                    self.close()
                if reply.is_negative:
                    each = min(each, AFTER_REFUSAL_SECONDS)
            if replies[-1].is_negative:
                break
        return replies

    def send(self, octets: bytes, replies: int = 1) -> bool:
        """Write what is answered by so many ``replies``. ``False`` if the session has ended: nothing of it goes out."""
        if not self.is_usable:
            self.close()
            return False
        self._wanted += replies
        self._transport.write(octets)
        return True

    async def reply(self, until: float) -> Reply | None:
        """The next reply, waited for until then by the loop's clock. ``None`` if the session failed before it came."""
        if not self._replies and self.failure is None:
            self._arrival = arrival = self._loop.create_future()
            timer = self._loop.call_at(until, self._fall_silent)
            try:
                await arrival
            finally:
                timer.cancel()
                self._arrival = None
        return self._replies.popleft() if self._replies else None

    # --- Reading ------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.failure is not None:
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        try:
            for line in lines:
                self._read(line)
            if self._unread:
                self._look_at_length(len(self._unread))
        except SMTPResponseException as problem:
            self._fail(problem)
        if self._replies:
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        failure = SMTPServerDisconnected("connection lost")
        failure.__cause__ = exc
        self._fail(failure)

    def _read(self, line: bytes) -> None:
        self._look_at_length(len(line) + 1)
        code = line[:3]
        if len(code) < 3 or not code.isdigit():
            raise SMTPResponseException(_UNREADABLE, "no reply of SMTP")
        self._length += len(line) + 1
        self._texts.append(line[4:].strip(b" \t\r"))
        if line[3:4] == b"-":
            return
        self._replies.append(Reply(int(code), b"\n".join(self._texts).decode("utf-8", "replace")))
        self._wanted -= 1
        self._texts, self._length = [], 0

    def _look_at_length(self, octets: int) -> None:
        """So many more come in. Raises :class:`SMTPResponseException` if that is more than a reply may have."""
        if not self._wanted:
            raise SMTPResponseException(_UNREADABLE, "nobody asked for that")
        if octets > LONGEST_LINE or self._length + octets > LONGEST_REPLY:
            raise SMTPResponseException(_UNREADABLE, "the reply is too long")

    # --- The end ------------------------------------------------------------------------------------------------------

    def _fall_silent(self) -> None:
        self._fail(SMTPReadTimeoutError("no reply in time"))

    def _fail(self, failure: SMTPException) -> None:
        """The first reason counts. Replies that were read before it do, too."""
        if self.failure is None:
            self.failure = failure
            self._transport.close()
        self._wake()

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)
