"""RFC-0026 §2 rule 1: a suspension is its intent's own; what the intent stands in shows it, and does not move."""

from __future__ import annotations

import pytest

from tests.family import child, depend, make, read, status, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_only_the_suspended_intent_changes_to_suspended_awaiting_input(any_room: World) -> None:
    root = await make(any_room)
    parent = await child(any_room, root)
    asked, sibling, below = [await child(any_room, parent) for _ in range(3)]
    dependent = await make(any_room)
    await depend(any_room, dependent, asked)
    before = {one: await read(any_room, one) for one in (root, parent, sibling, below)}
    await suspend(any_room, asked)
    assert await status(any_room, asked) == "suspended_awaiting_input"
    assert await status(any_room, dependent) == "blocked"
    for one, was in before.items():
        found = await read(any_room, one)
        for shown in (found, was):
            shown.pop("aggregate_status", None)
        assert found == was


async def test_the_parent_observes_the_suspension(any_room: World) -> None:
    parent = await make(any_room)
    asked = await suspend(any_room, await child(any_room, parent))
    shown = (await read(any_room, parent))["aggregate_status"]
    assert shown["by_status"]["suspended_awaiting_input"] == 1
    await any_room.answer(asked, "approve")
    shown = (await read(any_room, parent))["aggregate_status"]
    assert (shown["by_status"]["suspended_awaiting_input"], shown["by_status"]["active"]) == (0, 1)
