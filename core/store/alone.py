"""Work that one process of an installation does at a time: there is one place, and whoever has it does it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.store.database import Database
from core.store.places import Places

MOVING_OUT = 0x48616E647262  # "Handrb"


@asynccontextmanager
async def alone(database: Database, task: int) -> AsyncIterator[bool]:
    """Whether this process may do ``task`` for as long as the block lasts; false where another one does it, and while
    the database is away."""
    places = Places(database, task, 1)
    place = await places.take()
    try:
        yield place is not None
    finally:
        if place is not None:
            await places.give_back(place)
