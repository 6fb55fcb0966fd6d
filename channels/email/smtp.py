"""Connections to one SMTP server: kept, reused, and honest about what became of a mail.

A mail is surely not sent until the content has begun to go out; from there to the server's word it may have been.
Which of the two it is has to be known here, so the whole of a mail takes less time than the relay waits.
Source: RFC 5321 §4.2.1 (replies), §4.5.3.2 (timeouts; ours are shorter, the relay waits 30 s); facts on mail §F.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from aiosmtplib import SMTP, SMTPException, SMTPResponseException, SMTPServerDisconnected, SMTPTimeoutError

from channels.email.connecting import NoService, connected, reason_of
from channels.email.mime import Envelope
from channels.email.server import SmtpServer
from core.ports import Ambiguous, Deferred, Delivered, Delivery, Fault, Refused

WHOLE_SECONDS = 28.0
"""For one mail, from the first step to the server's last word. Less than the relay waits (``SEND_TIMEOUT``)."""
BEFORE_CONTENT_SECONDS = 14.0
"""For all steps before the content together, however many a slow server makes of them."""
_KEPT_SECONDS = 60.0
"""An idle connection is not trusted for longer; servers may close one after five minutes (RFC 5321 §4.5.3.2.7)."""
_FAREWELL_SECONDS = 1.0

_START_INPUT = 354
_SERVICE_CLOSING = 421
_NEEDS_LOGIN = 530


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
            ends_at = asyncio.get_running_loop().time() + WHOLE_SECONDS
            try:
                async with asyncio.timeout(BEFORE_CONTENT_SECONDS) as patience, self._opened(mail) as (client, reply):
                    unwanted = await self._offered(client, reply, mail)
                    if unwanted is not None:
                        return unwanted
                    patience.reschedule(None)
                    return await _content_taken(client, mail, ends_at)
            except NoService as closed:
                return closed.outcome
            except (SMTPException, OSError) as failure:
                return Deferred(reason_of(failure), fault=Fault.AWAY)

    async def _offered(self, client: SMTP, reply: int, mail: Envelope) -> Delivery | None:
        """What is between MAIL FROM, whose reply is given, and the content: ``None`` where that may come now. Where
        MAIL FROM was refused, it is us and not this mail.
        """
        if not _is_positive(reply):
            refusal = await _refused(client, reply)
            return replace(refusal, fault=Fault.SETUP) if isinstance(refusal, Refused) else refusal
        if mail.is_international and not client.supports_extension("smtputf8"):
            await _made_ready(client)
            return Refused("smtputf8_not_offered")
        try:
            await client.rcpt(mail.recipient, options=_reports_wanted(client, mail), encoding="utf-8")
        except SMTPResponseException as refusal:
            refused = await _refused(client, refusal.code)
            return (
                replace(refused, fault=Fault.PLACE) if isinstance(refused, Refused) and _is_policy(refusal) else refused
            )
        start = await client.execute_command(b"DATA")
        if start.code != _START_INPUT:
            return await _refused(client, start.code)
        return None

    @asynccontextmanager
    async def _opened(self, mail: Envelope) -> AsyncIterator[tuple[SMTP, int]]:
        """A connection and its reply to MAIL FROM; kept afterwards if it is still good."""
        client, reply = await self._begin(mail)
        try:
            yield client, reply
        except BaseException:
            client.close()
            raise
        if client.is_connected:
            self._idle.append((client, asyncio.get_running_loop().time()))

    async def _begin(self, mail: Envelope) -> tuple[SMTP, int]:
        """MAIL FROM on a kept connection; on a new one where the server has closed that meanwhile."""
        kept = self._take_idle()
        if kept is not None:
            with suppress(SMTPServerDisconnected, SMTPTimeoutError):
                reply = await _mail_from(kept, mail)
                if reply != _SERVICE_CLOSING:
                    return kept, reply
            kept.close()
        client = await connected(self._server, self._hello)
        return client, await _mail_from(client, mail)

    def _take_idle(self) -> SMTP | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            client, since = self._idle.pop()
            if client.is_connected and now - since < _KEPT_SECONDS:
                return client
            client.close()
        return None

    async def close(self) -> None:
        """Say goodbye on every idle connection."""
        idle, self._idle = self._idle, []
        for client, _ in idle:
            with suppress(SMTPException, OSError):
                await client.quit(timeout=_FAREWELL_SECONDS)
            client.close()


