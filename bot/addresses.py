"""Which addresses a call to a stranger's URL may reach: the public internet, and what the operator lists. Pure.

Source: API.md §5; IANA's special-purpose address registries (RFC 6890); RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380
(Teredo), RFC 6761 (localhost).
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

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
    """Whether ``address`` is public or in one of ``allow``, as it is written: a mapped address is not its inner one."""
    if any(address in network for network in allow):
        return True
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return False
    return not any(address in network for network in REFUSED)


def literal(host: str) -> list[IPAddress]:
    """The addresses that ``host`` is by itself, in any notation that the system's resolver takes for one.

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
