"""Agents that answer nothing, beside one that does: how long does that one wait for its callback?

Each silent agent has an address of its own on loopback; behind all of them is one door, where nobody answers until it
is over. Half of them ask under the healthy agent's key, half under another's.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bot.sandbox.serving import serving
from tests.chaos.bringing import Bringing
from tests.chaos.fleet import Fleet
from tests.chaos.plan import ALICE, CHOICES, Act, Question, Way
from tests.chaos.records import Asked, Hardship, Records
from tests.chaos.together import OPERATORS
from tests.chaos.world import World
from tests.world import KEYS

_TIMES = 15
"""How often the healthy agent's wait is measured, without and beside the silent ones."""
_LONGEST_WAIT = 30.0
_AT_ONCE = 16
_LASTS = 300
_EVERYWHERE = "0.0.0.0"
_TOLD_WITHIN = 60.0


class Silence:
    """``agents`` is how many there are; :meth:`measured` is to be called in calm weather."""

    def __init__(self, world: World, fleet: Fleet, records: Records, agents: int) -> None:
        self._world = world
        self._records = records
        self._agents = agents
        self._made = 0
        self._bring = Bringing(fleet, records)

    async def measured(self) -> None:
        """Note how long the healthy one waits, and let the silent ones answer in the end."""
        receiver = self._world.agent
        async with serving(receiver.silent, host=_EVERYWHERE) as url:
            self._records.alone += [await self._wait("alone", number) for number in range(_TIMES)]
            room = asyncio.Semaphore(_AT_ONCE)
            port = url.rpartition(":")[2]
            await asyncio.gather(*(self._silent(number, port, room) for number in range(self._agents)))
            self._records.beside += [await self._wait("beside", number) for number in range(_TIMES)]
            self._records.suffered[Hardship.SILENT_AGENTS] += 1
            self._records.happened["agents that answered nothing"] += self._made
            receiver.speak()
            await self._all_told()
        await self._bring.http.aclose()

    async def _silent(self, number: int, port: str, room: asyncio.Semaphore) -> None:
        url = f"http://127.1.{number // 250}.{number % 250 + 1}:{port}/resume"
        async with room:
            asked = await self._ask(f"Refund quiet order {number}?", url, "agent" if number % 2 else "other_agent")
            if asked is not None:
                self._made += 1
                await self._answer(asked)

    async def _wait(self, which: str, number: int) -> float:
        """Seconds from the answer to the first callback about it."""
        asked = await self._ask(f"Refund {which} order {number}?", self._world.callback_url, "agent")
        if asked is None:
            return _LONGEST_WAIT
        arrived = self._world.agent.expect(asked.suspension_id)
        began = time.monotonic()
        await self._answer(asked)
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                await arrived
        except TimeoutError:
            return _LONGEST_WAIT
        return time.monotonic() - began

    async def _ask(self, text: str, url: str, key: str) -> Asked | None:
        body: dict[str, Any] = {
            "question": text,
            "choices": list(CHOICES),
            "channel_hint": "email",
            "notify_to": ALICE,
            "responders": ["group:finance"],
            "timeout_seconds": _LASTS,
            "fallback_policy": "fail",
        }
        headers = {"X-API-Key": KEYS[key], "Idempotency-Key": f"ask-{text}"}
        told = await self._bring.brought(
            lambda door: self._bring.http.post(
                f"{door.url}/v1/suspensions", json={**body, "resume": {"callback_url": url}}, headers=headers
            )
        )
        if told is None or told[0].status_code != 201:
            self._records.happened["never got a 201"] += 1
            return None
        asked = Asked(Question(0, 0, _LASTS, body, (), then_kill=False), told[0].json())
        self._records.asked.append(asked)
        return asked

    async def _answer(self, asked: Asked) -> None:
        path = f"/v1/intents/{asked.outcome['intent_id']}/suspend/respond"
        body = {"suspension_id": asked.suspension_id, "value": "approve"}
        headers = {"X-API-Key": OPERATORS[ALICE], "Idempotency-Key": f"answer-{asked.ref}"}
        told = await self._bring.brought(
            lambda door: self._bring.http.post(door.url + path, json=body, headers=headers)
        )
        self._bring.note(asked, Act(Way.API, "approve", ALICE, 0), told)

    async def _all_told(self) -> None:
        """The door may close once each of them has taken what it had to be told."""
        until = time.monotonic() + _TOLD_WITHIN
        while len(self._world.agent.told) < self._made and time.monotonic() < until:
            await asyncio.sleep(0.2)
