"""The guarded HTTP client: calls to addresses that a client chose. Only the public internet, and what the operator
lists.

The check is on the address of the real connection, when it is made. A name is looked up once for each connection, and
only checked addresses are handed on; each is checked again when its socket is opened. So a name that changes in between
(DNS rebinding) gains nothing, nor does one of several addresses tried at once (RFC 8305). TLS still verifies the name.
Redirects are not followed, cookies are forgotten, the environment's proxies and .netrc are not used.

Source: API.md §5; https://docs.aiohttp.org/en/stable/client_reference.html#aiohttp.TCPConnector; IANA's special-purpose
address registries (RFC 6890); RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380 (Teredo), RFC 6761 (localhost).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from weakref import WeakSet

import aiohttp
import httpx
import structlog
import yarl
from aiohttp.abc import AbstractResolver, ResolveResult

log = structlog.get_logger(__name__)

Network = IPv4Network | IPv6Network
IPAddress = IPv4Address | IPv6Address

REFUSED = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, with the clouds' metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, with broadcast
        "2001::/23",  # protocol assignments, with Teredo, which embeds IPv4 addresses
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which embeds IPv4 addresses
        "3fff::/20",  # documentation
    )
)
PUBLIC_IPV6 = ip_network("2000::/3")
"""Everything outside it is special: unspecified, loopback, mapped and compatible IPv4, NAT64, local, multicast."""


def may_reach(address: IPAddress, allow: Iterable[Network]) -> bool:
    """Whether ``address``, as written, is public or in one of ``allow``: a mapped address is not its inner one."""
    if any(address in network for network in allow):
        return True
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return False
    return not any(address in network for network in REFUSED)


def literal(host: str) -> list[IPAddress]:
    """The addresses that ``host`` itself denotes, in any notation that the system's resolver accepts.

    ``2130706433``, ``0x7f.1``, ``017700000001`` and ``127.1`` are all 127.0.0.1. Empty for a name.
    """
    bare = host.rstrip(".").lower()
    if bare == "localhost" or bare.endswith(".localhost"):
        return [IPv4Address("127.0.0.1"), IPv6Address("::1")]
    with contextlib.suppress(ValueError):
        return [ip_address(host.strip("[]"))]
    with contextlib.suppress(OSError):
        return [IPv4Address(socket.inet_aton(bare))]
    return []


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

LONGEST_URL = 2000
_NAME = re.compile(r"[A-Za-z0-9._-]+")
MOST_ADDRESSES = 4
"""Of one name. The next is tried when one has failed, or has been silent for a quarter of a second."""
MOST_READ = 64 * 1024
READ_SECONDS = 1.0
"""Of a response's body. It says nothing to us; reading it keeps the connection for the next call."""
LONGEST_FIELD = 64 * 1024
"""Of a response's header: aiohttp's own 8 KiB would turn an accepted call with a long cookie into a failed one."""
KEPT_SECONDS = 30.0

FAILURES: tuple[tuple[type[Exception], str], ...] = (
    # The first that fits counts. The texts name hosts and ports, so that only the code goes on.
    (aiohttp.ClientConnectorError, "connect_failed"),
    (aiohttp.ConnectionTimeoutError, "connect_timeout"),
    (aiohttp.InvalidURL, "invalid_url"),
    (TimeoutError, "timeout"),
    (aiohttp.ServerDisconnectedError, "no_valid_response"),
    (aiohttp.ClientResponseError, "no_valid_response"),
    (aiohttp.ClientError, "connection_lost"),
    (OSError, "connection_lost"),
    (RuntimeError, "connection_lost"),  # uvloop's, for a socket that went away while it was being connected
)
CAUGHT = tuple(kind for kind, _ in FAILURES)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A reply, even a redirect or an error. The names of ``headers`` are found in any case."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No status came back. ``reason`` is a stable code; for ``address_refused`` nothing was sent."""

    reason: str


class AddressRefused(OSError):
    """The address must not be reached. An ``OSError``, so that aiohttp treats it as a failure to connect."""


