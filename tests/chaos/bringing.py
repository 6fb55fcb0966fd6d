"""Bringing something to the service as stubbornly as people and vendors do, and noting what was told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx

from bot.sandbox.serving import loopback_client
from tests.chaos.fleet import Fleet, Member
from tests.chaos.plan import Act, Way
from tests.chaos.records import Asked, Given, Records, now

_STUBBORN_SECONDS = 60
_PAUSE = 0.3

_FIRM: Mapping[Way, frozenset[int]] = {
    Way.API: frozenset({200, 202}),
    Way.PAGE: frozenset({303}),
    **dict.fromkeys((Way.CANCEL, Way.ASSIGN, Way.CLARIFY, Way.CLARIFICATION), frozenset({200})),
}
"""The replies that say: this very thing counts."""

Told = tuple[httpx.Response, Member]
Send = Callable[[Member], Awaitable[httpx.Response]]


class Bringing:
    """``http`` is everybody's who needs no client of their own."""

    def __init__(self, fleet: Fleet, records: Records) -> None:
        self.records = records
        self.http = loopback_client(timeout=10)
        self._fleet = fleet

    async def found(self, look: Callable[[], Any], ends: float) -> Any:
        """What somebody waits to see; ``None`` where it does not come while it could matter."""
        while (found := look()) is None:
            if time.monotonic() > ends:
                self.records.happened["nothing to answer came in time"] += 1
                return None
            await asyncio.sleep(0.1)
        return found

    async def brought(self, send: Send) -> Told | None:
        """The first reply that is one: nobody there and 503 mean to come again."""
        until = time.monotonic() + _STUBBORN_SECONDS
        while time.monotonic() < until:
            door = self._fleet.door()
            if door is None:
                await asyncio.sleep(_PAUSE)
                continue
            try:
                response = await send(door)
            except httpx.HTTPError:
                self.records.happened["nobody answered"] += 1
            else:
                self.records.statuses[response.status_code] += 1
                if response.status_code >= 500 and response.status_code not in {502, 503}:
                    where = "/".join(response.request.url.path.split("/")[:3])  # what follows may be a secret
                    self.records.server_errors.append(f"{where} {response.status_code}")
                if response.status_code not in {502, 503}:
                    return response, door
            await asyncio.sleep(_PAUSE)
        self.records.happened["gave up"] += 1
        return None

    def note(self, asked: Asked, act: Act, told: Told | None, *, excused: bool = False, at: Any = None) -> None:
        if told is None:
            self.records.given.append(Given(asked, act, 0, now()))
            return
        response, door = told
        status = response.status_code
        firm = status in _FIRM.get(act.way, ())
        kept = status in {200, 202} and act.way in {Way.SLACK, Way.MAIL, Way.PAGER}
        if act.then_kill and (firm or kept):
            self.kill(door, "killed after a yes")
        self.records.given.append(Given(asked, act, status, at or now(), firm, kept, excused))

    def kill(self, door: Member, why: str) -> None:
        if self._fleet.kill(door):
            self.records.happened[why] += 1
