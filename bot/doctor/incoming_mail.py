"""Checks of incoming mail: the mailbox, the listener, posted mail; and whether our mail server vouches for senders.

The mailbox is opened read-only (EXAMINE): no mail is read or marked. The listener's port is only connected to.

Source: RFC 9051 §6.3.3 (EXAMINE), RFC 2177 (IDLE), RFC 8601 (Authentication-Results).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.config.values import mailbox_of
from bot.doctor.examination import Examination, aside
from bot.doctor.findings import Finding, fault, ok, quoted, warning
from bot.vendors.email import Email
from channels.email.authentication import LAST_REPLY, LastReply, SenderAuth
from channels.email.imap import ImapAccount, ImapLost, ImapServer, connect, log_in, translated
from channels.email.lmtp_server import ListenAddress
from channels.email.mail_server import tls_context
from core.errors import ConfigError

IMAP, LISTEN, POSTED, REPLIES, AUTHENTICATION = (
    "email.imap",
    "email.listen",
    "email.inbound",
    "email.replies",
    "email.authentication",
)

_GREETING_SECONDS = 5.0
_SHORTEST_SECRET = 16
_MENDS: Mapping[str, tuple[str, str]] = {
    "unreachable": ("is not reached", "Correct host and port of email.imap_url (993 for imaps://, 143 for imap://)."),
    "timed_out": ("does not answer", "Open the firewall to it (993 for imaps://, 143 for imap://)."),
    "connection_lost": ("hangs up", "Use imaps:// for port 993, imap:// for port 143."),
    "tls_failed": ("speaks no TLS there", "Use imaps:// for port 993, imap:// for port 143."),
    "tls_not_offered": ("offers no STARTTLS", "Use imaps:// and port 993: no password goes unencrypted."),
    "certificate_refused": (
        "has a certificate that does not hold",
        "Use the name that stands in the certificate, or name a private authority's file in email.tls_ca.",
    ),
    "login_refused": ("refuses the login", "Correct user and password in email.imap_url, or renew the token."),
    "token_file_unreadable": ("is not asked: there is no token", "Make email.imap_token_file readable."),
    "folder_not_selected": ("has no such folder", "Name a folder that is there: imaps://user:password@host/INBOX."),
}


async def incoming_mail(examined: Examination) -> Sequence[Finding]:
    mail = examined.settings.of(Email)
    if mail is None:
        return []
    if not mail.has_door:
        return [ok(REPLIES, "mails ask for no reply: people answer by the links in them")]
    found: list[Finding] = []
    if mail.imap_url is not None:
        found.append(await aside(lambda: _mailbox(mail, mail.imap_url or "", examined.folder)))
    if mail.listen is not None:
        found.append(await _listener(mail, ListenAddress.parse(mail.listen)))
    if mail.inbound_secret is not None:
        found.append(_posted(mail.inbound_secret, examined.settings.public_url))
    return [*found, await _authentication(examined, mail)]


# --- The mailbox --------------------------------------------------------------------------------------------------


def _mailbox(mail: Email, url: str, folder: Path) -> Finding:
    """Blocks, because the library does."""
    server = ImapServer.parse(url)
    place = f"{server.host}:{server.port}"
    try:
        trusted = tls_context(folder / mail.tls_ca) if mail.tls_ca is not None else None
        token_file = folder / mail.imap_token_file if mail.imap_token_file is not None else None
        idles = _idles(ImapAccount(server, token_file, trusted=trusted))
    except ConfigError as error:
        return fault(IMAP, error.message, "Correct that setting.")
    except ImapLost as lost:
        what, mend = _MENDS.get(lost.reason, ("can't be used", "Ask whoever runs the mail server."))
        return fault(IMAP, f"{place} {what} ({lost.reason})", mend)
    if not idles:
        found = f"{place} tells of no new mail (no IDLE): replies wait up to {mail.imap_poll_seconds} s"
        return warning(IMAP, found, "Lower email.imap_poll_seconds, or use a server with IDLE.")
    return ok(IMAP, f"{place}: logged in, folder {quoted(server.folder)}, IDLE")


def _idles(account: ImapAccount) -> bool:
    """Whether the server has IDLE, after the login and once the folder is open. Raises :class:`ImapLost`."""
    box = connect(account)
    try:
        log_in(box, account)
        with translated():
            box.folder.set(account.server.folder, readonly=True)
            _, said = box.client.capability()
        return b"IDLE" in b" ".join(one for one in said if isinstance(one, bytes)).upper().split()
    finally:
        with contextlib.suppress(OSError):
            box.client.shutdown()  # without LOGOUT: its reply may take as long as any


# --- The listener and posted mail ---------------------------------------------------------------------------------


async def _listener(mail: Email, address: ListenAddress) -> Finding:
    """Its port is free, or ours."""
    place = f"{address.host}:{address.port}"
    try:
        greeting = await _greeting(address)
    except ConnectionRefusedError:
        return _bindable(address, place)
    except (OSError, TimeoutError):
        greeting = ""
    ours = f"220 {mailbox_of(mail.sender).rpartition('@')[2].lower()} "
    if greeting.startswith(ours):
        return ok(LISTEN, f"the service listens at {place}")
    found = f"another program listens at {place}: {quoted(greeting)}"
    return fault(LISTEN, found, "Stop that program, or set email.listen to a free port.")


async def _greeting(address: ListenAddress) -> str:
    async with asyncio.timeout(_GREETING_SECONDS):
        reader, writer = await asyncio.open_connection(address.host, address.port, limit=1024)
        try:
            return (await reader.read(512)).decode("utf-8", "replace").strip()
        finally:
            writer.close()


def _bindable(address: ListenAddress, place: str) -> Finding:
    """Nothing listens there. The service may still not be able to."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address.host, address.port))
        except OSError as failure:
            mend = "Set email.listen to an address of this machine and a port above 1023."
            return fault(LISTEN, f"{place} can't be listened on: {failure.strerror}", mend)
    return ok(LISTEN, f"{place} is free; the service listens there when it runs")


