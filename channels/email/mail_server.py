"""The mail server for outgoing mail: its address, and the TLS that it needs. Pure.

:func:`is_loopback` says whether a host is this very machine, so that nothing crosses a network.

Source: API.md §8 (``HANDRAISE_EMAIL__SMTP_URL``); RFC 3207 (STARTTLS), RFC 8314 §3.3 (implicit TLS).
"""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from core.errors import ConfigError


def is_loopback(host: str) -> bool:
    """By its name or its address; no other name is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Tls(StrEnum):
    """``required`` if a password is sent to another machine; ``offered`` uses STARTTLS if the server has it."""

    IMPLICIT = "implicit"
    REQUIRED = "required"
    OFFERED = "offered"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Security:
    """``authorities`` is a PEM file of a private CA, trusted beside the public ones. ``required``: every mail goes
    over TLS or not at all, even to this machine."""

    authorities: Path | None = None
    required: bool = False


DEFAULT_SECURITY = Security()


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The server that takes our mail. Made from a URL by :meth:`parse`."""

    host: str
    port: int
    tls: Tls
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    context: ssl.SSLContext | None = field(default=None, repr=False, compare=False)

    @classmethod
    def parse(cls, url: str, security: Security = DEFAULT_SECURITY) -> SmtpServer:
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
        elif security.required:
            tls = Tls.REQUIRED
        elif is_loopback(host):
            tls = Tls.NONE
        else:
            tls = Tls.REQUIRED if username else Tls.OFFERED
        context = None if tls is Tls.NONE and security.authorities is None else tls_context(security.authorities)
        return cls(host, port or (465 if implicit else 25), tls, username, password, context)


def tls_context(authorities: Path | None) -> ssl.SSLContext:
    """Certificates are always verified, host name and dates included. One context for every connection: reading the
    public authorities takes tens of milliseconds. Raises :class:`ConfigError` if ``authorities`` can't be used."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authorities is not None:
        try:
            context.load_verify_locations(cafile=authorities)
        except OSError as problem:  # an SSLError is one: no certificate in it
            reason = problem.strerror if not isinstance(problem, ssl.SSLError) else "no PEM certificate in it"
            raise ConfigError(f"email.tls_ca: {authorities} can't be used ({reason}).") from None
    return context
