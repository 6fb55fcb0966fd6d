"""All HTTP connections of this process: how many there are, what they hold, and which have to go.

``bot/front/admission.py`` decides; ``bot/front/protocol.py`` is one connection. Source: docs/decisions/0037.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

import structlog
from starlette.types import Scope

from bot.front.admission import MOST_BEGUN, Admission, Bodies, Limits, neighbourhood
from bot.observability.telemetry import HttpRefusal

log = structlog.get_logger(__name__)

ROUND_SECONDS = 1.0
_TOLD_ROUNDS = 60
"""How many rounds lie between two lines of the log about what was refused."""
_EXTENSION = "handraise.exchange"


class Guest(Protocol):
    """One connection."""

    def look(self, now: float) -> None:
        """End it if its client takes too long."""

    def give_way(self) -> None:
        """End it, since somebody else comes."""

    def hurry(self) -> None:
        """End it if the service would wait for its client in order to stop."""


class Connections:
    """All connections of this process. ``refused`` is told of each refusal; ``now`` counts seconds."""

    def __init__(
        self,
        limits: Limits,
        refused: Callable[[HttpRefusal], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.bodies = Bodies(limits.bodies)
        self._queue: deque[asyncio.Future[None]] = deque()
        self.crowd: Admission[Guest] = Admission(limits.most, limits.per_address)
        self._refused = refused
        self.now = now
        self.knows: Callable[[str], bool] = lambda _: False
        """Whether an API key is valid, as far as can be said at once."""
        self._open: set[Guest] = set()
        self._rounds: asyncio.Task[None] | None = None
        self._untold: Counter[HttpRefusal] = Counter()

    def start(self) -> None:
        self._rounds = asyncio.create_task(self._go_round(), name="connections")

    async def stop(self) -> None:
        if self._rounds is not None:
            self._rounds.cancel()
            await asyncio.gather(self._rounds, return_exceptions=True)

    async def _go_round(self) -> None:
        for number in itertools.count(1):
            await asyncio.sleep(ROUND_SECONDS)
            self.look()
            if number % _TOLD_ROUNDS == 0:
                self._tell()

    def look(self) -> None:
        """End whatever has kept us waiting for too long."""
        now = self.now()
        for connection in list(self._open):
            connection.look(now)
        for connection in self.crowd.next_round():
            connection.give_way()

    def welcome(self, connection: Guest, address: str) -> bool:
        """Whether there is room; somebody else may have to go for it."""
        self._open.add(connection)
        admitted, gone = self.crowd.enter(connection, neighbourhood(address))
        if gone is not None:
            gone.give_way()
        return admitted

    def left(self, connection: Guest) -> None:
        self._open.discard(connection)
        self.crowd.leave(connection)

    def hurry(self) -> None:
        """The service stops."""
        for connection in list(self._open):
            connection.hurry()

    async def turn(self) -> None:
        """Return when it is the turn of a stranger's request."""
        loop = asyncio.get_running_loop()
        if not self._queue:
            loop.call_soon(self._begin_some)
        self._queue.append(turn := loop.create_future())
        await turn

    def _begin_some(self) -> None:
        for _ in range(min(MOST_BEGUN, len(self._queue))):
            turn = self._queue.popleft()
            if not turn.done():  # its server has stopped
                turn.set_result(None)
        if self._queue:
            asyncio.get_running_loop().call_soon(self._begin_some)

    def count(self, refusal: HttpRefusal) -> None:
        self._refused(refusal)
        self._untold[refusal] += 1

    def _tell(self) -> None:
        if self._untold:
            log.warning("http.refused", **{refusal.value: number for refusal, number in self._untold.items()})
            self._untold.clear()


class Exchange:
    """One request, in its scope's ``extensions``: what the application lets its connection know."""

    __slots__ = (
        "_all",
        "_guest",
        "_held",
        "_held_by_stranger",
        "is_answered",
        "is_complete",
        "is_over",
        "is_unwanted",
        "waits_for_client",
    )

    def __init__(self, connections: Connections, guest: Guest) -> None:
        self._all = connections
        self._guest = guest
        self._held = 0
        self._held_by_stranger = True
        self.is_unwanted = False
        self.is_answered = False
        """Whether the reply has begun."""
        self.is_complete = False
        """Whether the application has all of it."""
        self.is_over = False
        self.waits_for_client = False
        """Whether the application waits for more of the body, or for nothing any more."""

    def hold(self, size: int) -> bool:
        """Whether there is room for ``size`` bytes more of this request."""
        bodies, stranger = self._all.bodies, self._all.crowd.is_stranger(self._guest)
        held = self._held
        if held and stranger is not self._held_by_stranger:  # its sender has become known meanwhile
            self.let_go()
            size += held
        if not bodies.take(size, stranger=stranger):
            return False
        self._held += size
        self._held_by_stranger = stranger
        return True

    def let_go(self) -> None:
        """Nothing of it is held any more."""
        if self._held:
            self._all.bodies.give_back(self._held, stranger=self._held_by_stranger)
            self._held = 0

    def vouch(self) -> None:
        """Its sender has shown a valid key, signature or session."""
        self._all.crowd.vouch(self._guest)

    def discard(self) -> None:
        """Nobody keeps the rest of its body."""
        self.is_unwanted = True
        self.let_go()

    def put_into(self, scope: Scope) -> None:
        scope["extensions"] = {_EXTENSION: self}


def exchange_of(scope: Scope) -> Exchange | None:
    """``None`` if another server than ours has taken the request."""
    found: Exchange | None = scope.get("extensions", {}).get(_EXTENSION)
    return found


def vouch(scope: Scope) -> None:
    """The sender of this request is no stranger: from now on its connection is never closed for others."""
    exchange = exchange_of(scope)
    if exchange is not None:
        exchange.vouch()
