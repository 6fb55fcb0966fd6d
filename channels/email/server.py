"""Where mail is handed over, and how safe the way there has to be. Pure.

Source: API.md §8 (``HANDRAISE_EMAIL__SMTP_URL``); RFC 3207 (STARTTLS), RFC 8314 §3.3 (implicit TLS).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from core.errors import ConfigError


class Tls(StrEnum):
    """``required`` where a password is sent to another machine; ``offered`` takes STARTTLS where there is one."""

    IMPLICIT = "implicit"
    REQUIRED = "required"
    OFFERED = "offered"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where mail is handed over. Read from a URL with :meth:`parse`."""

    host: str
    port: int
    tls: Tls
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> SmtpServer:
        """``smtp://user:pw@host:25`` or ``smtps://…``; raises :class:`ConfigError`, which never repeats the URL."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise ConfigError("email.smtp_url is no URL.") from None
        if parts.scheme not in {"smtp", "smtps"} or not host:
            raise ConfigError("email.smtp_url must look like smtp://user:password@host:25 or smtps://…")
        implicit = parts.scheme == "smtps"
        username = unquote(parts.username) if parts.username else None
        password = unquote(parts.password) if parts.password else None
        if implicit:
            tls = Tls.IMPLICIT
        elif _is_loopback(host):
            tls = Tls.NONE
        else:
            tls = Tls.REQUIRED if username else Tls.OFFERED
        return cls(host, port or (465 if implicit else 25), tls, username, password)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
