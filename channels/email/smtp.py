"""SMTP out: connections to one server, opened, kept and reused, and honest about what became of a mail.

A mail is surely not sent until its content begins to go out. From there to the server's reply it may have been sent.
That difference has to be known here, so a whole mail takes less time than the relay waits.

Each step of connecting is taken by itself, so that a failure has a name. A password is never sent before the connection
is as safe as it has to be. A bad certificate, a missing STARTTLS and a greeting of 554 leave mail waiting: whoever can
touch the network can cause them, and must not end a question's notices by it.

Source: RFC 5321 §4.2.1, §4.5.3.2 (timeouts; ours are shorter, the relay waits 30 s); RFC 3207 §4, §6; RFC 4954 §4, §6;
RFC 8314 §3; facts on mail §F.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog
from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPException,
    SMTPHeloError,
    SMTPResponseException,
    SMTPServerDisconnected,
    SMTPTimeoutError,
)

from channels.email.mail_server import SmtpServer, Tls
from channels.email.mime import OutgoingMail
from channels.email.smtp_session import Reply, SmtpSession
from core.ports import Ambiguous, Deferred, Delivered, Delivery, RefusalCause, Refused

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 8.0
COMMAND_SECONDS = 8.0
_NEVER = 500


class NoService(Exception):
    """The server takes no mail at all from us just now; ``outcome`` says what that means for this one."""

    def __init__(self, outcome: Delivery) -> None:
        super().__init__(outcome)
        self.outcome = outcome


async def connected(server: SmtpServer, hello: str) -> SMTP:
    """A connection that mail can be handed over on. Raises :class:`NoService`."""
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
    """As one that knows extensions; plainly if the server does not (RFC 5321 §3.2)."""
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


def reason_of(failure: Exception | None) -> str:
    """A stable code for what the network did."""
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

_RCPT, _DATA = 1, 2
"""Places in the envelope, which begins with MAIL."""
_START_INPUT = 354
_SERVICE_CLOSING = 421
_NEEDS_LOGIN = 530


_STEPS = (RefusalCause.SETUP, RefusalCause.MESSAGE, RefusalCause.MESSAGE)
"""Of MAIL, RCPT and DATA: why a mail is refused for good there. If MAIL FROM is refused, it is us and not this mail."""


class SmtpLanes:
    """At most ``lanes`` connections, each used by one mail after another."""

    def __init__(self, server: SmtpServer, lanes: int, hello: str) -> None:
        self._server = server
        self._hello = hello
        self._free = asyncio.Semaphore(lanes)
        self._idle: list[tuple[SmtpSession, float]] = []
        self._keeps = True

    async def deliver(self, mail: OutgoingMail) -> Delivery:
        """Hand one mail over. Never raises for what the server or the network did."""
        async with self._free:
            now = asyncio.get_running_loop().time()
            try:
                async with self._opened(mail, now + BEFORE_CONTENT_SECONDS) as (session, replies):
                    if replies is None:
                        return Refused("smtputf8_not_offered")
                    unwanted = await _unwanted(session, replies)
                    if unwanted is not None:
                        return unwanted
                    return await _content_taken(session, mail, now + WHOLE_SECONDS)
            except NoService as closed:
                return closed.outcome
            except (SMTPException, OSError) as failure:
                return Deferred(reason_of(failure), fault=RefusalCause.AWAY)

    @asynccontextmanager
    async def _opened(
        self, mail: OutgoingMail, until: float
    ) -> AsyncIterator[tuple[SmtpSession, Sequence[Reply] | None]]:
        """A session and its replies to the envelope of ``mail``; kept afterwards if it is still good."""
        session, replies = await self._begin(mail, until)
        try:
            yield session, replies
        except BaseException:
            session.close()
            raise
        if session.is_usable and self._keeps:
            self._idle.append((session, asyncio.get_running_loop().time()))
        elif session.is_usable:
            await _farewell(session)

    async def _begin(self, mail: OutgoingMail, until: float) -> tuple[SmtpSession, Sequence[Reply] | None]:
        """The envelope on a kept connection; on a new one if the server has closed that meanwhile."""
        kept = self._take_idle()
        if kept is not None:
            replies = await _offered(kept, mail, until)
            if replies is None or (replies and replies[0].code != _SERVICE_CLOSING):
                return kept, replies
            kept.close()
        async with asyncio.timeout_at(until):
            session = SmtpSession(await connected(self._server, self._hello))
        return session, await _offered(session, mail, until)

    def _take_idle(self) -> SmtpSession | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            session, since = self._idle.pop()
            if session.is_usable and now - since < _KEPT_SECONDS:
                return session
            session.close()
        return None

    async def close(self) -> None:
        """Keep no connection any more: those in use are closed after their mail."""
        self._keeps = False
        idle, self._idle = self._idle, []
        for session, _ in idle:
            await _farewell(session)


async def _farewell(session: SmtpSession) -> None:
    await _ask_soon(session, b"QUIT")
    session.close()


async def _offered(session: SmtpSession, mail: OutgoingMail, until: float) -> Sequence[Reply] | None:
    """The replies to MAIL, RCPT and DATA. ``None`` if the server can't take such an address: it is not bothered."""
    if mail.is_international and not session.offers("smtputf8"):
        return None
    sender = " ".join((f"MAIL FROM:<{mail.sender}>", *_options(session, mail)))
    recipient = " ".join((f"RCPT TO:<{mail.recipient}>", *_reports_wanted(session, mail)))
    try:
        return await session.ask(
            (sender.encode("ascii"), recipient.encode(), b"DATA"), each=COMMAND_SECONDS, until=until
        )
    except BaseException:
        session.close()
        raise


