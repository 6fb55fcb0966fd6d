"""RFC-0026 §2 rule 1: a suspension is its intent's own; what the intent stands in shows it, and does not move."""

from __future__ import annotations

from tests.family import child, depend, make, read, status, suspend
from tests.world import World


async def test_only_the_suspended_intent_changes_to_suspended_awaiting_input(any_world: World) -> None:
    root = await make(any_world)
    parent = await child(any_world, root)
    asked, sibling, below = [await child(any_world, parent) for _ in range(3)]
    dependent = await make(any_world)
    await depend(any_world, dependent, asked)
    before = {one: await read(any_world, one) for one in (root, parent, sibling, below)}
    await suspend(any_world, asked)
    assert await status(any_world, asked) == "suspended_awaiting_input"
    assert await status(any_world, dependent) == "blocked"
    for one, was in before.items():
        found = await read(any_world, one)
        for shown in (found, was):
            shown.pop("aggregate_status", None)
        assert found == was


async def test_the_parent_observes_the_suspension(any_world: World) -> None:
    parent = await make(any_world)
    asked = await suspend(any_world, await child(any_world, parent))
    shown = (await read(any_world, parent))["aggregate_status"]
    assert shown["by_status"]["suspended_awaiting_input"] == 1
    await any_world.answer(asked, "approve")
    shown = (await read(any_world, parent))["aggregate_status"]
    assert (shown["by_status"]["suspended_awaiting_input"], shown["by_status"]["active"]) == (0, 1)
