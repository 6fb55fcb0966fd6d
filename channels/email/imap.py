"""IMAP: fetches answers from a mailbox. Its address, the login, and one session. Blocking, for a thread.

:class:`ImapServer` is ``email.imap_url`` and its TLS requirement. :func:`connect` connects, encrypts and logs in, or
says what failed. In an :class:`ImapSession` a mail is unchanged until :meth:`ImapSession.done`, which is called after
the commit.

Source: API.md §8 (``HANDRAISE_EMAIL__IMAP_URL``); RFC 9051 §6.2, RFC 8314 §3.2 (implicit TLS), RFC 2177 (IDLE), RFC
6851 (MOVE), RFC 4315 (UIDPLUS), RFC 5530 (response codes); docs/decisions/0020.
"""

from __future__ import annotations

import contextlib
import hashlib
import imaplib
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from imap_tools import AND, OR, BaseMailBox, ImapToolsError, MailBox, MailBoxStartTls, MailBoxUnencrypted
from imap_tools.errors import MailboxFolderSelectError
from imap_tools.idle import get_socket_poller

from channels.email.lmtp_server import LARGEST_MAIL
from channels.email.mail_server import is_loopback

LOOKS_LIKE = "must look like imap://user:password@host:143/INBOX or imaps://user:password@host"


class ImapTls(StrEnum):
    """Nothing goes over a network unencrypted; on this machine plain text is allowed."""

    IMPLICIT = "implicit"
    STARTTLS = "starttls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ImapServer:
    """``password`` is ``None`` if a token is used instead. Made from a URL by :meth:`parse`."""

    host: str
    port: int
    tls: ImapTls
    username: str = field(repr=False)
    password: str | None = field(repr=False)
    folder: str

    @classmethod
    def parse(cls, url: str) -> ImapServer:
        """Raises :class:`ValueError`, whose text continues the setting's name; never repeats the URL."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:  # a port that is no number, brackets that don't close
            raise ValueError(LOOKS_LIKE) from None
        username, folder = unquote(parts.username or ""), unquote(parts.path.strip("/")) or "INBOX"
        password = unquote(parts.password) if parts.password else None
        if parts.scheme not in {"imap", "imaps"} or not host or not username or parts.query or parts.fragment:
            raise ValueError(LOOKS_LIKE)
        if port == 0 or not all(one.isprintable() for one in (username, password or "", folder)):
            raise ValueError(LOOKS_LIKE)
        implicit = parts.scheme == "imaps"
        if port == 993 and not implicit:  # where TLS is spoken from the first octet
            raise ValueError(LOOKS_LIKE)
        plain = ImapTls.NONE if is_loopback(host) else ImapTls.STARTTLS
        default = 993 if implicit else 143
        return cls(host, port or default, ImapTls.IMPLICIT if implicit else plain, username, password, folder)


SECONDS = 20.0
"""For the connection and for each reply."""
_SHORTLY = re.compile(rb"\[(?:UNAVAILABLE|INUSE|LIMIT|SERVERBUG)", re.IGNORECASE)


class ImapLost(Exception):
    """The mailbox can't be read. ``reason`` is a stable code; ``lasting``: until somebody mends something. It
    repeats nothing that the server said."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class ImapAccount:
    """A mailbox's account. ``token_file`` holds an OAuth 2.0 access token; handled mail moves to ``done_folder``;
    ``trusted`` are the certificate authorities, by default the public ones."""

    server: ImapServer = field(repr=False)
    token_file: Path | None = None
    done_folder: str | None = None
    trusted: ssl.SSLContext | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """A name that tells the mailbox from others, and reveals nothing about it."""
        server = self.server
        whole = f"{server.host}|{server.port}|{server.username}|{server.folder}"
        return hashlib.sha256(whole.encode()).hexdigest()[:16]


def log_in(box: BaseMailBox, account: ImapAccount) -> None:
    """Log in by token or password. Raises :class:`ImapLost`."""
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
    """A connection as safe as required, not logged in. Raises :class:`ImapLost`."""
    server, trusted = account.server, account.trusted or ssl.create_default_context()
    with translated():
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
    """Turns the library's errors into :class:`ImapLost`."""
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


KEYWORD = "$HandraiseDone"
"""What a mail is marked with beside ``\\Seen``, where the server keeps keywords: opening a mail does not hide it."""
_GLANCE_SECONDS = 1.0
"""How long an IDLE goes on after it was told to end."""
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")


class FiledMail(NamedTuple):
    """The state of a handled mail: whether it bears a mark, and whether it was moved."""

    marked: bool
    moved: bool


