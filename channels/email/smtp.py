"""Connections to one SMTP server: kept, reused, and honest about what became of a mail.

A mail is surely not sent until the content has begun to go out; from there to the server's word it may have been.
Source: RFC 5321 §4.2.1 (replies), §4.5.3.2 (timeouts; ours are shorter, the relay waits 30 s); facts on mail §F.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import structlog
from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPException,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
    SMTPTimeoutError,
)

from channels.email.mime import Envelope
from channels.email.server import SmtpServer, Tls
from core.ports import Ambiguous, Deferred, Delivered, Delivery, Fault, Refused

log = structlog.get_logger(__name__)

_CONNECT_SECONDS = 8.0
_COMMAND_SECONDS = 8.0
_CONTENT_SECONDS = 20.0
_KEPT_SECONDS = 60.0
"""An idle connection is not trusted for longer; servers may close one after five minutes (RFC 5321 §4.5.3.2.7)."""
_FAREWELL_SECONDS = 1.0

_START_INPUT = 354
_SERVICE_CLOSING = 421


class SmtpLanes:
    """At most ``lanes`` connections, each used by one mail after another."""

    def __init__(self, server: SmtpServer, lanes: int, hello: str) -> None:
        self._server = server
        self._hello = hello
        self._free = asyncio.Semaphore(lanes)
        self._idle: list[tuple[SMTP, float]] = []

    async def deliver(self, mail: Envelope) -> Delivery:
        """Hand one mail over. Never raises for what the server or the network did."""
        async with self._free:
            try:
                async with self._opened(mail.sender) as (client, reply):
                    return await self._hand_over(client, reply, mail)
            except _NoService as closed:
                return closed.outcome
            except (SMTPException, OSError) as failure:
                return Deferred(_reason(failure))

    async def _hand_over(self, client: SMTP, reply: int, mail: Envelope) -> Delivery:
        """Everything behind MAIL FROM, whose reply is given: where that refuses, it is us and not this mail.

        What it raises was surely before the content.
        """
        if not _is_positive(reply):
            refusal = await _refused(client, reply)
            return replace(refusal, fault=Fault.SETUP) if isinstance(refusal, Refused) else refusal
        try:
            await client.rcpt(mail.recipient)
        except SMTPResponseException as refusal:
            return await _refused(client, refusal.code)
        start = await client.execute_command(b"DATA")
        if start.code != _START_INPUT:
            return await _refused(client, start.code)
        try:
            code = await _send_content(client, mail.content)
        except (SMTPException, OSError) as failure:
            client.close()
            return Ambiguous(f"{_reason(failure)}_after_data")
        return Delivered({"message_id": mail.message_id}) if _is_positive(code) else _outcome(code)

    @asynccontextmanager
    async def _opened(self, sender: str) -> AsyncIterator[tuple[SMTP, int]]:
        """A connection and its reply to MAIL FROM; kept afterwards if it is still good."""
        client, reply = await self._begin(sender)
        try:
            yield client, reply
        except BaseException:
            client.close()
            raise
        if client.is_connected:
            self._idle.append((client, asyncio.get_running_loop().time()))

    async def _begin(self, sender: str) -> tuple[SMTP, int]:
        """MAIL FROM on a kept connection; on a new one where the server has closed that meanwhile."""
        kept = self._take_idle()
        if kept is not None:
            with suppress(SMTPServerDisconnected, SMTPTimeoutError):
                reply = await _mail_from(kept, sender)
                if reply != _SERVICE_CLOSING:
                    return kept, reply
            kept.close()
        client = await self._connected()
        return client, await _mail_from(client, sender)

    def _take_idle(self) -> SMTP | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            client, since = self._idle.pop()
            if client.is_connected and now - since < _KEPT_SECONDS:
                return client
            client.close()
        return None

    async def _connected(self) -> SMTP:
        server = self._server
        client = SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            use_tls=server.tls is Tls.IMPLICIT,
            start_tls={Tls.REQUIRED: True, Tls.OFFERED: None}.get(server.tls, False),
            local_hostname=self._hello,
            timeout=_COMMAND_SECONDS,
        )
        try:
            await client.connect(timeout=_CONNECT_SECONDS)
        except SMTPAuthenticationError as reply:
            log.warning("email.login_refused", code=reply.code)
            reason = f"smtp_auth_{reply.code}"
            outcome = Deferred(reason) if 400 <= reply.code < 500 else Refused(reason, Fault.SETUP)
            raise _NoService(outcome) from None
        except SMTPResponseException as reply:
            raise _NoService(Deferred(f"smtp_{reply.code}")) from None
        return client

    async def close(self) -> None:
        """Say goodbye on every idle connection."""
        idle, self._idle = self._idle, []
        for client, _ in idle:
            with suppress(SMTPException, OSError):
                await client.quit(timeout=_FAREWELL_SECONDS)
            client.close()


class _NoService(Exception):
    """The server takes no mail at all from us just now; ``outcome`` says what that means for this one."""

    def __init__(self, outcome: Delivery) -> None:
        super().__init__(outcome)
        self.outcome = outcome


async def _mail_from(client: SMTP, sender: str) -> int:
    """The code of the reply to MAIL FROM. On a new connection it says EHLO first."""
    try:
        reply = await client.mail(sender)
    except SMTPSenderRefused as refusal:
        return refusal.code
    except BaseException:
        client.close()
        raise
    return reply.code


async def _refused(client: SMTP, code: int) -> Delivery:
    """What a reply before the content means. The connection is made ready for the next mail, or closed."""
    try:
        await client.rset()
    except (SMTPException, OSError):
        client.close()
    return _outcome(code)


async def _send_content(client: SMTP, content: bytes) -> int:
    """The content with its final dot, and the server's reply. aiosmtplib's own ``data`` does not tell an error before
    the content from one behind it.
    """
    protocol = client.protocol
    if protocol is None:
        raise SMTPServerDisconnected("connection lost")
    stuffed = content.replace(b"\r\n.", b"\r\n..")  # RFC 5321 §4.5.2; the content never begins with a dot
    protocol.write(stuffed + (b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n"))
    reply = await protocol.read_response(timeout=_CONTENT_SECONDS)
    return reply.code


def _is_positive(code: int) -> bool:
    return 200 <= code < 300


def _outcome(code: int) -> Deferred | Refused:
    """4yz may change, 5yz will not; anything else is no SMTP."""
    if 500 <= code < 600:
        return Refused(f"smtp_{code}")
    return Deferred(f"smtp_{code}" if 400 <= code < 500 else "smtp_unusable")


def _reason(failure: Exception) -> str:
    """A stable code for what the network did."""
    if isinstance(failure, SMTPTimeoutError | TimeoutError):
        return "smtp_timeout"
    if isinstance(failure, ssl.SSLError) or isinstance(failure.__cause__, ssl.SSLError):
        return "smtp_tls"
    if isinstance(failure, SMTPConnectError):
        return "smtp_unreachable"
    if isinstance(failure, ConnectionError):  # SMTPServerDisconnected is one
        return "smtp_disconnected"
    return "smtp_unusable"
