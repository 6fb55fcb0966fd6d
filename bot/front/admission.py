"""Admission: which connections may stay, and how much memory strangers' requests may take. Pure.

A stranger is a connection that has not yet sent a valid key, signature or session. Behind a proxy all of them have one
address, so nobody is locked out for long: the stranger that has kept us waiting longest makes room for a new one.

Source: docs/decisions/0037.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv6Address, ip_address
from typing import Generic, TypeVar

LARGEST_HEAD = 64 * 1024
"""Bytes: the request line and every field, and trailers behind a body once more."""
MOST_FIELDS = 128
MOST_PIPELINED = 16
"""Requests that wait behind one that is being answered. Hardly any client sends a second one before the reply."""
FREE = 16 * 1024
"""Bytes of each head and of each body that are not counted: what nearly every request has fits."""
PROGRESS = 16 * 1024
"""Bytes a second, at least, by which a body has to come in."""
MOST_PIECES = 1_000
SMALLEST_PIECE = 16
"""Bytes. A body in more than :data:`MOST_PIECES` pieces that are smaller on average only costs time."""
LEAVING_SECONDS = 5
"""How long the last of a reply may take to leave, unless it goes on leaving."""
STALLED_SECONDS = 20
"""In so much time a stranger has to read :data:`READ` bytes of a long reply, or all that is left of it."""
READ = 64 * 1024
MOST_BEGUN = 8
"""Requests of strangers that are begun in one turn of the event loop. Known clients have theirs in between."""
LARGEST_ANNOUNCED = 5 * 1024 * 1024
"""Bytes: the largest body that is ever taken. What is announced beyond that is refused without reading it."""
SETTLED = 2
"""Rounds after which a stranger that still keeps us waiting is no newcomer any more."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for a head, for a body before its least progress counts, and between requests; bytes of bodies."""

    most: int = 4_000
    per_address: int = 100
    head: float = 15
    body: float = 30
    idle: float = 75
    bodies: int = 32 * 1024 * 1024


class Phase(StrEnum):
    """What a connection is at. In all but ``SERVING`` it is the client whom we wait for."""

    HEAD = "head"
    BODY = "body"
    SERVING = "serving"
    IDLE = "idle"
    LEAVING = "leaving"


def is_overdue(phase: Phase, seconds: float, received: int, limits: Limits) -> bool:
    """Whether a client has been at ``phase`` for too long; ``received`` is how much of a body has come."""
    allowed = {
        Phase.HEAD: limits.head,
        Phase.BODY: limits.body + received / PROGRESS,
        Phase.IDLE: limits.idle,
        Phase.LEAVING: LEAVING_SECONDS,
    }
    return phase in allowed and seconds > allowed[phase]


def neighbourhood(address: str) -> str:
    """What counts as one address: of IPv6 a /64, which is what one host is given."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:  # a UNIX socket has none
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Address(int(found) >> 64 << 64))


def connections_within(descriptors: int, wanted: int) -> int:
    """How many of ``wanted`` connections this process can have and still open what it sends with."""
    reserve = min(512, descriptors // 3)
    return max(1, min(wanted, descriptors - reserve))


@dataclass(slots=True)
class Bodies:
    """What all requests hold in memory together, in bytes. Strangers get half of it at most."""

    most: int
    taken: int = 0
    by_strangers: int = 0

    def has_room(self, size: int, *, stranger: bool) -> bool:
        if stranger and self.by_strangers + size > self.most // 2:
            return False
        return self.taken + size <= self.most

    def take(self, size: int, *, stranger: bool) -> bool:
        """Whether there is room for ``size`` more, which is taken then."""
        if not self.has_room(size, stranger=stranger):
            return False
        self.taken += size
        if stranger:
            self.by_strangers += size
        return True

    def give_back(self, size: int, *, stranger: bool) -> None:
        self.taken -= size
        if stranger:
            self.by_strangers -= size


G = TypeVar("G")


@dataclass(slots=True)
class _Strangers(Generic[G]):
    """Those of one address. ``waiting`` are whom we wait for, the longest first, each with the round it began in."""

    count: int = 0
    waiting: dict[G, int] = field(default_factory=dict)


class Admission(Generic[G]):
    """Everybody who is connected. Those in ``waiting`` may be told to go; known ones never are."""

    def __init__(self, most: int, per_address: int) -> None:
        self._most = most
        self._per_address = per_address
        self._strangers: dict[str, _Strangers[G]] = {}
        self._address: dict[G, str] = {}
        self._waiting: dict[G, None] = {}
        self._known: set[G] = set()
        self._round = 0

    def __len__(self) -> int:
        return len(self._address) + len(self._known)

    def enter(self, guest: G, address: str) -> tuple[bool, G | None]:
        """Whether ``guest``, a stranger, may come in, and who has to go for that.

        One address may have more than its share for two rounds: many clients come at once where a service has been
        restarted, and none of them could have sent its key yet. :meth:`next_round` then says who goes.
        """
        there = self._strangers.get(address)
        gone: G | None = None
        if len(self) >= self._most:
            gone = next(iter(self._waiting), None)
            if gone is None:
                return False, None
        elif there is not None and there.count >= self._per_address:
            gone = self._settled(there)
            if gone is None and there.count >= self._most // 2:
                return False, None
        if gone is not None:
            self.leave(gone)
        self._address[guest] = address
        self._strangers.setdefault(address, _Strangers()).count += 1
        self.waits(guest)
        return True, gone

    def waits(self, guest: G) -> None:
        """From now on we wait for ``guest``."""
        address = self._address.get(guest)
        if address is not None and guest not in self._waiting:
            self._strangers[address].waiting[guest] = self._round
            self._waiting[guest] = None

    def works(self, guest: G) -> None:
        """``guest`` waits for us."""
        address = self._address.get(guest)
        if address is not None and guest in self._waiting:
            del self._strangers[address].waiting[guest], self._waiting[guest]

    def is_stranger(self, guest: G) -> bool:
        return guest in self._address

    def vouch(self, guest: G) -> None:
        """``guest`` is no stranger any more."""
        if self._remove(guest):
            self._known.add(guest)

    def leave(self, guest: G) -> None:
        if not self._remove(guest):
            self._known.discard(guest)

    def next_round(self) -> list[G]:
        """Who has to go, since their address has more than its share. They have been taken off."""
        self._round += 1
        going: list[G] = []
        for there in list(self._strangers.values()):
            while there.count > self._per_address and (guest := self._settled(there)) is not None:
                self._remove(guest)
                going.append(guest)
        return going

    def _settled(self, there: _Strangers[G]) -> G | None:
        guest, since = next(iter(there.waiting.items()), (None, self._round))
        return guest if self._round - since >= SETTLED else None

    def _remove(self, guest: G) -> bool:
        address = self._address.pop(guest, None)
        if address is None:
            return False
        there = self._strangers[address]
        there.count -= 1
        there.waiting.pop(guest, None)
        self._waiting.pop(guest, None)
        if there.count == 0:
            del self._strangers[address]
        return True
