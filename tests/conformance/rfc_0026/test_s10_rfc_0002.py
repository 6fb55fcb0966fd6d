"""RFC-0026 §10, the patches to RFC-0002; §2 rule 4, the aggregate of a parent."""

from __future__ import annotations

from tests.family import child, complete, depend, make, move, read, refused, status, suspend
from tests.world import World


async def test_the_aggregate_of_a_parent_counts_suspended_children(any_world: World) -> None:
    parent = await make(any_world)
    children = [await child(any_world, parent) for _ in range(6)]
    for one in children[:3]:
        await complete(any_world, one)
    await suspend(any_world, children[3])
    shown = (await read(any_world, parent))["aggregate_status"]
    assert shown["total"] == 6
    expected = {"completed": 3, "active": 2, "blocked": 0, "suspended_awaiting_input": 1}
    assert {name: shown["by_status"][name] for name in expected} == expected
    assert shown["completion_percentage"] == 50


async def test_the_completion_gate_stays_shut_while_a_child_is_suspended(any_world: World) -> None:
    parent = await make(any_world)
    below = await child(any_world, parent)
    asked = await suspend(any_world, below)
    refused(await move(any_world, parent, "completed"), 409, "dependencies_incomplete")
    await any_world.answer(asked, "approve")
    await complete(any_world, below)
    await complete(any_world, parent)


async def test_an_active_intent_is_blocked_by_the_suspension_of_its_upstream(any_world: World) -> None:
    upstream, one = await make(any_world), await make(any_world)
    await depend(any_world, one, upstream)
    await suspend(any_world, upstream)
    assert await status(any_world, one) == "blocked"
