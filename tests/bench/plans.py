"""Plans: what a suspension costs in an intent whose plan has many tasks, beside a lone one in the same run."""

from __future__ import annotations

import asyncio
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bench.containers import Place

TASKS = 1000
ROUNDS = 31


async def mirrored(place: Place) -> None:
    """All of them waiting to begin, and all of them running: those are blocked with their intent."""
    lone, pending, running = await place.intent(), await _planned(place), await _planned(place, "running")
    times: dict[str, list[float]] = {lone: [], pending: [], running: []}
    for _ in range(ROUNDS):
        for intent_id, found in times.items():
            found.append(await place.suspend(intent_id))
            await _cancel(place, intent_id)
    alone = statistics.median(times[lone])
    place.note("suspend a lone intent, beside plans", alone, "ms")
    place.at_most(f"one with a plan of {TASKS} tasks, as a multiple", statistics.median(times[pending]) / alone, 2, "")
    place.at_most("the same, all of them running", statistics.median(times[running]) / alone, 2, "")


async def _planned(place: Place, status: str | None = None) -> str:
    """An intent with a plan of so many tasks."""
    intent_id, turns = await place.intent(), asyncio.Semaphore(8)

    async def task() -> str:
        async with turns:
            made = await place.caller.send("POST", "/tasks", {"intent_id": intent_id, "name": "Look it up"})
            if status is not None:
                await place.caller.send("PATCH", f"/tasks/{made['id']}", {"status": status}, version=1)
            return str(made["id"])

    tasks = await asyncio.gather(*(task() for _ in range(TASKS)))
    await place.caller.send("POST", "/plans", {"intent_id": intent_id, "tasks": tasks})
    return intent_id


async def _cancel(place: Place, intent_id: str) -> None:
    shown = await place.caller.send("GET", f"/intents/{intent_id}")
    await place.caller.send("POST", f"/suspensions/{shown['state']['_suspension']['id']}/cancel", {})
