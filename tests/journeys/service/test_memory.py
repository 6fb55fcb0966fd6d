"""What is over leaves memory by itself. The garbage collector, which holds every request up while it looks for circles,
finds nothing of it. What is refused is left to it: an error holds the calls that it came through.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

OURS = ("bot.", "core.", "channels.")
TIMES = 3


@contextmanager
def without_collecting() -> Iterator[Counter[str]]:
    """Inside nothing is collected. Afterwards: how many objects of ours (records, functions) only the collector would
    have found, by what they are."""
    found = Counter[str]()
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(name for one in gc.garbage if (name := _name(one)).startswith(OURS))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        if was_on:
            gc.enable()


def _name(one: object) -> str:
    return f"{getattr(one, '__module__', '')}.{getattr(one, '__qualname__', type(one).__qualname__)}"


async def answered(world: World) -> None:
    asked = await world.ask(notify_to="alice@example.com")
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.told(asked)


async def reminded(world: World) -> None:
    policy = {"max_attempts": 2, "interval_seconds": 60}
    asked = [await world.ask(retry_policy=policy, timeout_seconds=600) for _ in range(3)]
    await world.advance(seconds=61)
    assert [(await world.show(one))["attempt"] for one in asked] == [2, 2, 2]
    await world.advance(seconds=600)
    assert [(await world.show(one))["status"] for one in asked] == ["expired"] * 3


async def taken_and_given_back(world: World) -> None:
    asked = await world.ask()
    path = f"/v1/suspensions/{asked['suspension_id']}"
    calls = [("POST", "claim", "operator"), ("DELETE", "claim", "operator"), ("POST", "cancel", "agent")]
    for method, what, role in calls:
        assert (await world.call(method, f"{path}/{what}", role, json={})).status_code == 200
        await world.settle()


@pytest.mark.parametrize("journey", [answered, reminded, taken_and_given_back])
async def test_nothing_of_a_question_waits_for_the_garbage_collector(
    any_room: World, journey: Callable[[World], Awaitable[None]]
) -> None:
    await journey(any_room)  # what is made once is made now
    with without_collecting() as found:
        for _ in range(TIMES):
            await journey(any_room)
    # Less than one for each journey may be of a request that failed and was repeated.
    assert {name: count for name, count in found.items() if count >= TIMES} == {}
