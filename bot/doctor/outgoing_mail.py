"""Checks of the outgoing mail server, by the service's own steps: connect, encrypt, log in.

No mail is sent. The server's own words are not repeated: its codes say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aiosmtplib import SMTP, SMTPException

from bot.config.values import mailbox_of
from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, warning
from bot.vendors.email import Email
from channels.email.mail_server import Security, SmtpServer, Tls, is_loopback
from channels.email.render import LARGEST_SENT
from channels.email.smtp import NoService, connected
from core.errors import ConfigError

SMTP_SERVER, SIZE = "email.smtp", "email.size"

_MENDS: Mapping[str, tuple[str, str]] = {
    "smtp_timeout": (
        "does not answer",
        "Correct host and port of email.smtp_url, or open the firewall (587 or 465).",
    ),
    "smtp_unreachable": ("is not reached", "Correct host and port of email.smtp_url, or start the mail server."),
    "smtp_disconnected": ("hangs up", "Use smtp:// for port 25 and 587, smtps:// for port 465."),
    "smtp_unusable": ("speaks no SMTP", "Use smtp:// for port 25 and 587, smtps:// for port 465."),
    "smtp_tls": ("speaks no TLS there", "Use smtp:// for port 25 and 587, smtps:// for port 465."),
    "smtp_certificate": (
        "has a certificate that does not hold",
        "Use the name that stands in the certificate, or name a private authority's file in email.tls_ca.",
    ),
    "smtp_starttls_missing": (
        "offers no STARTTLS, and mail has to be encrypted",
        "Use smtps:// and port 465, or have the server offer STARTTLS.",
    ),
    "smtp_auth_missing": ("takes no login", "Take user and password out of email.smtp_url, or use port 587."),
}


def largest(client: SMTP) -> int | None:
    """The largest mail in octets by SIZE (RFC 1870), ``None`` if the server does not say or says "any"."""
    said = client.esmtp_extensions.get("size", "").split()
    return int(said[0]) or None if said and said[0].isascii() and said[0].isdigit() else None


async def outgoing_mail(examined: Examination) -> Sequence[Finding]:
    mail = examined.settings.of(Email)
    if mail is None:
        return []
    try:
        server = SmtpServer.parse(mail.smtp_url, _security(mail, examined.folder))
    except ConfigError as error:
        return [fault(SMTP_SERVER, error.message, "Correct that setting.")]
    place = f"{server.host}:{server.port}"
    try:
        client = await connected(server, mailbox_of(mail.sender).rpartition("@")[2])
    except NoService as refused:
        return [_refused(place, getattr(refused.outcome, "reason", ""))]
    try:
        return [_connected(place, server, client), _extensions(place, client)]
    finally:
        await _leave(client)


def _security(mail: Email, folder: Path) -> Security:
    return Security(None if mail.tls_ca is None else folder / mail.tls_ca, mail.require_tls)


async def _leave(client: SMTP) -> None:
    try:
        await client.quit(timeout=1)
    except (SMTPException, OSError):
        client.close()


def _refused(place: str, reason: str) -> Finding:
    what, mend = _MENDS.get(reason, ("", ""))
    if reason.startswith("smtp_auth_") and not what:
        what, mend = "refuses the login", "Correct user and password in email.smtp_url (a @ in them is %40)."
    if not what:
        what, mend = "does not serve us", "Ask whoever runs the mail server to let this machine send."
    return fault(SMTP_SERVER, f"{place} {what} ({reason})", mend)


def _connected(place: str, server: SmtpServer, client: SMTP) -> Finding:
    is_encrypted = client.get_transport_info("sslcontext") is not None
    if not is_encrypted and not is_loopback(server.host) and server.tls is Tls.OFFERED:
        found = f"{place} takes mail without encryption: whoever is on the way reads links that answer"
        return warning(SMTP_SERVER, found, "Have it offer STARTTLS, or use smtps://; then set email.require_tls.")
    done = ["connected", *(["encrypted"] if is_encrypted else []), *(["logged in"] if server.username else [])]
    return ok(SMTP_SERVER, f"{place}: {', '.join(done)}")


def _extensions(place: str, client: SMTP) -> Finding:
    most = largest(client)
    reports = "and reports failed deliveries at once (DSN)" if client.supports_extension("dsn") else "and has no DSN"
    if most is not None and most < LARGEST_SENT:
        found = f"{place} takes mails of {most:,} bytes, and ours may have {LARGEST_SENT:,}"
        return fault(SIZE, found, f"Have it take {LARGEST_SENT:,} bytes (postfix: message_size_limit).")
    taken = "of any size" if most is None else f"of {most:,} bytes (ours have at most {LARGEST_SENT:,})"
    return ok(SIZE, f"{place} takes mails {taken} {reports}")
