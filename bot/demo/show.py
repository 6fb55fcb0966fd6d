"""The show: agents ask, and every event is shown in the terminal and on the page as it happens.

The service's events come over its SSE stream. Source: API.md §5; the WHATWG's server-sent events.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from handraise.cli.terminal import visible

from bot.demo.board import Board, Card
from bot.demo.samples import Sample
from bot.demo.stage import DemoStage
from bot.demo.transcript import Transcript
from bot.sandbox.vendor import YOU

_PAUSE = 0.2


async def follow(url: str, api_key: str, connected: Callable[[], None]) -> AsyncIterator[dict[str, Any]]:
    """Every event from now on, none twice. ``connected`` is called when no further event can be missed.

    A lost connection is resumed behind the last event; others watch whether the service is still alive.
    """
    headers = {"X-API-Key": api_key}
    timeout = httpx.Timeout(5, read=None)
    async with httpx.AsyncClient(trust_env=False, timeout=timeout) as client:
        while True:
            try:
                async with client.stream("GET", f"{url}/v1/events/stream", headers=headers) as response:
                    response.raise_for_status()
                    async for name, value in _fields(response):
                        match name:
                            case "":
                                connected()
                            case "id":
                                headers["Last-Event-ID"] = value
                            case "data":
                                yield json.loads(value)
            except httpx.TransportError:
                await asyncio.sleep(_PAUSE)


async def _fields(response: httpx.Response) -> AsyncIterator[tuple[str, str]]:
    """Name and value of each line; a comment has no name."""
    async for line in response.aiter_lines():
        name, colon, value = line.partition(":")
        if colon:
            yield name, value.removeprefix(" ")


NAMES = {YOU.email: YOU.name}


@dataclass(slots=True)
class Show:
    """``interval`` is the agents' time between attempts, in seconds."""

    stage: DemoStage
    interval: int
    transcript: Transcript = field(default_factory=lambda: Transcript(NAMES))
    board: Board = field(default_factory=Board)
    _began: float = field(default_factory=time.monotonic)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _connected: asyncio.Event = field(default_factory=asyncio.Event)

    # --- Telling --------------------------------------------------------------------------------------------------

    async def tell_events(self) -> None:
        async for event in follow(self.stage.service_url, self.stage.keys.operator, self._connected.set):
            self.board.note(event)
            self._changed.set()
            line = self.transcript.event(event)
            if line is not None:
                agent, text = line
                say(f"{time.monotonic() - self._began:7.1f} s  {agent:<15} {visible(text)}")

    async def connected(self) -> None:
        """From now on no event is missed."""
        await self._connected.wait()

    async def tell_page(self) -> None:
        """Update the page's strip whenever something has changed.

        The stage watches whether the sandbox is still alive.
        """
        while True:
            self._changed.clear()
            with contextlib.suppress(httpx.TransportError):
                response = await self.stage.page.put("/board", json=self.board.as_json(NAMES))
                response.raise_for_status()
            await self._changed.wait()

    # --- Agents ---------------------------------------------------------------------------------------------------

    async def ask(self, sample: Sample, attempts: int | None = None) -> Card:
        """Start an agent with this question and wait until it is called back.

        Raises :class:`DemoFailed` if the agent ends before.
        """
        card = self.board.add(sample)
        self._changed.set()
        interval = min(self.interval, sample.longest_interval or self.interval)
        child = await self.stage.agent(sample, interval=interval, attempts=attempts)
        async for told in child.said():
            self._heard(card, told)
        if await child.ended() != 0 or card.resumed is None:
            raise child.failure()
        return card

    def _heard(self, card: Card, told: Mapping[str, Any]) -> None:
        match told["event"]:
            case "asked":
                card.asked = told
            case "resumed":
                card.resumed = told
                card.result = self.transcript.resumed(told)
                say(strong(card.result) + faint(f"   ({card.sample.agent}, {(card.asked or told).get('ref')})"))
        self._changed.set()


def say(text: str) -> None:
    print(text, flush=True)


def strong(text: str) -> str:
    return f"\033[1;32m{text}\033[0m" if _is_coloured() else text


def faint(text: str) -> str:
    return f"\033[2m{text}\033[0m" if _is_coloured() else text


def _is_coloured() -> bool:
    """Source: https://no-color.org."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
