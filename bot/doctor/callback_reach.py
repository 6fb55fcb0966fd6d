"""Checks of callbacks: which networks they may reach, and whether the agents' addresses are reached from here.

The addresses come from agents, so a check only connects where a callback may go, and sends nothing. No third party is
asked whether the internet works: ``--reach URL`` names one to try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from bot.callbacks.client import Network as AddressRange
from bot.callbacks.client import check_url, literal, may_reach
from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, quoted, some, warning
from bot.doctor.network import Network, Unreached, place_of

NETWORKS, CALLBACKS = "callbacks.networks", "callbacks"

_METADATA = tuple(map(ip_address, ("169.254.169.254", "fd00:ec2::254")))
"""Where clouds give their machines' keys away."""
_LOOPBACK = tuple(map(ip_network, ("127.0.0.0/8", "::1/128")))
_SHORTEST_PREFIX = {4: 8, 6: 16}
_MOST_PLACES = 20
_SECONDS = 5.0


async def networks(examined: Examination) -> Sequence[Finding]:
    allow = examined.settings.resume.allow_networks
    if not allow:
        return [ok(NETWORKS, "callbacks reach the public internet alone")]
    doubts = [f"{network} {doubt}" for network in allow if (doubt := _doubt(network, examined)) is not None]
    if doubts:
        mend = "List in resume.allow_networks the agents' own networks alone, such as 10.1.2.0/24."
        return [warning(NETWORKS, some(doubts), mend)]
    return [ok(NETWORKS, f"callbacks reach the public internet and {some(map(str, allow))}")]


def _doubt(network: AddressRange, examined: Examination) -> str | None:
    if any(address in network for address in _METADATA):
        return "holds the cloud's metadata service, which gives keys away"
    if network.prefixlen < _SHORTEST_PREFIX[network.version]:
        return "is wider than any network of one's own"
    is_here = any(network.version == own.version and network.overlaps(own) for own in _LOOPBACK)
    if is_here and not examined.settings.http.is_loopback:
        return "is this machine: agents elsewhere can have its own services called"
    return None


@dataclass(frozen=True, slots=True)
class Obstacle:
    """``refused``: the network works, but a callback must not go there."""

    place: str
    why: str
    refused: bool = False


async def callbacks(examined: Examination) -> Sequence[Finding]:
    stored = await examined.stored_if_any()
    urls = [*examined.reach, *(stored.callback_urls if stored is not None else ())]
    places = dict(_places(urls))
    if not places:
        return [ok(CALLBACKS, "no agent has given an address yet; `--reach URL` tries one")]
    allow, network = examined.settings.resume.allow_networks, examined.around.network
    tried = await asyncio.gather(*(_try(url, place, allow, network) for place, url in places.items()))
    obstacles = [one for one in tried if one is not None]
    return list(_told(obstacles, len(places)))


def _places(urls: Iterable[str]) -> Iterator[tuple[str, str]]:
    """One URL for each place, at most :data:`_MOST_PLACES`."""
    found: dict[str, str] = {}
    for url in urls:
        try:
            host, port, tls = place_of(url)
        except ValueError:
            continue
        found.setdefault(f"{'https' if tls else 'http'}://{host}:{port}", url)
        if len(found) == _MOST_PLACES:
            break
    yield from found.items()


async def _try(url: str, place: str, allow: Sequence[AddressRange], network: Network) -> Obstacle | None:
    """The obstacle for a callback to that place."""
    host, port, _ = place_of(url)
    problem = check_url(url, allow)
    if problem is not None:
        return Obstacle(place, problem.removesuffix("."), refused=True)
    try:
        async with asyncio.timeout(_SECONDS):
            found = literal(host) or [ip_address(one) for one in await network.resolve(host, port)]
            allowed = [str(address) for address in found if may_reach(address, allow)]
            if not allowed:
                address = some(map(str, found), 1)
                return Obstacle(place, f"leads to {address}, which resume.allow_networks does not list", refused=True)
            await network.connect(url, allowed[0])
    except Unreached as unreached:
        return Obstacle(place, unreached.why)
    except (OSError, ValueError):
        return Obstacle(place, "the name does not resolve")
    return None


def _told(obstacles: Sequence[Obstacle], tried: int) -> Iterator[Finding]:
    if not obstacles:
        yield ok(CALLBACKS, f"all {tried} places that agents are called back at are reached")
        return
    found = some([f"{quoted(one.place)}: {one.why}" for one in obstacles], 3)
    if any(one.refused for one in obstacles):
        yield fault(CALLBACKS, found, "Add the agents' network to resume.allow_networks, such as 10.1.2.3/32.")
    else:
        mend = "Start the agent, or open the firewall from here to it. Callbacks are tried again for three days."
        yield warning(CALLBACKS, found, mend)
