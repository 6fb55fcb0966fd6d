"""SMTP out: opens, keeps and reuses connections to one server, and tells whether a mail was sent, refused or in doubt.

A mail is surely not sent until its content begins to go out. From there to the server's reply it may have been sent.
That difference has to be known here, so a whole mail takes less time than the relay waits.

Each step of connecting is separate, so that a failure has a name. A password is never sent before the connection is as
safe as required. A bad certificate, a missing STARTTLS and a greeting of 554 leave mail waiting: an attacker on the
network can cause them, and must not end a question's notices by it.

Source: RFC 5321 §4.2.1, §4.5.3.2 (timeouts; ours are shorter, the relay waits 30 s); RFC 3207 §4, §6; RFC 4954 §4, §6;
RFC 8314 §3; facts on mail §F.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import cast

import structlog
from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPException,
    SMTPHeloError,
    SMTPResponse,
    SMTPResponseException,
    SMTPServerDisconnected,
    SMTPTimeoutError,
)

from channels.email.mail_server import SmtpServer, Tls
from channels.email.mime import OutgoingMail
from core.ports import Ambiguous, Deferred, Delivered, Delivery, RefusalCause, Refused

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 8.0
COMMAND_SECONDS = 8.0
_NEVER = 500


class NoService(Exception):
    """The server takes no mail from us just now; ``outcome`` is the delivery result."""

    def __init__(self, outcome: Delivery) -> None:
        super().__init__(outcome)
        self.outcome = outcome


async def connected(server: SmtpServer, hello: str) -> SMTP:
    """A connection that is ready for mail. Raises :class:`NoService`."""
    client = SMTP(
        hostname=server.host,
        port=server.port,
        use_tls=server.tls is Tls.IMPLICIT,
        start_tls=False,
        tls_context=server.context,
        local_hostname=hello,
        timeout=COMMAND_SECONDS,
    )
    try:
        await client.connect(timeout=CONNECT_SECONDS)
        await _greet(client)
        await _encrypt(client, server.tls)
        await _log_in(client, server)
    except BaseException as failure:
        client.close()
        if isinstance(failure, SMTPResponseException):
            fault = RefusalCause.SETUP if failure.code >= _NEVER else RefusalCause.AWAY
            raise NoService(Deferred(f"smtp_{failure.code}", fault=fault)) from None
        if isinstance(failure, SMTPException | OSError):
            raise NoService(_not_reached(failure)) from None
        raise
    return client


async def _greet(client: SMTP) -> None:
    """EHLO, or HELO if the server does not know extensions (RFC 5321 §3.2)."""
    try:
        await client.ehlo()
    except SMTPHeloError:
        await client.helo()


async def _encrypt(client: SMTP, tls: Tls) -> None:
    offered = client.supports_extension("starttls")
    if tls is Tls.REQUIRED and not offered:
        log.warning("email.starttls_missing")
        raise NoService(Deferred("smtp_starttls_missing", fault=RefusalCause.SETUP))
    if offered and tls in {Tls.REQUIRED, Tls.OFFERED}:
        await client.starttls()
        await client.ehlo()  # what was said in the clear counts for nothing (RFC 3207 §4.2)


async def _log_in(client: SMTP, server: SmtpServer) -> None:
    if server.username is None:
        return
    if not client.supported_auth_methods:
        log.warning("email.login_not_offered")
        raise NoService(Refused("smtp_auth_missing", RefusalCause.SETUP))
    try:
        await client.login(server.username, server.password or "")
    except SMTPAuthenticationError as reply:
        log.warning("email.login_refused", code=reply.code)
        reason = f"smtp_auth_{reply.code}"
        raise NoService(Deferred(reason) if 400 <= reply.code < 500 else Refused(reason, RefusalCause.SETUP)) from None


def _not_reached(failure: Exception) -> Deferred:
    cause = failure if isinstance(failure, ssl.SSLError) else failure.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        log.warning("email.certificate_refused", reason=cause.verify_message)
        return Deferred("smtp_certificate", fault=RefusalCause.SETUP)
    return Deferred(reason_of(failure), fault=RefusalCause.AWAY)


def reason_of(failure: Exception) -> str:
    """A stable code for a network failure."""
    if isinstance(failure, SMTPTimeoutError | TimeoutError):
        return "smtp_timeout"
    if isinstance(failure, ssl.SSLError) or isinstance(getattr(failure, "__cause__", None), ssl.SSLError):
        return "smtp_tls"
    if isinstance(failure, SMTPConnectError):
        return "smtp_unreachable"
    if isinstance(failure, ConnectionError):  # SMTPServerDisconnected is one
        return "smtp_disconnected"
    return "smtp_unusable"


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
        self._keeps = True

    async def deliver(self, mail: OutgoingMail) -> Delivery:
        """Hand one mail over. Never raises for failures of the server or the network."""
        async with self._free:
            ends_at = asyncio.get_running_loop().time() + WHOLE_SECONDS
            try:
                async with asyncio.timeout(BEFORE_CONTENT_SECONDS) as patience, self._opened(mail) as (client, reply):
                    unwanted = await _unwanted(client, mail, reply)
                    if unwanted is not None:
                        return unwanted
                    patience.reschedule(None)
                    return await _content_taken(client, mail, ends_at)
            except NoService as closed:
                return closed.outcome
            except (SMTPException, OSError) as failure:
                return Deferred(reason_of(failure), fault=RefusalCause.AWAY)

    @asynccontextmanager
    async def _opened(self, mail: OutgoingMail) -> AsyncIterator[tuple[SMTP, SMTPResponse | None]]:
        """A connection and its reply to MAIL; kept afterwards if it still works."""
        client, reply = await self._begin(mail)
        try:
            yield client, reply
        except BaseException:
            client.close()
            raise
        if client.is_connected and self._keeps:
            self._idle.append((client, asyncio.get_running_loop().time()))
        elif client.is_connected:
            await _farewell(client)

    async def _begin(self, mail: OutgoingMail) -> tuple[SMTP, SMTPResponse | None]:
        """MAIL on a kept connection, or on a new one if the server has closed the kept one."""
        kept = self._take_idle()
        if kept is not None:
            with suppress(SMTPException, OSError):
                reply = await _mail_from(kept, mail)
                if reply is None or reply.code != _SERVICE_CLOSING:
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
        """Keep no connection any more: those in use are closed after their mail."""
        self._keeps = False
        idle, self._idle = self._idle, []
        for client, _ in idle:
            await _farewell(client)


async def _farewell(client: SMTP) -> None:
    with suppress(SMTPException, OSError):
        await client.quit(timeout=_FAREWELL_SECONDS)
    client.close()


async def _asked(client: SMTP, *words: str) -> SMTPResponse:
    """The reply to a command. If none comes, or one that is not SMTP, the connection is closed: nobody knows then
    which command the next reply answers."""
    try:
        return await client.execute_command(*(word.encode() for word in words))
    except BaseException:
        client.close()
        raise


async def _mail_from(client: SMTP, mail: OutgoingMail) -> SMTPResponse | None:
    """The reply to MAIL. ``None`` if the server can't take such an address: nothing is sent then."""
    if mail.is_international and not client.supports_extension("smtputf8"):
        return None
    return await _asked(client, "MAIL", f"FROM:<{mail.sender}>", *_options(client, mail))


