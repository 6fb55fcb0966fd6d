"""The network as seen from this machine: whether an address can be reached, and what it replies. Sends only a GET.

No proxy of the environment is used and no redirect followed, as in the service.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from bot.callbacks.client import Resolve

_MOST_READ = 64 * 1024


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """``body`` is the beginning of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Unreached(Exception):
    """No reply from there. ``why`` is a part of a sentence, and repeats no path of a URL. ``by_certificate``: the
    certificate is not trusted. ``nobody``: the machine is there, and nothing listens."""

    def __init__(self, why: str, *, by_certificate: bool = False, nobody: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.by_certificate = by_certificate
        self.nobody = nobody


@dataclass(frozen=True, slots=True)
class Network:
    """``resolve`` resolves names, ``trusted`` are the certificate authorities."""

    resolve: Resolve
    trusted: Callable[[], ssl.SSLContext]

    async def get(self, url: str) -> HttpAnswer:
        """The reply to a GET. Raises :class:`Unreached`."""
        try:
            connector = aiohttp.TCPConnector(resolver=_Names(self.resolve), use_dns_cache=False, ssl=self.trusted())
            async with (
                aiohttp.ClientSession(connector=connector, trust_env=False) as session,
                session.get(url, allow_redirects=False) as response,
            ):
                return HttpAnswer(response.status, response.headers, await response.content.read(_MOST_READ))
        except (aiohttp.ClientError, OSError, ValueError) as failure:
            raise _unreached(failure) from None

    async def connect(self, url: str, address: str | None = None) -> None:
        """Open and close a connection to the host of ``url``, encrypted if the URL says so. ``address`` is the
        host's, if it was resolved already. Raises :class:`Unreached`."""
        host, port, tls = place_of(url)
        try:
            at = address or (await self.resolve(host, port))[0]
            context = self.trusted() if tls else None
            _, writer = await asyncio.open_connection(at, port, ssl=context, server_hostname=host if tls else None)
            writer.close()
        except (OSError, ValueError, IndexError) as failure:
            raise _unreached(failure) from None


def place_of(url: str) -> tuple[str, int, bool]:
    """Host, port, and whether it speaks TLS. Raises ``ValueError``."""
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    return parts.hostname or "", parts.port or (443 if tls else 80), tls


_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    # The first that fits counts.
    (socket.gaierror, "the name does not resolve"),
    (TimeoutError, "there is no answer"),
    (OSError, "the connection fails"),
)


def _unreached(failure: BaseException) -> Unreached:
    if isinstance(failure, aiohttp.ClientConnectorCertificateError):
        return _unreached(failure.certificate_error)
    if isinstance(failure, aiohttp.ClientConnectorError):
        return _unreached(failure.os_error)
    if isinstance(failure, ssl.SSLCertVerificationError):
        return Unreached(f"its certificate does not hold ({failure.verify_message})", by_certificate=True)
    if isinstance(failure, ConnectionRefusedError):
        return Unreached("nobody listens there", nobody=True)
    if isinstance(failure, ssl.SSLError):
        return Unreached("it does not speak TLS", by_certificate=True)
    return Unreached(next((why for kind, why in _REASONS if isinstance(failure, kind)), "what answers speaks no HTTP"))


class _Names(AbstractResolver):
    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._resolve(host, port)
        ]

    async def close(self) -> None:
        """Nothing is kept."""
