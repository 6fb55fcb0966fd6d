"""Certificates made for one run, and the authority that has signed some of them."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

HERE = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Authority:
    """Signs certificates; clients that know :attr:`file` believe them."""

    folder: Path
    signs: trustme.CA = field(default_factory=trustme.CA)

    def __post_init__(self) -> None:
        self.signs.cert_pem.write_to_path(str(self.file))

    @property
    def file(self) -> Path:
        return self.folder / "ca.pem"

    def server(self, *names: str, days: int = 2) -> ssl.SSLContext:
        """What a server with a certificate for ``names`` (this machine where there are none) speaks TLS with."""
        until = datetime.now(UTC) + timedelta(days=days)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.signs.issue_cert(*(names or HERE), not_after=until).configure_cert(context)
        return context


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server whose certificate nobody but itself has signed."""
    itself = trustme.CA()
    file = folder / "self-signed.pem"
    file.write_bytes(itself.private_key_pem.bytes() + itself.cert_pem.bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
