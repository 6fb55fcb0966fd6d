"""The mailbox that answers are fetched from, as ``email.imap_url`` has it, and how safe the way there has to be. Pure.

Source: API.md §8 (``HANDRAISE_EMAIL__IMAP_URL``); RFC 8314 §3.2 (implicit TLS), RFC 9051 §6.2.1 (STARTTLS).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from channels.email.loopback import is_loopback

LOOKS_LIKE = "must look like imap://user:password@host:143/INBOX or imaps://user:password@host"


class ImapTls(StrEnum):
    """Nothing goes over a network unencrypted; on this machine nobody listens."""

    IMPLICIT = "implicit"
    STARTTLS = "starttls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ImapServer:
    """``password`` is ``None`` where a token stands in for it. Read from a URL with :meth:`parse`."""

    host: str
    port: int
    tls: ImapTls
    username: str = field(repr=False)
    password: str | None = field(repr=False)
    folder: str

    @classmethod
    def parse(cls, url: str) -> ImapServer:
        """Raises :class:`ValueError` with the end of the sentence that begins with the key; never repeats the URL."""
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