async def _mail_from(client: SMTP, mail: Envelope) -> int:
    """The code of the reply to MAIL FROM."""
    try:
        reply = await client.execute_command(
            b"MAIL", f"FROM:<{mail.sender}>".encode("ascii"), *(one.encode("ascii") for one in _options(client, mail))
        )
    except BaseException:
        client.close()
        raise
    return reply.code


def _options(client: SMTP, mail: Envelope) -> Iterator[str]:
    """Of MAIL FROM. A report brings our delivery's id back, and not the whole mail (RFC 3461 §4.3, §4.4)."""
    if mail.is_international and client.supports_extension("smtputf8"):
        yield from ("BODY=8BITMIME", "SMTPUTF8")  # RFC 6531 §3.4, §3.6
    if client.supports_extension("dsn") and mail.sender:
        yield from ("RET=HDRS", f"ENVID={mail.id}")


def _reports_wanted(client: SMTP, mail: Envelope) -> list[str]:
    """Of RCPT TO: told of failures and delays alone; of nothing where nobody could be told (RFC 3461 §4.1)."""
    if not client.supports_extension("dsn"):
        return []
    return ["NOTIFY=FAILURE,DELAY"] if mail.sender else ["NOTIFY=NEVER"]


async def _refused(client: SMTP, code: int) -> Delivery:
    """What a reply before the content means."""
    await _made_ready(client)
    return _outcome(code)


async def _made_ready(client: SMTP) -> None:
    """For the next mail on this connection; closed where it can't be."""
    try:
        await client.rset(timeout=_FAREWELL_SECONDS)
    except (SMTPException, OSError):
        client.close()


async def _content_taken(client: SMTP, mail: Envelope, ends_at: float) -> Delivery:
    """From here on the mail may have been sent, until the server says otherwise."""
    try:
        code = await _send_content(client, mail.content, ends_at)
    except (SMTPException, OSError) as failure:
        client.close()
        return Ambiguous(f"{reason_of(failure)}_after_data")
    if _is_positive(code):
        return Delivered({"message_id": mail.message_id}, amiss=mail.amiss)
    if code == _SERVICE_CLOSING:  # which aiosmtplib sees to behind every command, but not behind the content
        client.close()
    return _outcome(code)


async def _send_content(client: SMTP, content: bytes, ends_at: float) -> int:
    """The content with its final dot, and the server's reply, waited for until ``ends_at``. aiosmtplib's own ``data``
    does not tell an error before the content from one behind it.
    """
    protocol = client.protocol
    if protocol is None:
        raise SMTPServerDisconnected("connection lost")
    stuffed = content.replace(b"\r\n.", b"\r\n..")  # RFC 5321 §4.5.2; the content never begins with a dot
    protocol.write(stuffed + (b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n"))
    reply = await protocol.read_response(timeout=ends_at - asyncio.get_running_loop().time())
    return reply.code


def _is_policy(refusal: SMTPResponseException) -> bool:
    """Whether it is said of us and not of the recipient: "Relay access denied" (RFC 3463 §3.8, X.7.Z)."""
    return refusal.code == _NEEDS_LOGIN or refusal.message.startswith("5.7.")


def _is_positive(code: int) -> bool:
    return 200 <= code < 300


def _outcome(code: int) -> Deferred | Refused:
    """4yz may change, 5yz will not; anything else is no SMTP."""
    if 500 <= code < 600:
        return Refused(f"smtp_{code}")
    return Deferred(f"smtp_{code}" if 400 <= code < 500 else "smtp_unusable")
