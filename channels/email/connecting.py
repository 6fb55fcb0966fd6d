"""A new connection to the mail server: reached, encrypted, logged in; or what it means that it is not.

Each step is taken by itself, so that what went wrong has a name of its own. A password is never sent before the
connection is as safe as it has to be (:class:`channels.email.server.Tls`). A certificate that does not hold, a STARTTLS
that is missing and a greeting that turns us away (554) leave mail waiting and never refuse it: whoever can touch the
network can cause them, and must not thereby end a question's notices.

Source: RFC 3207 §4, §6; RFC 4954 §4, §6; RFC 8314 §3.
"""

from __future__ import annotations

import ssl

import structlog
from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPException,
    SMTPHeloError,
    SMTPResponseException,
    SMTPTimeoutError,
)

from channels.email.server import SmtpServer, Tls
from core.ports import Deferred, Delivery, Fault, Refused

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
            fault = Fault.SETUP if failure.code >= _NEVER else Fault.AWAY
            raise NoService(Deferred(f"smtp_{failure.code}", fault=fault)) from None
        if isinstance(failure, SMTPException | OSError):
            raise NoService(_not_reached(failure)) from None
        raise
    return client


async def _greet(client: SMTP) -> None:
    """As one that knows extensions; plainly where the server does not (RFC 5321 §3.2)."""
    try:
        await client.ehlo()
    except SMTPHeloError:
        await client.helo()


async def _encrypt(client: SMTP, tls: Tls) -> None:
    offered = client.supports_extension("starttls")
    if tls is Tls.REQUIRED and not offered:
        log.warning("email.starttls_missing")
        raise NoService(Deferred("smtp_starttls_missing", fault=Fault.SETUP))
    if offered and tls in {Tls.REQUIRED, Tls.OFFERED}:
        await client.starttls()
        await client.ehlo()  # what was said in the clear counts for nothing (RFC 3207 §4.2)


async def _log_in(client: SMTP, server: SmtpServer) -> None:
    if server.username is None:
        return
    if not client.supported_auth_methods:
        log.warning("email.login_not_offered")
        raise NoService(Refused("smtp_auth_missing", Fault.SETUP))
    try:
        await client.login(server.username, server.password or "")
    except SMTPAuthenticationError as reply:
        log.warning("email.login_refused", code=reply.code)
        reason = f"smtp_auth_{reply.code}"
        raise NoService(Deferred(reason) if 400 <= reply.code < 500 else Refused(reason, Fault.SETUP)) from None


def _not_reached(failure: Exception) -> Deferred:
    cause = failure if isinstance(failure, ssl.SSLError) else failure.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        log.warning("email.certificate_refused", reason=cause.verify_message)
        return Deferred("smtp_certificate", fault=Fault.SETUP)
    return Deferred(reason_of(failure), fault=Fault.AWAY)


def reason_of(failure: Exception) -> str:
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
