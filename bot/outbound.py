"""Calls to addresses that a client chose: callbacks and subscriptions. Only the public internet, unless allowed.

What counts is the address that a connection is really made to, at the moment it is made. A name is looked up once for
each connection and only an address that was checked is used, so that a name that changes its mind in between
(DNS rebinding) gains nothing; TLS still verifies the name. Redirects are nobody's business here: the transport returns
them as they are. Proxies of the environment are not used.

Source: API.md §5.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from ipaddress import ip_address

import httpcore
import httpx

from bot.addresses import Network, literal, may_reach

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

LONGEST_URL = 2000
MOST_ADDRESSES = 4
"""Of one name; each gets its share of the time to connect in."""


class AddressRefused(httpx.ConnectError):
    """The address may not be reached from here. Nothing was sent."""


def check_url(url: str, allow: Sequence[Network] = ()) -> str | None:
    """Why ``url`` may not be called, as one sentence; ``None`` where it may. Names are not looked up.

    A name that leads out of bounds, or nowhere yet, is found out when it is called.
    """
    if len(url) > LONGEST_URL:
        return f"A URL has at most {LONGEST_URL} characters."
    try:
        parsed = httpx.URL(url)
        return _problem(parsed, parsed.raw_host.decode("ascii"), allow)
    except (httpx.InvalidURL, ValueError):
        return "The URL can't be read."


def _problem(parsed: httpx.URL, host: str, allow: Sequence[Network]) -> str | None:
    if parsed.scheme not in {"http", "https"}:
        return "Only http and https URLs can be called."
    if not host:
        return "The URL names no host."
    if parsed.userinfo:
        return "The URL may not hold a user name or a password."
    if parsed.port is not None and not 0 < parsed.port < 65536:
        return "The URL's port is out of range."
    addresses = literal(host)
    if addresses and not any(may_reach(address, allow) for address in addresses):
        return f"The address {host} is not public, and resume.allow_networks does not list it."
    return None


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of ``host``, best first; raises ``OSError`` where it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only."""

    def __init__(self, allow: Sequence[Network], resolve: Resolve) -> None:
        self._allow = tuple(allow)
        self._resolve = resolve
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (httpcore's signature)
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._checked(host, port, timeout)
        share = timeout / len(addresses) if timeout is not None else None
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError("no address")

    async def _checked(self, host: str, port: int, seconds: float | None) -> list[str]:
        """The addresses of ``host`` that may be reached, as literals: nobody looks them up again."""
        try:
            async with asyncio.timeout(seconds):
                found = literal(host) or [ip_address(one) for one in dict.fromkeys(await self._resolve(host, port))]
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the name was not resolved in time") from error
        except (OSError, ValueError, OverflowError) as error:  # no such name; no name at all; no such port
            raise httpcore.ConnectError("the name does not resolve") from error
        allowed = [str(address) for address in found if may_reach(address, self._allow)]
        if not allowed:
            raise AddressRefused("the name leads out of bounds" if found else "the name has no address")
        return allowed[:MOST_ADDRESSES]


class GuardedTransport(httpx.AsyncBaseTransport):
    """An httpx transport whose every connection goes to a checked address."""

    def __init__(
        self,
        allow: Sequence[Network] = (),
        *,
        connections: int = 16,
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or httpx.create_ssl_context(),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=30.0,
            network_backend=_GuardedBackend(allow, resolve),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        asked = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _translated():
            said = await self._pool.handle_async_request(asked)
        return httpx.Response(said.status, headers=said.headers, stream=_Body(said), request=request)

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, said: httpcore.Response) -> None:
        self._said = said

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in self._said.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._said.aclose()


_TRANSLATED: dict[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
}


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except tuple(_TRANSLATED) as error:
        raise _TRANSLATED[type(error)](str(error)) from error
