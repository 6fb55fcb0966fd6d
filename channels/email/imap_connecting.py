"""The way into a mailbox that answers are fetched from: reached, encrypted, logged in; or what it means that it is not.
Blocking, for a thread of its own.

Source: RFC 9051 §6.2, RFC 8314 §3.2, RFC 5530 (response codes); docs/decisions/0020.
"""

from __future__ import annotations

import contextlib
import hashlib
import imaplib
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from imap_tools import BaseMailBox, ImapToolsError, MailBox, MailBoxStartTls, MailBoxUnencrypted
from imap_tools.errors import MailboxFolderSelectError

from channels.email.imap_server import ImapServer, ImapTls

SECONDS = 20.0
"""For the connection and for each reply."""
_SHORTLY = re.compile(rb"\[(?:UNAVAILABLE|INUSE|LIMIT|SERVERBUG)", re.IGNORECASE)


class ImapLost(Exception):
    """The mailbox can't be looked into. ``reason`` is stable; ``lasting``: until somebody mends something. It repeats
    nothing that the server said."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class ImapAccount:
    """Whose mailbox it is. ``token_file`` holds an OAuth 2.0 access token; ``done_folder`` takes what was taken;
    ``trusted`` says whose certificates are believed, by default the public authorities'."""

    server: ImapServer = field(repr=False)
    token_file: Path | None = None
    done_folder: str | None = None
    trusted: ssl.SSLContext | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Names the mailbox among all, and says nothing about it."""
        server = self.server
        return hashlib.sha256(f"{server.host}|{server.port}|{server.username}|{server.folder}".encode()).hexdigest()[
            :16
        ]


def log_in(box: BaseMailBox, account: ImapAccount) -> None:
    """By token or password. Raises :class:`ImapLost`."""
    server = account.server
    try:
        token = account.token_file.read_text().strip() if account.token_file is not None else None
    except (OSError, UnicodeDecodeError):
        raise ImapLost("token_file_unreadable", lasting=True) from None
    try:
        if token is not None:
            box.xoauth2(server.username, token, initial_folder=None)
        elif f"{server.username}{server.password}".isascii():
            box.login(server.username, server.password or "", initial_folder=None)
        else:
            box.login_utf8(server.username, server.password or "", initial_folder=None)
    except imaplib.IMAP4.abort:
        raise ImapLost("connection_lost") from None
    except (imaplib.IMAP4.error, ImapToolsError) as refused:
        shortly = _SHORTLY.search(str(refused).encode()) is not None
        raise ImapLost("login_refused", lasting=not shortly) from None
    except OSError:
        raise ImapLost("connection_lost") from None


def connect(account: ImapAccount) -> BaseMailBox:
    """As safe as it has to be, not logged in. Raises :class:`ImapLost`."""
    with translated():
        return _connect(account.server, account.trusted or ssl.create_default_context())


def _connect(server: ImapServer, trusted: ssl.SSLContext) -> BaseMailBox:
    match server.tls:
        case ImapTls.IMPLICIT:
            return MailBox(server.host, server.port, timeout=SECONDS, ssl_context=trusted)
        case ImapTls.STARTTLS:
            try:
                return MailBoxStartTls(server.host, server.port, timeout=SECONDS, ssl_context=trusted)
            except imaplib.IMAP4.error as failed:
                if "TLS not supported" not in str(failed):  # the library's own words
                    raise
                raise ImapLost("tls_not_offered", lasting=True) from None
        case ImapTls.NONE:
            return MailBoxUnencrypted(server.host, server.port, timeout=SECONDS)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """What a library raises, as what it means."""
    try:
        yield
    except MailboxFolderSelectError:
        raise ImapLost("folder_not_selected", lasting=True) from None
    except imaplib.IMAP4.readonly:
        raise ImapLost("folder_read_only", lasting=True) from None
    except imaplib.IMAP4.abort:
        raise ImapLost("connection_lost") from None
    except (imaplib.IMAP4.error, ImapToolsError):
        raise ImapLost("command_refused") from None
    except ssl.SSLCertVerificationError:
        raise ImapLost("certificate_refused", lasting=True) from None
    except ssl.SSLError:
        raise ImapLost("tls_failed") from None
    except TimeoutError:
        raise ImapLost("timed_out") from None
    except OSError:
        raise ImapLost("unreachable") from None