def _options(session: SmtpSession, mail: OutgoingMail) -> Iterator[str]:
    """Of MAIL FROM. A report brings our return id back, and not the whole mail (RFC 3461 §4.3, §4.4)."""
    if mail.is_international:
        yield from ("BODY=8BITMIME", "SMTPUTF8")  # RFC 6531 §3.4, §3.6
    if session.offers("dsn") and mail.sender:
        yield from ("RET=HDRS", f"ENVID={mail.return_id}")


def _reports_wanted(session: SmtpSession, mail: OutgoingMail) -> list[str]:
    """Of RCPT TO: told of failures and delays alone; of nothing if nobody could be told (RFC 3461 §4.1)."""
    if not session.offers("dsn"):
        return []
    return ["NOTIFY=FAILURE,DELAY"] if mail.sender else ["NOTIFY=NEVER"]


async def _unwanted(session: SmtpSession, replies: Sequence[Reply]) -> Delivery | None:
    """What the replies before the content mean, ``None`` if it may come now. The first refusal decides: with
    pipelining, the replies behind it are about commands that make no sense any more. Raises what ended the session, if
    it ended before there was a refusal.
    """
    refused_at = next((step for step, reply in enumerate(replies) if not _is_fine(step, reply.code)), None)
    if refused_at is None:
        if session.failure is not None:
            raise session.failure
        return None
    await _made_ready(session, replies, refused_at)
    refusal, outcome = replies[refused_at], _outcome(replies[refused_at].code)
    if not isinstance(outcome, Refused):
        return outcome
    of_place = refused_at == _RCPT and _is_policy(refusal)
    return replace(outcome, fault=RefusalCause.PLACE if of_place else _STEPS[refused_at])


def _is_fine(step: int, code: int) -> bool:
    return code == _START_INPUT if step == _DATA else _is_positive(code)


async def _made_ready(session: SmtpSession, replies: Sequence[Reply], refused_at: int) -> None:
    """For the next mail on this connection; closed if it can't be.

    With pipelining the server may ask for the content although it refused the recipient: a lone dot ends it, and
    nothing is sent (RFC 2920 §3.1). If it refused the sender and took the recipient, even the dot could be a mail.
    """
    awaits_content = replies[-1].code == _START_INPUT
    if not replies[refused_at].is_negative or (awaits_content and refused_at != _RCPT):
        session.close()
        return
    told = await _ask_soon(session, *([b"."] if awaits_content else []), b"RSET")
    if not (told and _is_positive(told[-1].code)):
        session.close()


async def _ask_soon(session: SmtpSession, *commands: bytes) -> Sequence[Reply]:
    """For what no mail depends on."""
    until = asyncio.get_running_loop().time() + len(commands) * _FAREWELL_SECONDS
    return await session.ask(commands, each=_FAREWELL_SECONDS, until=until)


async def _content_taken(session: SmtpSession, mail: OutgoingMail, ends_at: float) -> Delivery:
    """From here on the mail may have been sent, until the server says otherwise."""
    stuffed = mail.content.replace(b"\r\n.", b"\r\n..")  # RFC 5321 §4.5.2; the content never begins with a dot
    if not session.send(stuffed + (b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n")):
        raise SMTPServerDisconnected("connection lost")
    reply = await session.reply(ends_at)
    if reply is None:
        return Ambiguous(f"{reason_of(session.failure)}_after_data")
    if _is_positive(reply.code):
        return Delivered({"message_id": mail.message_id}, amiss=mail.amiss)
    if reply.code == _SERVICE_CLOSING:
        session.close()
    return _outcome(reply.code)


def _is_policy(refusal: Reply) -> bool:
    """Whether it is said of us and not of the recipient: "Relay access denied" (RFC 3463 §3.8, X.7.Z)."""
    return refusal.code == _NEEDS_LOGIN or refusal.text.startswith("5.7.")


def _is_positive(code: int) -> bool:
    return 200 <= code < 300


def _outcome(code: int) -> Deferred | Refused:
    """4yz may change, 5yz will not; anything else is no SMTP."""
    if 500 <= code < 600:
        return Refused(f"smtp_{code}")
    return Deferred(f"smtp_{code}" if 400 <= code < 500 else "smtp_unusable")