class ImapSession:
    """Build with :meth:`open`. Every method may raise :class:`ImapLost`; then only :meth:`close` is left."""

    def __init__(self, account: ImapAccount, box: BaseMailBox) -> None:
        self._done_folder = account.done_folder
        self._box = box
        self._client = box.client
        self._abilities: frozenset[str] = frozenset()
        self._keeps_keywords = False
        self.uid_validity = ""

    @classmethod
    def open(cls, account: ImapAccount) -> ImapSession:
        session = cls(account, connect(account))
        try:
            log_in(session._box, account)
            with translated():
                session._select(account.server.folder)
        except BaseException:
            session.close()
            raise
        return session

    def _select(self, folder: str) -> None:
        _, said = self._client.capability()
        self._abilities = frozenset(b" ".join(one for one in said if one).decode("ascii", "replace").upper().split())
        self._box.folder.set(folder)
        self.uid_validity = self._told("UIDVALIDITY")
        flags = self._told("PERMANENTFLAGS")
        self._keeps_keywords = "\\*" in flags or KEYWORD.casefold() in flags.casefold()

    def _told(self, name: str) -> str:
        _, said = self._client.response(name)
        return said[0].decode("ascii", "replace") if said and isinstance(said[0], bytes) else ""

    # --- What waits -----------------------------------------------------------------------------------------------

    def waiting(self, since: date) -> list[str]:
        """The UIDs of mails not yet handled, oldest first: every unread mail, and opened mails that came in
        ``since``."""
        with translated():
            self._told("EXISTS")  # what is told from here on has come after
            unread = OR(seen=False, date_gte=since) if self._keeps_keywords else AND(seen=False)
            wanted = AND(unread, no_keyword=KEYWORD, deleted=False) if self._keeps_keywords else unread
            return sorted(self._box.uids(str(wanted), charset=None), key=int)

    @property
    def has_heard(self) -> bool:
        """Whether the server has announced more mail since :meth:`waiting`."""
        return bool(self._told("EXISTS"))

    def size(self, uid: str) -> int | None:
        """Octets; ``None`` if the mail has vanished, or the server can't say."""
        with translated():
            _, said = self._client.uid("FETCH", uid, "(UID RFC822.SIZE)")
        items = [one for one in said or () if isinstance(one, bytes)]
        return next((int(found[1]) for one in items if (found := _SIZE.search(one))), None)

    def content(self, uid: str) -> bytes | None:
        """The mail's bytes; ``None`` if it has vanished."""
        return self._fetch(uid, "BODY.PEEK[]")

    def head(self, uid: str) -> bytes | None:
        """Its header alone, cut if it is far too long."""
        return self._fetch(uid, f"BODY.PEEK[HEADER]<0.{LARGEST_MAIL}>")

    def _fetch(self, uid: str, part: str) -> bytes | None:
        with translated():
            _, said = self._client.uid("FETCH", uid, f"(UID {part})")
        return next((one[1] for one in said or () if isinstance(one, tuple)), None)

    # --- What was taken -------------------------------------------------------------------------------------------

    def done(self, uid: str) -> FiledMail:
        """The mail is handled for good: mark it, and move it if so configured."""
        with translated():
            marks = f"(\\Seen {KEYWORD})" if self._keeps_keywords else "(\\Seen)"
            marked = self._store(uid, marks)
            if not marked:
                self._keeps_keywords = False
                marked = self._store(uid, "(\\Seen)")
            return FiledMail(marked, self._done_folder is None or self._is_moved(uid, self._done_folder))

    def _is_moved(self, uid: str, folder: str) -> bool:
        try:
            self._move(uid, folder)
        except imaplib.IMAP4.abort:
            raise
        except (imaplib.IMAP4.error, ImapToolsError):  # no room or no right; the mark is enough
            return False
        return True

    def _store(self, uid: str, flags: str) -> bool:
        try:
            said, _ = self._client.uid("STORE", uid, "+FLAGS.SILENT", flags)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error:
            return False
        return said == "OK"

    def _move(self, uid: str, folder: str) -> None:
        if not self._box.folder.exists(folder):
            self._box.folder.create(folder)
        if "MOVE" in self._abilities:
            self._box.client.capabilities = tuple(self._abilities)  # what it read before the login lacks some
            self._box.move([uid], folder)
            return
        self._box.copy([uid], folder)
        self._store(uid, "(\\Deleted)")
        if "UIDPLUS" in self._abilities:  # a bare EXPUNGE would take others' deleted mails with it
            self._client.uid("EXPUNGE", uid)

    # --- Waiting --------------------------------------------------------------------------------------------------

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Wait until the server announces a mail, ``seconds`` are over, or soon after ``stop``."""
        if "IDLE" not in self._abilities:
            stop.wait(seconds)
            return
        until = time.monotonic() + seconds
        with translated():
            idle = self._box.idle
            idle.start()  # type: ignore[no-untyped-call]
            told = self._at_hand()
            while not any(b" EXISTS" in line for line in told) and time.monotonic() < until and not stop.is_set():
                if not get_socket_poller(self._client.sock, int(_GLANCE_SECONDS)):
                    continue
                told = self._at_hand()
                if not told:  # the server has closed the connection; the next command says so
                    break
            idle.stop()  # type: ignore[no-untyped-call]

    def _at_hand(self) -> list[bytes]:
        """The lines that can be read without waiting, including those that the library has read ahead."""
        told: list[bytes] = []
        self._client.sock.settimeout(0)
        try:
            while True:
                told.append(self._client._get_line())
        except (OSError, imaplib.IMAP4.abort):  # there is no more now
            return told
        finally:
            self._client.sock.settimeout(SECONDS)

    def close(self) -> None:
        with contextlib.suppress(OSError, imaplib.IMAP4.error, ImapToolsError):
            self._box.logout()

    def abandon(self) -> None:
        """Called from another thread: ends any wait of the session."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._client.sock, socket.SHUT_RDWR)
