"""A mailbox that answers are fetched from: one session with its IMAP server. Blocking, for a thread of its own.

A mail is left as it was until :meth:`ImapSession.done`, which comes after the commit.
Source: RFC 9051, RFC 2177 (IDLE), RFC 6851 (MOVE), RFC 4315 (UIDPLUS), RFC 5530 (response codes); docs/decisions/0020.
"""

from __future__ import annotations

import contextlib
import imaplib
import re
import socket
import threading
import time
from datetime import date

from imap_tools import AND, OR, BaseMailBox, ImapToolsError
from imap_tools.idle import get_socket_poller

from channels.email.imap_connecting import SECONDS, ImapAccount, connect, log_in, translated
from channels.email.limits import LARGEST_MAIL

KEYWORD = "$HandraiseDone"
"""What a mail is marked with beside ``\\Seen``, where the server keeps keywords: opening a mail does not hide it."""
_GLANCE_SECONDS = 1.0
"""How long an IDLE goes on after it was told to end."""
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")


class ImapSession:
    """Build with :meth:`open`. Every method raises :class:`ImapLost`, after which there is only :meth:`close`."""

    def __init__(self, account: ImapAccount, box: BaseMailBox) -> None:
        self._done_folder = account.done_folder
        self._box = box
        self._client = box.client
        self._abilities: frozenset[str] = frozenset()
        self._keeps_keywords = False
        self.uid_validity = ""

    @classmethod
    def open(cls, account: ImapAccount) -> ImapSession:
        """Connect, log in, select the folder."""
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
        """The UIDs of mails that have not been taken, oldest first: every unread one, and those that somebody has
        opened which came in ``since``."""
        with translated():
            self._told("EXISTS")  # what is told from here on has come after
            unread = OR(seen=False, date_gte=since) if self._keeps_keywords else AND(seen=False)
            wanted = AND(unread, no_keyword=KEYWORD, deleted=False) if self._keeps_keywords else unread
            return sorted(self._box.uids(str(wanted), charset=None), key=int)

    @property
    def has_heard(self) -> bool:
        """Whether the server has told of more since :meth:`waiting`."""
        return bool(self._told("EXISTS"))

    def size(self, uid: str) -> int | None:
        """Octets; ``None`` where the mail has vanished, or the server can't say."""
        with translated():
            _, said = self._client.uid("FETCH", uid, "(UID RFC822.SIZE)")
        items = [one for one in said or () if isinstance(one, bytes)]
        return next((int(found[1]) for one in items if (found := _SIZE.search(one))), None)

    def content(self, uid: str) -> bytes | None:
        """The mail as it lies there; ``None`` where it has vanished."""
        return self._fetch(uid, "BODY.PEEK[]")

    def head(self, uid: str) -> bytes | None:
        """Its header alone, cut where that is out of all measure."""
        return self._fetch(uid, f"BODY.PEEK[HEADER]<0.{LARGEST_MAIL}>")

    def _fetch(self, uid: str, part: str) -> bytes | None:
        with translated():
            _, said = self._client.uid("FETCH", uid, f"(UID {part})")
        return next((one[1] for one in said or () if isinstance(one, tuple)), None)

    # --- What was taken -------------------------------------------------------------------------------------------

    def done(self, uid: str) -> bool:
        """The mail is taken for good: mark it, and move it where it is to go. False where it can't go there."""
        with translated():
            marks = f"(\\Seen {KEYWORD})" if self._keeps_keywords else "(\\Seen)"
            if not self._store(uid, marks):
                self._keeps_keywords = False
                self._store(uid, "(\\Seen)")
            return self._done_folder is None or self._is_moved(uid, self._done_folder)

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
        """Until the server tells of a mail, ``seconds`` are over, or soon after ``stop``."""
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
        """The lines that can be read without waiting, those among them that the library has read ahead."""
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
        """From another thread: whatever the session waits for, it waits no longer."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._client.sock, socket.SHUT_RDWR)
