"""What an operator sees of an agent at work: its questions, as soon as they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from handraise import Handraise, LoggedEvent
from handraise.streams import EventStream

from tests.patience import PATIENCE
from tests.world import KEYS, World

Thing = TypeVar("Thing")


@dataclass
class Watch:
    stream: EventStream

    async def event(self, event_type: str) -> LoggedEvent:
        """The next one of this type."""
        async with asyncio.timeout(PATIENCE):
            while (event := await anext(self.stream)).event_type != event_type:
                pass
        return event

    async def asked(self) -> dict[str, Any]:
        """The next question, as :class:`World` knows questions."""
        event = await self.event("intent.suspended")
        return {"intent_id": event.intent_id, "suspension_id": event.payload["suspension_id"]}


@asynccontextmanager
async def watching(world: World) -> AsyncIterator[Watch]:
    async with Handraise(world.url, KEYS["operator"]) as alice, alice.follow() as stream:
        yield Watch(stream)


async def soon(thing: asyncio.Task[Thing] | asyncio.Queue[Thing]) -> Thing:
    """What a task returns, or the next of a queue."""
    async with asyncio.timeout(PATIENCE):
        return await (thing.get() if isinstance(thing, asyncio.Queue) else thing)