def _posted(secret: str, public_url: str) -> Finding:
    if len(secret) < _SHORTEST_SECRET:
        found = f"email.inbound_secret has fewer than {_SHORTEST_SECRET} characters: who guesses it can answer"
        return warning(POSTED, found, "Make one with `openssl rand -hex 32`, here and in whatever posts mail.")
    return ok(POSTED, f"mail is posted to {public_url.rstrip('/')}/email/inbound")


# --- Who vouches for senders --------------------------------------------------------------------------------------


async def _authentication(examined: Examination, mail: Email) -> Finding:
    """Whether the last reply had our own mail server's verdict on its sender."""
    mode = SenderAuth(mail.sender_auth)
    if mode is SenderAuth.LINK_ONLY:
        return ok(AUTHENTICATION, "replies decide nothing (sender_auth: link_only)")
    if mode is SenderAuth.TOKEN_ONLY:
        found = "senders are not authenticated: whoever learns a reply address answers in its owner's name"
        return warning(AUTHENTICATION, found, "Set email.sender_auth to dmarc, if your mail server checks DMARC.")
    stored = await examined.stored_if_any()
    written = (stored.learned or {}).get(LAST_REPLY) if stored is not None else None
    if written is None:
        mend = "Run `handraise doctor --send you@example.com --channel email`, reply to the mail, and run this again."
        return warning(AUTHENTICATION, f"no reply has come in yet: nothing shows that {mail.authserv_id} vouches", mend)
    return _vouched(LastReply.read(written), mail.authserv_id)


def _vouched(last: LastReply, ours: str) -> Finding:
    when = f"{last.at:%Y-%m-%d %H:%M} UTC"
    if ours.lower() in last.names:
        return ok(AUTHENTICATION, f"{ours} vouched for the sender of the last reply ({when})")
    if not last.names:
        found = f"the last reply ({when}) had no Authentication-Results: no reply can count"
        return fault(AUTHENTICATION, found, "Have your mail server check DMARC and write them (rspamd, opendmarc).")
    seen = ", ".join(map(quoted, last.names))
    found = f"the last reply ({when}) names {seen}, and email.authserv_id is {ours}"
    mend = "If one of these is your own mail server, set email.authserv_id to it. If none is, have yours write its own."
    return fault(AUTHENTICATION, found, mend)