def _options(client: SMTP, mail: OutgoingMail) -> Iterator[str]:
    """Options of MAIL FROM. A report brings our return id back, and not the whole mail (RFC 3461 §4.3, §4.4)."""
    if mail.is_international:
        yield from ("BODY=8BITMIME", "SMTPUTF8")  # RFC 6531 §3.4, §3.6
    if client.supports_extension("dsn") and mail.sender:
        yield from ("RET=HDRS", f"ENVID={mail.return_id}")


def _reports_wanted(client: SMTP, mail: OutgoingMail) -> list[str]:
    """Options of RCPT TO: report only failures and delays; nothing if no report could reach us (RFC 3461 §4.1)."""
    if not client.supports_extension("dsn"):
        return []
    return ["NOTIFY=FAILURE,DELAY"] if mail.sender else ["NOTIFY=NEVER"]


async def _unwanted(client: SMTP, mail: OutgoingMail, reply: SMTPResponse | None) -> Delivery | None:
    """The outcome of the commands between MAIL, which got ``reply``, and the content; ``None`` if the content may be
    sent. A refused MAIL is about us and not about this mail."""
    if reply is None:
        return Refused("smtputf8_not_offered")
    if not _is_positive(reply.code):
        return await _refused(client, reply, RefusalCause.SETUP)
    reply = await _asked(client, "RCPT", f"TO:<{mail.recipient}>", *_reports_wanted(client, mail))
    if not _is_positive(reply.code):
        return await _refused(client, reply, RefusalCause.PLACE if _is_policy(reply) else RefusalCause.MESSAGE)
    reply = await _asked(client, "DATA")
    return None if reply.code == _START_INPUT else await _refused(client, reply, RefusalCause.MESSAGE)


async def _refused(client: SMTP, reply: SMTPResponse, fault: RefusalCause) -> Delivery:
    """The outcome of ``reply`` before the content; ``fault`` is the cause of a permanent refusal. The connection is
    reset for the next mail, and closed if that fails."""
    outcome = _outcome(reply.code)
    try:
        if not 400 <= reply.code < 600:  # it fits no command
            raise SMTPResponseException(reply.code, reply.message)
        await client.rset(timeout=_FAREWELL_SECONDS)
    except (SMTPException, OSError):
        client.close()
    return replace(outcome, fault=fault) if isinstance(outcome, Refused) else outcome


async def _content_taken(client: SMTP, mail: OutgoingMail, ends_at: float) -> Delivery:
    """From here on the mail may have been sent, until the server says otherwise. aiosmtplib's own ``data`` does not
    tell a failure before the content from one behind it. It joins bytes that come in one piece with a reply: if a
    broken server sends a reply too many with its 354, that one counts as its reply to the content."""
    transport = client.transport
    if transport is None or transport.is_closing():
        raise SMTPServerDisconnected("connection lost")
    stuffed = mail.content.replace(b"\r\n.", b"\r\n..")  # RFC 5321 §4.5.2; the content never begins with a dot
    cast("asyncio.WriteTransport", transport).write(stuffed if stuffed.endswith(b"\r\n") else stuffed + b"\r\n")
    try:
        reply = await client.execute_command(b".", timeout=ends_at - asyncio.get_running_loop().time())
    except (SMTPException, OSError) as failure:
        client.close()
        return Ambiguous(f"{reason_of(failure)}_after_data")
    if _is_positive(reply.code):
        return Delivered({"message_id": mail.message_id}, amiss=mail.amiss)
    return _outcome(reply.code)


def _is_policy(refusal: SMTPResponse) -> bool:
    """Whether the refusal is about us and not about the recipient: "Relay access denied" (RFC 3463 §3.8, X.7.Z)."""
    return refusal.code == _NEEDS_LOGIN or refusal.message.startswith("5.7.")


def _is_positive(code: int) -> bool:
    return 200 <= code < 300


def _outcome(code: int) -> Deferred | Refused:
    """4yz is temporary, 5yz permanent; anything else is not SMTP."""
    if 500 <= code < 600:
        return Refused(f"smtp_{code}")
    return Deferred(f"smtp_{code}" if 400 <= code < 500 else "smtp_unusable")