def check_url(url: str, allow: Sequence[Network] = ()) -> str | None:
    """Why ``url`` may not be called, as one sentence; ``None`` if it may. Names are not looked up.

    A name that resolves to a forbidden address, or to none yet, is found when it is called.
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
    return _host_problem(host, allow)


def _host_problem(host: str, allow: Sequence[Network]) -> str | None:
    addresses = literal(host)
    if not addresses:
        return None if _NAME.fullmatch(host) else "The URL's host is neither a name nor an address."
    if not any(may_reach(address, allow) for address in addresses):
        return f"The address {host} is not public, and resume.allow_networks does not list it."
    return None


def _target(url: str) -> yarl.URL:
    """``url`` as :func:`check_url` read it, byte for byte: yarl's own reading would quote its path anew.

    Raises ``ValueError``. An address in an odd notation (``127.1``), which aiohttp refuses, is written plainly.
    """
    parsed = httpx.URL(url)
    host = parsed.raw_host.decode("ascii")
    addresses = literal(host)
    if len(addresses) == 1:  # localhost is two, and a name
        host = f"[{addresses[0]}]" if addresses[0].version == 6 else str(addresses[0])
    path = parsed.raw_path.decode("ascii")  # with the query
    return yarl.URL.build(scheme=parsed.scheme, host=host, port=parsed.port, path=path, encoded=True)


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of ``host``, best first; raises ``OSError`` if it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


class _Resolver(AbstractResolver):
    """Resolves names to checked addresses, as literals: they are not looked up again."""

    def __init__(self, allow: Sequence[Network], resolve: Resolve) -> None:
        self._allow = tuple(allow)
        self._resolve = resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        try:
            found = literal(host) or [ip_address(one) for one in dict.fromkeys(await self._resolve(host, port))]
        except ValueError:  # not a name at all
            raise OSError("the name does not resolve") from None
        allowed = [address for address in found if may_reach(address, self._allow)]
        if not allowed:
            raise AddressRefused("the name leads to an address that may not be called")
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET6 if address.version == 6 else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in allowed[:MOST_ADDRESSES]
        ]

    async def close(self) -> None:
        """Close every connection: none is kept."""


class _Sockets:
    """Opens the sockets of a connector, each for a checked address, and knows whether many are open."""

    def __init__(self, allow: Sequence[Network]) -> None:
        self._allow = tuple(allow)
        self._opened: WeakSet[socket.socket] = WeakSet()

    def __call__(self, info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        try:
            reachable = may_reach(ip_address(str(address[0])), self._allow)
        except ValueError:  # a name here would be looked up by the loop, unseen
            reachable = False
        if not reachable:
            raise AddressRefused("the address may not be called")
        opened = socket.socket(family, kind, protocol)
        self._opened.add(opened)
        return opened

    def at_least(self, number: int) -> bool:
        """Whether that many are open; closed ones linger in the errors of failed calls until they are collected."""
        if len(self._opened) >= number:
            self._opened = WeakSet(one for one in self._opened if one.fileno() >= 0)
        return len(self._opened) >= number


@cache
def _authorities() -> ssl.SSLContext:
    """TLS trusts certifi's authorities, because a host may have none. Loading them takes as long as many calls."""
    return httpx.create_ssl_context()


class GuardedClient:
    """Posts to strangers. Every connection goes to a checked address; a call ends after ``timeout``. At most
    ``connections`` are in use, and about ``kept`` idle ones are open beside them."""

    def __init__(
        self,
        allow: Sequence[Network] = (),
        *,
        timeout: timedelta,
        connections: int = 16,
        kept: int = 16,
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._timeout = timeout.total_seconds()
        self._connections = connections
        self._kept = kept
        self._resolver = _Resolver(allow, resolve)
        self._sockets = _Sockets(allow)
        self._tls = tls or _authorities()
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply | Unanswered:
        """One request. ``headers`` are all of them except Host and Content-Length."""
        try:
            target = _target(url)
        except (httpx.InvalidURL, ValueError):
            return Unanswered("invalid_url")
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._session().post(target, headers=headers, data=body, allow_redirects=False)
        except CAUGHT as error:
            return Unanswered(_reason(error))
        await _finish(response)
        return HttpReply(response.status, response.headers)

    async def close(self) -> None:
        while self._sessions:
            await self._sessions.popitem()[1].close()

    def _session(self) -> aiohttp.ClientSession:
        """A session that keeps its connections, or one that doesn't if too many are open already.

        aiohttp limits the connections in use, not the idle ones: many hosts, called once each, would leave one each.
        """
        crowded = self._sockets.at_least(self._connections + self._kept)
        if crowded not in self._sessions:
            self._sessions[crowded] = self._opened(None if crowded else KEPT_SECONDS)
        return self._sessions[crowded]

    def _opened(self, kept_seconds: float | None) -> aiohttp.ClientSession:
        """A session belongs to the running loop, so none is opened before the first call."""
        connector = aiohttp.TCPConnector(
            limit=self._connections,
            force_close=kept_seconds is None,
            keepalive_timeout=kept_seconds,
            resolver=self._resolver,
            socket_factory=self._sockets,
            use_dns_cache=False,
            ssl=self._tls,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),  # post() times the whole but the body
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            trust_env=False,
            auto_decompress=False,
            max_line_size=LONGEST_FIELD,
            max_field_size=LONGEST_FIELD,
        )


def _reason(error: Exception) -> str:
    if isinstance(error.__cause__, AddressRefused):
        return "address_refused"
    return next(reason for kind, reason in FAILURES if isinstance(error, kind))


async def _finish(response: aiohttp.ClientResponse) -> None:
    """Read the rest, up to a limit. Only the status matters: a body that breaks off changes nothing."""
    left = MOST_READ
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for part in response.content.iter_any():
                left -= len(part)
                if left < 0:
                    break
    except (aiohttp.ClientError, OSError):  # a TimeoutError is one
        log.info("callback.response_cut_short", status=response.status)
    finally:
        response.close()  # no effect where all was read: the connection is back already
